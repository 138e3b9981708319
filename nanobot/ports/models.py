"""Chat models: what they are asked, and what they answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from nanobot.errors import LLMErrorKind
from nanobot.transcript import Message, ToolCall, Usage

Lacking = Literal["tools", "pictures"]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What the agent must know of a model. Sizes in tokens; `preset` is its name in the configuration.

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


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What the model is told about a tool; parameters is a JSON schema. Those that only read run in parallel."""

    name: str
    description: str
    parameters: Mapping[str, object]
    reads_only: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked. `turn` is the running one: only its pictures are sent as pictures.

    `patient` lets an endpoint that cannot answer now be asked again; who has time asks later by himself.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    may_call: bool = True
    turn: str = ""
    patient: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered: text, or tool calls with perhaps a remark.

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
        """It has just turned out that this model cannot do what the person may count on."""
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
