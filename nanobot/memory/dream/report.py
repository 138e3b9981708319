"""Reports of a dream, and of the state of Dream, for people."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, get_args

from nanobot.authority import Scope
from nanobot.i18n import Language, say
from nanobot.memory.changes import Operation
from nanobot.memory.dream.operations import RefusalKind
from nanobot.memory.episodes.retries import cause
from nanobot.ports import DreamRecord, SummaryFailure

# A run.


Outcome = Literal[
    "changed",  # something is remembered otherwise now
    "unchanged",  # there was something to read, and nothing to change
    "nothing",  # there was nothing new to read
    "unusable",  # the model's answer could not be used; the same is tried again
    "set_aside",  # an episode was given up after three such answers
    "failed",  # a call, the history or the disk failed; nothing was changed, the same is tried again
    "busy",  # another dream is running
    "waiting",  # the last one failed, and its time of waiting is not over
    "enough",  # there were as many runs today as there may be
]
Area = Literal["model", "versions", "disk", "limit"]

MOST_CHANGES = 30
"""Changes that are told one by one."""


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """Change of memory, and the scope that it is in."""

    scope: Scope
    operation: Operation


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Proposal that was not carried out."""

    scope: Scope
    kind: RefusalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamReport:
    """Report of a run.

    `episodes` is how many were taken in, `cursor` the last of them; `version` the id of the newest version it made.
    `area` and `kind` say what failed: the model (kinds of LLMError), the history (kinds of VersionError), the disk,
    or a limit of the run. `staged` waits for an owner's yes. `set_aside` are the cursors of
    episodes that were given up.
    """

    outcome: Outcome
    episodes: int = 0
    cursor: int = 0
    version: str = ""
    changes: Sequence[ReportedChange] = ()
    staged: Sequence[ReportedChange] = ()
    left: Sequence[LeftOut] = ()
    area: Area | None = None
    kind: str = ""
    set_aside: Sequence[int] = field(default=())

    @property
    def goes_on(self) -> bool:
        """True if the next batch may be read."""
        return self.outcome in ("changed", "unchanged", "set_aside")

    def then(self, later: "DreamReport") -> "DreamReport":
        """Return both as one: the report of this batch, and of the one behind it."""
        return replace(
            later,
            outcome="changed" if later.outcome == "unchanged" and self.changes else later.outcome,
            episodes=self.episodes + later.episodes,
            cursor=max(self.cursor, later.cursor),
            version=later.version or self.version,
            changes=(*self.changes, *later.changes),
            staged=(*self.staged, *later.staged),
            left=(*self.left, *later.left),
            set_aside=(*self.set_aside, *later.set_aside),
        )

    def told(self, language: Language, scope: Scope) -> str:
        """Return the report for a person: of their own scope only."""
        return "\n".join(self._told(language, scope))

    def _told(self, language: Language, scope: Scope) -> Iterator[str]:
        changes = [change.operation for change in self.changes if change.scope == scope]
        changes = [operation for operation in changes if operation.verb != "confirm"]
        if changes:
            yield say("dream.changed", language, count=len(changes))
            yield from (f"- {told_operation(operation, language)}" for operation in changes[:MOST_CHANGES])
            if len(changes) > MOST_CHANGES:
                yield say("dream.more", language, count=len(changes) - MOST_CHANGES)
        if self.outcome == "failed":
            yield say(f"dream.failed_{self.area}", language, kind=self.kind)
        elif self.outcome != "changed" or not changes:
            outcome = "unchanged" if self.outcome == "changed" else self.outcome
            yield say(f"dream.{outcome}", language)
        if staged := [change.operation for change in self.staged if change.scope == scope]:
            yield say("dream.staged", language)
            yield from (f"- {told_operation(operation, language)}" for operation in staged[:MOST_CHANGES])
        left = Counter(one.kind for one in self.left if one.scope == scope)
        if left:
            yield say("dream.left", language)
            for kind, count in left.most_common():
                yield f"- {say(f'dream.left_{kind}', language)}{f' ×{count}' if count > 1 else ''}"


def told_operation(operation: Operation, language: Language) -> str:
    """Return a change in plain words."""
    is_skill = operation.file.startswith("skills/")  # every skill has a file of the same name
    note = operation.file if is_skill else operation.file.rpartition("/")[2]
    merged = _listed(path.rpartition("/")[2] for path in operation.merged)
    text = say(
        f"dream.did_{operation.verb}",
        language,
        file=note,
        text=operation.text,
        before=operation.before,
        merged=merged,
    )
    return f"{text} {say('dream.new_evidence', language)}" if operation.remark else text


def _listed(items: object) -> str:
    return ", ".join(map(str, items)) if isinstance(items, Sequence | Iterator) else str(items)


# The state.


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamStatus:
    """State of Dream; `waiting` is the number of unread episodes.

    Before it come summaries: `owed` conversations are not summarised to their end, the last try was `failed_summary`.
    """

    record: DreamRecord
    waiting: int
    is_running: bool
    failed_summary: SummaryFailure = field(default_factory=SummaryFailure)
    owed: int = 0

    def told(self, language: Language, next_at: datetime | None = None, *, in_full: bool = True) -> Iterator[str]:
        """Return a line or two for /status and /memory; `next_at` is the time of the next scheduled run.

        Without `in_full` they tell what waits, and nothing of how it went with the words of others.
        """
        line = [*([self._last(language)] if in_full else []), *self._ahead(language, next_at, in_full=in_full)]
        if line:
            yield say("dream.status", language, told=say("dream.between", language).join(line))
        if in_full:
            yield from self._trouble(language)

    def _last(self, language: Language) -> str:
        at, outcome = self.record.last[:16].replace("T", " "), self.record.outcome
        if self.is_running:
            return say("dream.status_running", language)
        if not at:
            return say("dream.status_never", language)
        if outcome == "nothing" and self.owed and self.failed_summary.kind:
            return say("dream.status_unread", language, at=at)
        is_said_below = outcome == "set_aside" and self.record.set_aside
        is_known = outcome in get_args(Outcome) and not is_said_below
        result = say(f"dream.result_{outcome}", language) if is_known else ""
        return say("dream.status_last", language, at=at, result=result).rstrip()

    def _ahead(self, language: Language, next_at: datetime | None, *, in_full: bool) -> Iterator[str]:
        if self.waiting:
            yield say("dream.status_waiting", language, count=self.waiting)
        if next_at is not None and (in_full or self.waiting):
            yield say("dream.status_next", language, at=f"{next_at:%Y-%m-%d %H:%M}")

    def _trouble(self, language: Language) -> Iterator[str]:
        record, failed = self.record, self.failed_summary
        if failed.kind and self.owed:
            at, reason = failed.at[:16].replace("T", " "), cause(failed.kind, language)
            yield say("consolidation.waits", language, count=self.owed, at=at, reason=reason)
        if record.failure:
            area, _, kind = record.failure.partition(":")
            why = say(f"dream.why_{area}", language, kind=kind) if area in get_args(Area) else area
            yield say("dream.status_failed", language, count=record.failures, why=why)
        if record.set_aside:
            yield say("dream.status_set_aside", language, count=len(record.set_aside))
