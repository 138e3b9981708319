"""The seams of nanobot: everything outside plugs in here."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
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
    A call whose arguments are not JSON of an object keeps the text it came with. `model` is the name
    of the preset that answered.
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
        """The model cannot answer now; the next attempt is in so many seconds. "engine": it is being loaded."""
        ...

    def fallback(self, preset: str, kind: LLMErrorKind) -> None:
        """The model failed for this reason; the named one is asked instead."""
        ...


class LLM(Protocol):
    """A chat model."""

    @property
    def info(self) -> ModelInfo: ...

    def warm(self) -> None:
        """Get ready for the first question; takes a while, and blocks."""
        ...

    async def aclose(self) -> None:
        """Give back connections and memory."""
        ...

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


@dataclass(frozen=True, slots=True)
class Said:
    """One searchable text: a message, or later an episode, a note, a line of memory.

    `key` is the index's own number, `position` the place within its session, `when` seconds since
    the epoch of `at`, `day` the local day of `at` as an ordinal (0 where it has none), `words` the
    words by which it is indexed, in their order, with blanks between them.
    """

    key: int
    source: str
    session: str
    position: int
    message: str
    at: str
    when: float
    day: int
    role: str
    speaker: str
    text: str
    words: str


@dataclass(frozen=True, slots=True)
class Within:
    """Where to look; empty means everywhere. Days are ordinals, both ends included."""

    scopes: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    first_day: int | None = None
    last_day: int | None = None


EVERYWHERE = Within()


@dataclass(frozen=True, slots=True)
class Extent:
    """How much an index holds: texts, words per text, the years spoken in, and who spoke."""

    texts: int
    mean_words: float
    years: Sequence[int]
    speakers: Sequence[str]


class RecallIndex(Protocol):
    """Finds what was said by words and days. Derived: may be deleted, and is then built anew. Blocks briefly."""

    def extent(self) -> Extent: ...

    def counts(self, words: Sequence[str]) -> Mapping[str, int]:
        """In how many texts each word stands; absent ones are left out."""
        ...

    def starting_with(self, prefix: str, limit: int) -> Mapping[str, int]:
        """Words that start like this, with the same count."""
        ...

    def matching(self, words: Sequence[str], within: Within, limit: int) -> Sequence[int]:
        """Keys of the texts that hold any of the words, the best by bm25 first."""
        ...

    def on_days(self, within: Within, limit: int) -> Sequence[int]:
        """Keys of what was said there and then, the latest first."""
        ...

    def passages(self, keys: Sequence[int], reach: int) -> Sequence[Said]:
        """These texts with so many neighbours on each side, in the order of session and position."""
        ...


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found. `around` holds what was said right before and after it."""

    said: Said
    score: float
    around: Sequence[Said] = ()


class Recall(Protocol):
    """Brings up what was said long ago."""

    def search(
        self, query: str, *, now: datetime, k: int = 10, within: Within = EVERYWHERE, around: int = 0
    ) -> Sequence[Hit]:
        """The k texts that answer a query best, the best first. Takes milliseconds; call it in a thread."""
        ...


# Memory: the files that people edit, and the notes.


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A text file as it was read; the same object comes back for as long as the file does not change.

    `text` has plain newlines. It is None if there is no such file, or none that can be read; then `problem`
    says why, in the system's words.
    `modified` is in seconds since 1970.
    """

    text: str | None
    modified: float = 0.0
    problem: str = ""


class Documents(Protocol):
    """The text files that people edit, re-read when they change."""

    def look(self, path: Path) -> Document:
        """The file as it is now. Costs one stat if it has not changed; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What stands between `---` lines at the head of a file, and the text below.

    Values are text, true and false, None, lists and mappings of these; numbers and dates stay text.
    `problem` says what keeps the head from being read; then there are no fields.
    """

    fields: Mapping[str, object]
    body: str
    problem: str = ""


ReadFrontmatter = Callable[[str], Frontmatter]


class MemoryStore(Protocol):
    """MEMORY.md, and the notes in the same folder."""

    @property
    def path(self) -> Path:
        """Where MEMORY.md is, or will be."""
        ...

    def memory(self) -> Document:
        """MEMORY.md as it is now."""
        ...

    def notes(self) -> Mapping[str, Document]:
        """All other Markdown files in the folder, by file name, as they are now. A stat for each that is unchanged."""
        ...

    def change(self, edit: Callable[[str], str]) -> None:
        """Put what `edit` makes of MEMORY.md in its place, in one step; nothing happens if that is the same.

        The text goes in and out as it stands in the file: byte order mark, line ends and broken bytes
        (as surrogates) included. `edit` is called again if somebody else changed the file meanwhile.
        Blocks. Raises StoreError; then nothing has changed.
        """
        ...
