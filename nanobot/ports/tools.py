"""What the model may do, and who is asked whether it may."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from nanobot.authority import Authority, Origin
from nanobot.i18n import Language
from nanobot.messages import Address, Attachment, Button
from nanobot.ports.models import ToolSpec


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
    """What the model reads; origin says how far the text can be trusted; files are shown to models that see.

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
        """What this call is about to do, in a few words of their language, for a person: "read notes.md"."""
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
