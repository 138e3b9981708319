"""How Dream is doing, for people."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from nanobot.i18n import Language, say
from nanobot.memory.dream.report import Outcome
from nanobot.ports import DreamRecord

_NAMED = 5
"""Episodes that were set aside and are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamStatus:
    """How Dream is doing; `waiting` is how many episodes it has not read."""

    record: DreamRecord
    waiting: int
    is_running: bool

    def told(self, language: Language, next_at: datetime | None = None, *, in_full: bool = True) -> Iterator[str]:
        """Lines for /status and /memory; `next_at` is when it runs next by itself. `in_full` tells of trouble."""
        if self.is_running:
            yield say("dream.status_running", language)
        yield self._last(language)
        if next_at is not None:
            yield say("dream.status_next", language, at=f"{next_at:%Y-%m-%d %H:%M}")
        if self.waiting:
            yield say("dream.status_waiting", language, count=self.waiting)
        if in_full:
            yield from self._trouble(language)

    def _last(self, language: Language) -> str:
        at, outcome = self.record.last[:16].replace("T", " "), self.record.outcome
        if not at:
            return say("dream.status_never", language)
        result = say(f"dream.result_{outcome}", language) if outcome in get_args(Outcome) else ""
        return say("dream.status_last", language, at=at, result=result).rstrip()

    def _trouble(self, language: Language) -> Iterator[str]:
        record = self.record
        if record.failure:
            area, _, kind = record.failure.partition(":")
            yield say("dream.status_failed", language, count=record.failures)
            yield say(f"dream.failed_{area}", language, kind=kind)
        if record.set_aside:
            numbers = ", ".join(map(str, record.set_aside[-_NAMED:]))
            yield say("dream.status_set_aside", language, count=len(record.set_aside), numbers=numbers)
