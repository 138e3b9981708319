"""Commands about the history of memory: /why /dream-log /dream-restore /dream-undo, and its state for /status."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from nanobot.authority import Role
from nanobot.core.commands import Command, CommandAnswer, CommandCall
from nanobot.errors import VersionError, VersionErrorKind
from nanobot.i18n import Language, consent, say
from nanobot.memory.changes import ChangeRequest
from nanobot.memory.history import LATEST, Revert, RevertReceipt, Timeline, TimelineEntry, is_of
from nanobot.memory.provenance import MemoryLine, Provenance, Why
from nanobot.ports import FileDiff, VersionStore

# /why /dream-log /dream-restore /dream-undo.


Action = Literal["why", "log", "restore", "undo"]
Written = Literal[Action, "show"]
"""What a person types to do it, or to see what is remembered."""

IsDreaming = Callable[[], Awaitable[bool]]

MOST_LISTED = 50
MOST_CHOICES = 8
_LONGEST_COUNT = 3  # digits; an id has more


@dataclass(frozen=True, slots=True)
class HistoryRequester:
    """Requester of a history action, with their language and their spelling of commands.

    `typed` is what they wrote behind the command; `chooses`: whether they see buttons, which then say it all.
    """

    asked: ChangeRequest
    language: Language
    commands: Callable[[Written], str]
    typed: str = ""
    chooses: bool = True

    def say(self, sentence: str, /, **values: object) -> str:
        return say(f"history.{sentence}", self.language, **values)

    def command(self, action: Written, argument: str = "") -> str:
        """Return the command as they would type it."""
        return f"{self.commands(action)} {argument}".strip()

    @property
    def may_change(self) -> bool:
        """True for one's own memory, and in a group for owners of the bot."""
        authority = self.asked.authority
        return authority.role is Role.OWNER or not authority.scope.is_group


@dataclass(frozen=True, slots=True)
class HistoryProblem:
    """Refusal of a history action. `kind` is one of VersionError's, or names a sentence of this section."""

    kind: VersionErrorKind | Literal["usage_why", "usage_undo", "not_found", "dreaming", "owner_only", "no_versions"]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """A version with its diffs."""

    entry: TimelineEntry
    diffs: Sequence[FileDiff]


@dataclass(frozen=True, slots=True)
class HistoryChoice:
    """Several things may be meant: lines of memory, or versions to go back to."""

    lines: Sequence[MemoryLine] = ()
    entries: Sequence[TimelineEntry] = ()


@dataclass(frozen=True, slots=True)
class HistoryLog:
    """The latest versions, the newest first; `is_cut` if there are older ones."""

    entries: Sequence[TimelineEntry] = field(default=())
    is_cut: bool = False


Result = Why | HistoryChoice | HistoryLog | ShownVersion | RevertReceipt | HistoryProblem


class HistoryCommands:
    """Looks into the history of the asker's own scope, and goes back in it."""

    def __init__(self, timeline: Timeline, provenance: Provenance, reverting: Revert, is_dreaming: IsDreaming) -> None:
        self._timeline = timeline
        self._provenance = provenance
        self._reverting = reverting
        self._is_dreaming = is_dreaming

    async def do(self, action: Action, words: str, asking: HistoryRequester) -> Result:
        """Carry out a history action and return its result. Raises StoreError."""
        try:
            match action:
                case "why":
                    return await self._why(words, asking)
                case "log":
                    return await self._log(words, asking)
                case "restore" | "undo":
                    return await self._go_back(action, words, asking)
        except VersionError as error:
            return HistoryProblem(error.kind, words if error.kind in ("unknown", "ambiguous") else error.detail)

    async def _why(self, words: str, asking: HistoryRequester) -> Result:
        scope = asking.asked.authority.scope
        if not words:
            return HistoryProblem("usage_why")
        lines = await self._provenance.find(words, scope)
        if not lines:
            return HistoryProblem("not_found", words)
        return await self._provenance.why(lines[0], scope) if len(lines) == 1 else HistoryChoice(lines=lines)

    async def _log(self, words: str, asking: HistoryRequester) -> Result:
        scope = asking.asked.authority.scope
        if words and not _is_count(words):
            return ShownVersion(*await self._timeline.shown(scope, words))
        count = min(int(words), MOST_LISTED) if words else LATEST
        entries = await self._timeline.latest(scope, count + 1)
        return HistoryLog(entries[:count], is_cut=len(entries) > count)

    async def _go_back(self, how: Literal["restore", "undo"], words: str, asking: HistoryRequester) -> Result:
        if not asking.may_change:
            return HistoryProblem("owner_only")
        if not words and how == "undo":
            return HistoryProblem("usage_undo")
        if not words:
            entries = await self._timeline.latest(asking.asked.authority.scope, MOST_CHOICES)
            choices = [entry for entry in entries if entry.version.parent is not None]
            return HistoryChoice(entries=choices) if choices else HistoryProblem("no_versions")
        if await self._is_dreaming():
            return HistoryProblem("dreaming")
        return await self._reverting.go_back(how, words, asking.asked)


def history_commands(
    history: HistoryCommands, told: Callable[[Result, HistoryRequester], CommandAnswer]
) -> Sequence[Command]:
    """Slash commands of the history; `told` puts their results into words."""

    def command(name: str, action: Action) -> Command:
        async def handle(call: CommandCall) -> CommandAnswer:
            message = call.message
            if action == "restore" and consent(call.argument) is False:
                return CommandAnswer(call.say("command.left"))
            asked = ChangeRequest(message.address.session_key, message.authority, message=message.id)
            asking = HistoryRequester(asked, call.language, _slash, call.argument)
            return told(await history.do(action, call.argument, asking), asking)

        return Command(name, handle, immediate=True)

    return [
        command("why", "why"),
        command("dream-log", "log"),
        command("dream-restore", "restore"),
        command("dream-undo", "undo"),
    ]


def _slash(action: Written) -> str:
    """Spelling of a slash command; on Telegram it has `_` for `-`, which works everywhere when it is typed."""
    if action == "show":
        return "/memory"
    return "/why" if action == "why" else f"/dream-{action}"


def _is_count(words: str) -> bool:
    return words.isdecimal() and len(words) <= _LONGEST_COUNT and int(words) > 0


# Lines of /status and /memory about the history: errors, and files that are not in it.


log = logging.getLogger(__name__)

_NO_GIT = "missing"
_MOST_SKIPPED = 5


class HistoryState:
    """Lines about the history: its errors, for owners alone, and the files that are left out."""

    def __init__(self, versions: VersionStore) -> None:
        self._versions = versions

    async def begin(self) -> None:
        """Finish what a crash interrupted, and take in what people changed. What goes wrong, `problem` tells of."""
        try:
            edits = await self._versions.ensure()
        except VersionError as error:
            log.warning("the history of memory could not begin: %s", error)
            return
        for path, reason in edits.skipped.items():
            log.info("%s is not in the history of memory: %s", path, reason)

    async def __call__(self, call: CommandCall) -> Sequence[str]:
        skipped: Mapping[str, str] = {}
        with suppress(VersionError):
            skipped = (await self._versions.commit_hand_edits()).skipped
        return list(self._lines(call, skipped))

    def _lines(self, call: CommandCall, skipped: Mapping[str, str]) -> Iterator[str]:
        scope, problem = call.message.authority.scope, self._versions.problem
        if problem.startswith(_NO_GIT):
            yield call.say("history.status_none")
        elif problem and scope.is_owner:
            yield call.say("history.status_problem", problem=problem.partition(": ")[2] or problem)
        own = sorted(path for path in skipped if is_of(scope, path))
        for path in own[:_MOST_SKIPPED]:
            yield call.say("history.status_skipped", file=path, reason=call.say(f"history.skipped_{skipped[path]}"))
        if len(own) > _MOST_SKIPPED:
            yield call.say("history.more", count=len(own) - _MOST_SKIPPED)
