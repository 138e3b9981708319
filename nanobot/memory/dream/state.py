"""State of Dream between runs: failures, waits, runs of today, episodes that were given up; on disk as it changes."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from nanobot.memory.dream.operations import DreamLimits
from nanobot.memory.dream.report import Area, Outcome
from nanobot.ports import Clock, DreamBook, DreamRecord

TRIES = 3
"""Unusable answers to an episode; then it is set aside, until another model dreams or a person asks."""

FIRST_WAIT = 300.0
LONGEST_WAIT = 6 * 3600.0
"""Seconds until a run begins by itself after one that failed: doubled each time."""

_SMALLEST_ROOM = 2  # times that the room of a single episode is halved


def not_before(record: DreamRecord) -> datetime | None:
    """Return the earliest time of the next run by itself; None if it is not limited."""
    try:
        return datetime.fromisoformat(record.not_before).astimezone()
    except (ValueError, TypeError):  # none, or somebody edited the file
        return None


class DreamState:
    """State kept between runs. Each method that changes it returns when that is on disk; all raise StoreError."""

    def __init__(self, record: DreamRecord, book: DreamBook, clock: Clock, limits: DreamLimits) -> None:
        self._record = record
        self._book = book
        self._clock = clock
        self._limits = limits
        self._is_counted = False

    @property
    def batch(self) -> int:
        """Number of episodes that are read at once."""
        return max(1, self._limits.batch >> self._record.smaller)

    @property
    def halved(self) -> int:
        """Number of times that the room is halved, as a single episode was still too much."""
        return max(0, self._record.smaller - self._alone)

    @property
    def is_waiting(self) -> bool:
        """True if the last run failed, and no next one is to begin by itself yet."""
        begins = not_before(self._record)
        return begins is not None and self._clock.now() < begins

    @property
    def had_enough(self) -> bool:
        """True if there were as many runs today as there may be, without this one."""
        is_today = self._record.day == self._today
        return is_today and not self._is_counted and self._record.runs >= self._limits.runs_per_day

    async def count(self) -> None:
        """Count this run, which asks a model, once."""
        if not self._is_counted:
            self._is_counted = True
            await self._keep(day=self._today, runs=self._record.runs * (self._record.day == self._today) + 1)

    async def read(self, cursors: Collection[int]) -> None:
        """Record that these episodes are taken in."""
        record = self._record
        tries = {cursor: count for cursor, count in record.tries.items() if cursor not in cursors}
        smaller = max(0, record.smaller - 1)
        await self._keep(failure="", failures=0, not_before="", tries=tries, smaller=smaller)
        if not set(record.set_aside).isdisjoint(cursors):
            await self.is_gone(*cursors)

    async def is_gone(self, *cursors: int) -> None:
        """Record that these are not set aside any more: taken in after all, or forgotten."""
        gave_up = {cursor: model for cursor, model in self._record.gave_up.items() if cursor not in cursors}
        left = [cursor for cursor in self._record.set_aside if cursor not in cursors]
        await self._keep(set_aside=left, gave_up=gave_up)

    def given_up(self, model: str = "") -> Sequence[int]:
        """Return the episodes that are set aside; with a model, only those that it did not give up itself."""
        gave_up = self._record.gave_up
        return [cursor for cursor in self._record.set_aside if not model or gave_up.get(cursor) != model]

    async def failed(self, area: Area, kind: str, retry_after: float) -> None:
        """Record a failure, and when to try again; an input that was too long is halved the next time."""
        record = self._record
        wait = max(retry_after, min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(record.failures, 20)))
        too_much = area == "limit" or kind in ("context", "cut")
        await self._keep(
            failure=f"{area}:{kind}",
            failures=record.failures + 1,
            not_before=(self._clock.now() + timedelta(seconds=wait)).isoformat(timespec="seconds"),
            smaller=min(record.smaller + too_much, self._alone + _SMALLEST_ROOM),
        )

    async def unusable(self, cursors: Collection[int], next_at: datetime | None) -> Collection[int]:
        """Record an unusable answer about these episodes. The next run, on schedule, asks about them one by one.

        Returns the episodes that have had TRIES such answers.
        """
        tries = dict(self._record.tries) | {cursor: self._record.tries.get(cursor, 0) + 1 for cursor in cursors}
        soonest = self._clock.now() + timedelta(seconds=FIRST_WAIT)
        waits = max(soonest, next_at or soonest).isoformat(timespec="seconds")
        await self._keep(tries=tries, smaller=max(self._alone, self._record.smaller), not_before=waits)
        return [cursor for cursor in cursors if tries[cursor] >= TRIES]

    async def set_aside(self, cursor: int, model: str) -> None:
        """Record that this model has given an episode up."""
        record = self._record
        tries = {other: count for other, count in record.tries.items() if other != cursor}
        kept = tuple(other for other in record.set_aside if other != cursor)
        await self._keep(tries=tries, set_aside=(*kept, cursor), gave_up={**record.gave_up, cursor: model})

    async def ended(self, outcome: Outcome) -> None:
        """Record the end of the run."""
        await self._keep(last=self._clock.now().isoformat(timespec="seconds"), outcome=outcome)

    @property
    def _alone(self) -> int:
        """Number of halvings that leave one episode of a batch."""
        return self._limits.batch.bit_length() - 1

    @property
    def _today(self) -> str:
        return self._clock.now().date().isoformat()

    async def _keep(self, **fields: object) -> None:
        self._record = replace(self._record, **fields)  # type: ignore[arg-type]  # names and kinds of DreamRecord
        await self._book.write(self._record)
