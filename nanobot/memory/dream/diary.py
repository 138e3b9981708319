"""What Dream knows of its own last runs, kept on disk as it changes."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta

from nanobot.memory.dream.limits import Limits
from nanobot.memory.dream.report import Area, Outcome
from nanobot.ports import Clock, DreamBook, DreamRecord

TRIES = 3
"""Unusable answers to an episode; then it is set aside."""

FIRST_WAIT = 300.0
LONGEST_WAIT = 6 * 3600.0
"""Seconds until a run begins by itself after one that failed: doubled each time."""

_SMALLEST_ROOM = 2  # times that the room of a single episode is halved


class Diary:
    """The record of one run. Each method that changes it returns when that is on disk; all raise StoreError."""

    def __init__(self, record: DreamRecord, book: DreamBook, clock: Clock, limits: Limits) -> None:
        self._record = record
        self._book = book
        self._clock = clock
        self._limits = limits
        self._is_counted = False

    @property
    def batch(self) -> int:
        """How many episodes are read at once."""
        return max(1, self._limits.batch >> self._record.smaller)

    @property
    def halved(self) -> int:
        """How often the room is halved in which a single episode was still too much."""
        return max(0, self._record.smaller - self._alone)

    @property
    def is_waiting(self) -> bool:
        """Whether the last run failed, and no next one is to begin by itself yet."""
        try:
            return self._clock.now() < datetime.fromisoformat(self._record.not_before)
        except (ValueError, TypeError):  # none, or somebody edited the file
            return False

    @property
    def had_enough(self) -> bool:
        """Whether there were as many runs today as there may be, without this one."""
        is_today = self._record.day == self._today
        return is_today and not self._is_counted and self._record.runs >= self._limits.runs_per_day

    async def count(self) -> None:
        """This run asks a model; it counts once."""
        if not self._is_counted:
            self._is_counted = True
            await self._keep(day=self._today, runs=self._record.runs * (self._record.day == self._today) + 1)

    async def read(self, cursors: Collection[int]) -> None:
        """These episodes are taken in."""
        tries = {cursor: count for cursor, count in self._record.tries.items() if cursor not in cursors}
        smaller = max(0, self._record.smaller - 1)
        await self._keep(failure="", failures=0, not_before="", tries=tries, smaller=smaller)

    async def failed(self, area: Area, kind: str, retry_after: float) -> None:
        """Nothing was changed. What was too much at once is asked in smaller pieces the next time."""
        record = self._record
        wait = max(retry_after, min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(record.failures, 20)))
        too_much = area == "limit" or kind in ("context", "cut")
        await self._keep(
            failure=f"{area}:{kind}",
            failures=record.failures + 1,
            not_before=(self._clock.now() + timedelta(seconds=wait)).isoformat(timespec="seconds"),
            smaller=min(record.smaller + too_much, self._alone + _SMALLEST_ROOM),
        )

    async def unusable(self, cursors: Collection[int]) -> Collection[int]:
        """The answer about these episodes could not be used. Next they are asked about one by one.

        Returns those that had as many such answers as they get.
        """
        tries = dict(self._record.tries) | {cursor: self._record.tries.get(cursor, 0) + 1 for cursor in cursors}
        await self._keep(tries=tries, smaller=max(self._alone, self._record.smaller))
        return [cursor for cursor in cursors if tries[cursor] >= TRIES]

    async def set_aside(self, cursor: int) -> None:
        """This one is given up."""
        tries = {other: count for other, count in self._record.tries.items() if other != cursor}
        await self._keep(tries=tries, set_aside=(*self._record.set_aside, cursor))

    async def ended(self, outcome: Outcome) -> None:
        """The run is over."""
        await self._keep(last=self._clock.now().isoformat(timespec="seconds"), outcome=outcome)

    @property
    def _alone(self) -> int:
        """Halved so often, a batch is one episode."""
        return self._limits.batch.bit_length() - 1

    @property
    def _today(self) -> str:
        return self._clock.now().date().isoformat()

    async def _keep(self, **fields: object) -> None:
        self._record = replace(self._record, **fields)  # type: ignore[arg-type]  # names and kinds of DreamRecord
        await self._book.write(self._record)
