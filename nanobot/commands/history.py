"""Why something is remembered, what was changed, and taking it back: /why /dream-log /dream-restore /dream-undo."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nanobot.authority import Role
from nanobot.commands.router import Answer, Call, Command
from nanobot.errors import VersionError, VersionErrorKind
from nanobot.i18n import Language, say
from nanobot.i18n.consent import consent
from nanobot.memory.keeping import Asked
from nanobot.memory.provenance import Line, Provenance, Why
from nanobot.memory.reverting import Receipt, Reverting
from nanobot.memory.timeline import LATEST, Entry, Timeline
from nanobot.ports import FileDiff

Action = Literal["why", "log", "restore", "undo"]
Written = Literal[Action, "show"]
"""What a person types to do it, or to see what is remembered."""

IsDreaming = Callable[[], Awaitable[bool]]

MOST_LISTED = 50
MOST_CHOICES = 8
_LONGEST_COUNT = 3  # digits; an id has more


@dataclass(frozen=True, slots=True)
class Asking:
    """Who wants something of the history, in which language, and how they write the commands for it.

    `typed` is what they wrote behind the command; `chooses`: whether they see buttons, which then say it all.
    """

    asked: Asked
    language: Language
    commands: Callable[[Written], str]
    typed: str = ""
    chooses: bool = True

    def say(self, sentence: str, /, **values: object) -> str:
        return say(f"history.{sentence}", self.language, **values)

    def command(self, action: Written, argument: str = "") -> str:
        """What they would type."""
        return f"{self.commands(action)} {argument}".strip()

    @property
    def may_change(self) -> bool:
        """In a group, an owner of the bot only; one's own memory, everybody."""
        authority = self.asked.authority
        return authority.role is Role.OWNER or not authority.scope.is_group


@dataclass(frozen=True, slots=True)
class Trouble:
    """It was not done. `kind` is one of VersionError's, or names a sentence of this section."""

    kind: VersionErrorKind | Literal["usage_why", "usage_undo", "not_found", "dreaming", "owner_only", "no_versions"]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """One version with what it did."""

    entry: Entry
    diffs: Sequence[FileDiff]


@dataclass(frozen=True, slots=True)
class Choice:
    """Several things may be meant: lines of memory, or versions to go back to."""

    lines: Sequence[Line] = ()
    entries: Sequence[Entry] = ()


@dataclass(frozen=True, slots=True)
class Log:
    """The latest versions, the newest first; `is_cut` if there are older ones."""

    entries: Sequence[Entry] = field(default=())
    is_cut: bool = False


Result = Why | Choice | Log | Shown | Receipt | Trouble


class History:
    """Looks into the history of the asker's own scope, and goes back in it."""

    def __init__(
        self, timeline: Timeline, provenance: Provenance, reverting: Reverting, is_dreaming: IsDreaming
    ) -> None:
        self._timeline = timeline
        self._provenance = provenance
        self._reverting = reverting
        self._is_dreaming = is_dreaming

    async def do(self, action: Action, words: str, asking: Asking) -> Result:
        """What was found or done. Raises StoreError."""
        try:
            match action:
                case "why":
                    return await self._why(words, asking)
                case "log":
                    return await self._log(words, asking)
                case "restore" | "undo":
                    return await self._go_back(action, words, asking)
        except VersionError as error:
            return Trouble(error.kind, words if error.kind in ("unknown", "ambiguous") else error.detail)

    async def _why(self, words: str, asking: Asking) -> Result:
        scope = asking.asked.authority.scope
        if not words:
            return Trouble("usage_why")
        lines = await self._provenance.find(words, scope)
        if not lines:
            return Trouble("not_found", words)
        return await self._provenance.why(lines[0], scope) if len(lines) == 1 else Choice(lines=lines)

    async def _log(self, words: str, asking: Asking) -> Result:
        scope = asking.asked.authority.scope
        if words and not _is_count(words):
            return Shown(*await self._timeline.shown(scope, words))
        count = min(int(words), MOST_LISTED) if words else LATEST
        entries = await self._timeline.latest(scope, count + 1)
        return Log(entries[:count], is_cut=len(entries) > count)

    async def _go_back(self, how: Literal["restore", "undo"], words: str, asking: Asking) -> Result:
        if not asking.may_change:
            return Trouble("owner_only")
        if not words and how == "undo":
            return Trouble("usage_undo")
        if not words:
            entries = await self._timeline.latest(asking.asked.authority.scope, MOST_CHOICES)
            choices = [entry for entry in entries if entry.version.parent is not None]
            return Choice(entries=choices) if choices else Trouble("no_versions")
        if await self._is_dreaming():
            return Trouble("dreaming")
        return await self._reverting.go_back(how, words, asking.asked)


def history_commands(history: History, told: Callable[[Result, Asking], Answer]) -> Sequence[Command]:
    """All four, as slash commands; `told` puts into words what came of them."""

    def command(name: str, action: Action) -> Command:
        async def handle(call: Call) -> Answer:
            message = call.message
            if action == "restore" and consent(call.argument) is False:
                return Answer(call.say("command.left"))
            asked = Asked(message.address.session_key, message.authority, message=message.id)
            asking = Asking(asked, call.language, _slash, call.argument)
            return told(await history.do(action, call.argument, asking), asking)

        return Command(name, handle, immediate=True)

    return [
        command("why", "why"),
        command("dream-log", "log"),
        command("dream-restore", "restore"),
        command("dream-undo", "undo"),
    ]


def _slash(action: Written) -> str:
    """As it is called; on Telegram it is spelled with `_`, which works everywhere when it is typed."""
    if action == "show":
        return "/memory"
    return "/why" if action == "why" else f"/dream-{action}"


def _is_count(words: str) -> bool:
    return words.isdecimal() and len(words) <= _LONGEST_COUNT and int(words) > 0
