"""How Dream is doing, for people."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import get_args

from nanobot.i18n import Language, say
from nanobot.memory.dream.report import Area, Outcome
from nanobot.memory.setbacks import cause
from nanobot.ports import DreamRecord, SummaryFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamStatus:
    """How Dream is doing; `waiting` is how many episodes it has not read.

    Before it come summaries: `owed` conversations are not summarised to their end, the last try was `failed_summary`.
    """

    record: DreamRecord
    waiting: int
    is_running: bool
    failed_summary: SummaryFailure = field(default_factory=SummaryFailure)
    owed: int = 0

    def told(self, language: Language, next_at: datetime | None = None, *, in_full: bool = True) -> Iterator[str]:
        """A line or two for /status and /memory; `next_at` is when it runs next by itself.

        Not `in_full` it tells of what waits, and nothing of how it went with what others said.
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
