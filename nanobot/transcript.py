"""Records of a session: messages, tool calls, and the marks between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from nanobot.authority import Origin
from nanobot.messages import Attachment, Quote, Sender
from nanobot.nlp.pasted import own_part

MessageRole = Literal["system", "user", "assistant", "tool"]
Incomplete = Literal["cut", "interrupted"]
EndedHow = Literal["failed", "stopped", "interrupted"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One use of a tool. `arguments` is JSON text of an object, as the model wrote it; `extra` as in Message."""

    id: str
    name: str
    arguments: str
    extra: Mapping[str, object] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them; `cached` is the part of `input` that was read from its cache."""

    input: int = 0
    output: int = 0
    cached: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.input + other.input, self.output + other.output, self.cached + other.cached)


@dataclass(frozen=True, kw_only=True)  # no slots: msgspec fills in their defaults three times slower
class Message:
    """One line of a conversation. Only role and content matter to a model; the rest is provenance.

    `context` holds the blocks that the model was shown in front of a user's words; it is replayed
    as it was first sent. `incomplete` marks an answer that broke off. `scope` is the name of the
    memory that a user's words belong to, and with them all that follows in their turn.
    `quotes` came along with a user's words and are shown in `context`. `corrects` is the `inbound`
    of an earlier message of which this is the new wording. `retries` is an earlier turn in whose place
    this one stands: that one is kept, and not replayed any more. `reminded` is the least trusted origin of the
    memories that `context` shows, `recalled` that of those among them that no file of memory holds. `to_bot` is
    False for what was said in a group to others.

    `extra` holds the fields that the endpoint sent beside an answer and that the protocol does not know: its
    reasoning, signatures. They are shown to nobody, and go back to that `endpoint` alone.
    """

    role: MessageRole
    content: str | None = None
    id: str = ""
    at: str = ""
    turn: str = ""
    origin: Origin | None = None
    context: str | None = None
    reminded: Origin | None = None
    recalled: Origin | None = None
    sender: Sender | None = None
    scope: str | None = None
    inbound: str | None = None
    corrects: str | None = None
    retries: str | None = None
    to_bot: bool = True
    quotes: Sequence[Quote] = ()
    files: Sequence[Attachment] = ()
    tool_calls: Sequence[ToolCall] = ()
    tool_call_id: str | None = None
    usage: Usage | None = None
    model: str | None = None
    incomplete: Incomplete | None = None
    extra: Mapping[str, object] | None = field(default=None, hash=False)
    endpoint: str | None = None

    @cached_property
    def has_pasted(self) -> bool:
        """True if something in a person's words is evidently pasted."""
        return self.role == "user" and own_part(self.content or "") != (self.content or "")

    @property
    def origins(self) -> Sequence[Origin]:
        """Origins of the parts of this line, as far as the line tells; pasted parts are quoted."""
        is_quoted = self.quotes or self.has_pasted
        return [*([self.origin] if self.origin else []), *([Origin.QUOTED] if is_quoted else [])]


Span = tuple[str, str]
"""A piece of a conversation: the ids of its first and of its last message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """The conversation starts afresh here; `through` names the last message before it."""

    at: str
    through: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From now on the conversation is replayed from the message `start` (written as "from").

    Before it, the turns `kept` go along. What tools reported before the message `brief` is shown in a
    line each. `episodes` is the number of the newest episode that the prompt may show.
    """

    at: str
    start: str
    kept: Sequence[str] = ()
    brief: str | None = None
    episodes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A turn is over without a complete answer: the model failed, the person stopped it, or the process died."""

    at: str
    turn: str
    how: EndedHow


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalMark:
    """A tool of the turn waits for a person's answer from here on, or (not `open`) has it.

    A message after it says as well that the question is over.
    """

    at: str
    turn: str
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """Everything through the message `through` is in the episode with this cursor."""

    at: str
    through: str
    cursor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedMessage:
    """A user's message that waits for its turn, as it will be recorded then.

    It is over once a message with the same `inbound` stands in the session.
    """

    at: str
    message: Message


Mark = Reset | Window | Ended | ApprovalMark | Archived | QueuedMessage
Line = Message | Mark


@dataclass(slots=True)
class Session:
    """One conversation as far as it is replayed: what came after the last reset or window mark.

    `ended` holds the turns among these messages that ended without a complete answer. The first `kept`
    messages are of older turns that go along; behind them nothing is left out. `brief` and `episodes` are
    those of the window, and `episodes` moves on with what is archived. `asking` is the turn in which a tool
    waits for a person's answer, "" if none does. `waiting` are the messages that wait for their turn, by `inbound`.
    """

    key: str
    messages: list[Message] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    kept: int = 0
    brief: str | None = None
    episodes: int | None = None
    asking: str = ""
    waiting: dict[str, Message] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A row in a list of sessions; size in bytes, times as they stand in the file."""

    key: str
    updated: str
    size: int
    bad_lines: int = 0


@dataclass(frozen=True, slots=True)
class Owed:
    """A conversation of which something is in no episode yet.

    `at` is when the newest such message was said; `is_reset`: some of it stands before a reset.
    """

    key: str
    at: str
    is_reset: bool
