"""The ports of chat models and tools: requests, replies, when background work may ask, what a model may do."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from nanobot.authority import Authority, Origin
from nanobot.errors import LLMErrorKind
from nanobot.i18n import Language
from nanobot.messages import Address, Attachment, Button
from nanobot.transcript import Message, ToolCall, Usage

# Chat models.


Lacking = Literal["tools", "pictures"]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Properties of a model that the agent needs. Sizes in tokens; `preset` is its name in the configuration.

    `one_by_one`: who asks while it answers somebody else waits until that is done. `tools`: whether it takes
    any. `endpoint` stands for where it is asked, as in Message; "" for a model in this process.
    """

    preset: str
    model: str
    context_window: int
    max_output: int
    compact: bool = False
    vision: bool = False
    one_by_one: bool = False
    tools: bool = True
    endpoint: str = ""


Risk = Literal["read", "write", "steer", "outside", "run", "send", "spend"]
"""Risk of a call of a tool.

read     looks at what its caller may see
write    changes files of its caller's own scope
steer    changes what the bot follows
outside  writes outside of the workspace
run      runs a program on this machine
send     tells somebody else, or some other service, something
spend    costs money, or goes on by itself later
"""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """Description of a tool for the model; parameters is a JSON schema. Those that only read run in parallel.

    `risk` is that of every call, and the policy decides by it. None: the tool asks the policy itself, by what a call
    touches, or is trusted with what its caller may do.
    """

    name: str
    description: str
    parameters: Mapping[str, object]
    reads_only: bool = False
    risk: Risk | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """Request to a model. `turn` is the running one: only its pictures are sent as pictures.

    `patient` lets an endpoint that cannot answer now be asked again; who has time asks later by himself.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    may_call: bool = True
    turn: str = ""
    patient: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply of a model: text, or tool calls with perhaps a remark.

    `finish` is "length" when the output limit cut it; then the last tool call may be cut, too.
    A call whose arguments are not JSON of an object keeps the text it came with. `model` is the name
    of the preset that answered; `extra` and `endpoint` are as in Message. `written_call`: the text holds a call
    that cannot be carried out as one, "bare" (it is for no person to read) or "fenced" (in a code block at its
    end, perhaps an example).
    """

    text: str
    tool_calls: Sequence[ToolCall] = ()
    finish: Literal["stop", "length"] = "stop"
    usage: Usage | None = None
    model: str = ""
    written_call: Literal["bare", "fenced"] | None = None
    extra: Mapping[str, object] | None = None
    endpoint: str | None = None


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

    def lacks(self, preset: str, what: Lacking) -> None:
        """Report that the model cannot do something that the person may count on."""
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


# Model calls in the background.


Ask = Callable[[], Awaitable[Reply]]
"""Asks, and may be given up: then it is called anew."""


class Slot(Protocol):
    """Lets work ask a model at a time that suits."""

    async def __call__(self, model: ModelInfo, ask: Ask) -> Reply:
        """Ask the model and return its answer. Raises what `ask` raises."""
        ...


async def at_once(model: ModelInfo, ask: Ask) -> Reply:
    """The slot of work that somebody waits for."""
    del model
    return await ask()


class Quiet:
    """For what a model is asked when no person waits for the words."""

    def text(self, delta: str) -> None: ...

    def restart(self) -> None: ...

    def waiting(self, seconds: float, kind: LLMErrorKind) -> None: ...

    def fallback(self, preset: str, kind: LLMErrorKind) -> None: ...

    def lacks(self, preset: str, what: Lacking) -> None: ...


# Tools.


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a tool runs: where, with what authority, in which turn, in which language they read.

    `person` is the id of whoever caused the turn, as in Sender.id; "" for nobody in particular, whose questions
    only an owner answers.
    """

    address: Address
    authority: Authority
    turn: str
    language: Language
    person: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a tool for the model; origin says how far the text can be trusted; files are shown to models that see.

    `printed` is for the person: what a command printed, as far as somebody would look through it.
    """

    text: str
    origin: Origin = Origin.TOOL
    files: Sequence[Attachment] = ()
    printed: str = ""


class Tool(Protocol):
    """Something the model may do."""

    @property
    def spec(self) -> ToolSpec: ...

    def describe(self, arguments: Mapping[str, object], language: Language) -> str:
        """Return the pending call in a few words of their language, for a person: "read notes.md"."""
        ...

    async def run(self, arguments: Mapping[str, object], caller: Caller) -> ToolResult:
        """Do it. Raises ToolError with a text that helps the model to do better."""
        ...


class Asker(Protocol):
    """Puts a question to the person on whose behalf something is done, with buttons."""

    async def ask(self, caller: Caller, question: str, choices: Sequence[Button]) -> str:
        """Ask where the caller is; the value of the button that they, or an owner there, chose.

        Waits as long as it takes; cancel it to withdraw the question.
        """
        ...
