"""A clock that stands still until a test moves it."""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 2, 10, 15, tzinfo=UTC)


class FakeClock:
    """Time that a test owns.

    Whoever sleeps wakes when the test calls `advance`. With `instant=True` nobody waits:
    each sleep of at most `longest` seconds moves the time on and returns at once (code that
    watches deadlines by sleeping beside its work needs it: else every deadline would pass at once).
    `slept` holds every sleep that was asked for, in seconds.
    """

    def __init__(self, now: datetime = START, *, instant: bool = False, longest: float = float("inf")) -> None:
        self.slept: list[float] = []
        self._start = now
        self._elapsed = 0.0
        self._instant = instant
        self._longest = longest
        self._sleepers: list[tuple[float, asyncio.Event]] = []
        self._someone_sleeps = asyncio.Event()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    @property
    def asleep(self) -> int:
        """How many wait for their time to come."""
        return len(self._sleepers)

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if (self._instant and seconds <= self._longest) or seconds <= 0:
            self._elapsed += max(seconds, 0.0)
            await asyncio.sleep(0)
            return
        sleeper = (self._elapsed + seconds, asyncio.Event())
        self._sleepers.append(sleeper)
        self._someone_sleeps.set()
        try:
            await sleeper[1].wait()
        finally:
            self._sleepers.remove(sleeper)

    def advance(self, seconds: float) -> None:
        """Let time pass; everybody whose time has come wakes when the loop runs next."""
        self._elapsed += seconds
        for until, wake in self._sleepers:
            if until <= self._elapsed:
                wake.set()

    def set(self, now: datetime) -> None:
        """Set the hands; nobody wakes from it, as nobody does when a person corrects a clock."""
        self._start = now - timedelta(seconds=self._elapsed)

    async def sleeping(self, count: int = 1) -> None:
        """Return as soon as at least so many sleep at the same time."""
        while len(self._sleepers) < count:
            self._someone_sleeps.clear()
            await self._someone_sleeps.wait()
