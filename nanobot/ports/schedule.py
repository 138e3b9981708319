"""Time, and what the program does by itself when it has come."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time, so that tests can own it."""

    def now(self) -> datetime:
        """The local time, with its zone."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever grow."""
        ...

    async def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Every:
    """Again and again, so many seconds after it last began; at once if that is past."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cron:
    """Rule of five fields, as in a crontab, in the local zone; a missed time is made up for at once.

    In the spring night what falls into the hour that is left out runs right after it; in the autumn night what falls
    into the hour that comes twice runs once.
    """

    rule: str


When = Every | Cron


class JobTimes(Protocol):
    """Remembers when each job last began."""

    def last(self, name: str) -> datetime | None: ...

    async def note(self, name: str, at: datetime) -> None:
        """Note the start of a job. Raises StoreError; then it is known to this process only."""
        ...


class Schedule(Protocol):
    """Runs the program's own jobs, each by itself: one that fails or takes long holds up no other.

    When a job last began outlives the process. A job does not begin again while it runs.
    """

    def add(self, name: str, when: When, work: Callable[[], Awaitable[None]]) -> None:
        """A job under a name of its own. Raises ConfigError for a rule that cannot be read."""
        ...

    def next(self, name: str, after: datetime | None = None) -> datetime | None:
        """Return when a job begins next, or first at or `after` a moment.

        None if there is no such job, or nothing runs it.
        """
        ...

    async def run(self) -> None:
        """Run the jobs until cancelled; then those that run are cancelled, too."""
        ...
