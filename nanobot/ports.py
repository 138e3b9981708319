"""The seams of nanobot: everything outside plugs in here."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from nanobot.authority import Authority, Origin
from nanobot.errors import LLMErrorKind
from nanobot.i18n import Language
from nanobot.messages import Address, Attachment, Button, InboundMessage, OutboundMessage, Progress
from nanobot.transcript import Line, Message, Session, SessionInfo, ToolCall, Usage

Publish = Callable[[InboundMessage], Awaitable[None]]


class Clock(Protocol):
    """Time, so that tests can own it."""

    def now(self) -> datetime:
        """The local time, with its zone."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever grow."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Channel(Protocol):
    """A place where people talk to the bot."""

    @property
    def name(self) -> str: ...

    async def listen(self, publish: Publish) -> None:
        """Publish what people say until cancelled."""
        ...

    async def send(self, message: OutboundMessage) -> None:
        """Show a message; returns when it has arrived."""
        ...

    async def show(self, progress: Progress) -> None:
        """Show what a running turn is doing; may do nothing."""
        ...


class Bus(Protocol):
    """Carries what people say to the dispatcher, and what the bot says to its channel."""

    async def publish(self, message: InboundMessage) -> None:
        """Take a message in. When this returns it will be answered, unless it came before (same id)."""
        ...

    async def receive(self) -> InboundMessage:
        """The next message to deal with."""
        ...

    async def finish(self, done: Sequence[InboundMessage], answer: OutboundMessage | None) -> None:
        """These messages are dealt with; the answer, if any, is on its way. Both or neither."""
        ...

    async def send(self, message: OutboundMessage) -> None:
        """Put a message on its way that no inbound message waits for."""
        ...

    def show(self, progress: Progress) -> None:
        """Tell a channel how a turn is going; never waits, and is lost at a crash."""
        ...

    async def outgoing(self) -> OutboundMessage | Progress:
        """The next thing to deliver, in order within a chat."""
        ...


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What the agent must know of a model. Sizes in tokens; `preset` is its name in the configuration."""

    preset: str
    model: str
    context_window: int
    max_output: int
    compact: bool = False
    vision: bool = False


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What the model is told about a tool; parameters is a JSON schema. Those that only read run in parallel."""

    name: str
    description: str
    parameters: Mapping[str, object]
    reads_only: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked. `turn` is the running one: only its pictures are sent as pictures."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    may_call: bool = True
    turn: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered: text, or tool calls with perhaps a remark.

    `finish` is "length" when the output limit cut it; then the last tool call may be cut, too.
    A call whose arguments are not JSON of an object keeps the text it came with.
    """

    text: str
    tool_calls: Sequence[ToolCall] = ()
    finish: Literal["stop", "length"] = "stop"
    usage: Usage | None = None
    model: str = ""


class Stream(Protocol):
    """Watches an answer grow."""

    def text(self, delta: str) -> None:
        """The next piece of what the person will read; never reasoning."""
        ...

    def restart(self) -> None:
        """The attempt failed: what came since the request began is void and comes again."""
        ...

    def waiting(self, seconds: float, kind: LLMErrorKind) -> None:
        """The model cannot answer now; the next attempt is in so many seconds."""
        ...

    def fallback(self, preset: str, kind: LLMErrorKind) -> None:
        """The model failed for this reason; the named one is asked instead."""
        ...


class LLM(Protocol):
    """A chat model."""

    @property
    def info(self) -> ModelInfo: ...

    async def complete(self, request: Request, stream: Stream) -> Reply:
        """Ask once, with retries inside. Raises LLMError; a Reply has text or tool calls, never neither."""
        ...


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a tool runs: where, with what authority, in which turn, in which language they read."""

    address: Address
    authority: Authority
    turn: str
    language: Language


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model reads; origin says how far the text can be trusted; files are shown to models that see."""

    text: str
    origin: Origin = Origin.TOOL
    files: Sequence[Attachment] = ()


class Tool(Protocol):
    """Something the model may do."""

    @property
    def spec(self) -> ToolSpec: ...

    def describe(self, arguments: Mapping[str, object]) -> str:
        """What this call is about to do, in a few words, for a person: "read notes.md"."""
        ...

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        """Do it. Raises ToolError with a text that helps the model to do better."""
        ...


class Asker(Protocol):
    """Puts a question to the person, with buttons."""

    async def ask(self, at: Address, question: str, choices: Sequence[Button]) -> str:
        """The value of the chosen button. Waits as long as it takes; cancel it to withdraw the question."""
        ...


class SessionStore(Protocol):
    """Where conversations are kept."""

    async def load(self, key: str) -> Session:
        """The conversation as far as it is replayed; an unknown key gives an empty one. Reads the tail only."""
        ...

    async def append(self, session: Session, *lines: Line) -> None:
        """Add lines in one durable write, then to the session. Raises StoreError; then nothing was added."""
        ...

    async def messages(self, key: str) -> Sequence[Message]:
        """Every message ever said in a conversation, resets included."""
        ...

    async def list(self) -> Sequence[SessionInfo]:
        """All conversations, the latest first."""
        ...

    async def delete(self, key: str) -> bool:
        """Remove a conversation from disk; False if there was none."""
        ...


class SessionModels(Protocol):
    """Remembers the preset that a person chose for a session."""

    def get(self, key: str) -> str | None: ...

    async def set(self, key: str, preset: str | None) -> None:
        """Remember the choice; None forgets it."""
        ...
