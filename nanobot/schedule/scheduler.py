"""The scheduler: the clock, the program's own jobs, and when each begins next."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from tzlocal import get_localzone

from nanobot.errors import ConfigError, StoreError
from nanobot.ports import Clock, Cron, Every, JobTimes, When

if TYPE_CHECKING:
    from apscheduler.schedulers.asyncio import AsyncIOScheduler


# Clock.


log = logging.getLogger(__name__)


class SystemClock:
    """Real time, told in one zone. `now().tzinfo` is that zone, not what it is off by today: other days differ."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        """`zone` is the person's time zone; without one the machine's is used."""
        self._told = zone

    def now(self) -> datetime:
        return datetime.now().astimezone(self._zone)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    @cached_property
    def _zone(self) -> tzinfo | None:
        if self._told is not None:
            return self._told
        try:
            return get_localzone()
        except (KeyError, ValueError, OSError) as error:  # a TZ such as EST5EDT4, a broken /etc/localtime
            log.warning("The machine's time zone has no name that is known: %s; set `timezone` in config.yaml", error)
            return None if time.timezone or time.daylight else UTC  # what the C library does not know, it tells so


# Times of jobs.


_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def check(when: When) -> None:
    """Raises ConfigError for a rule that cannot be read, or never comes true."""
    if isinstance(when, Cron):
        _after(when.rule, datetime(2026, 1, 1, tzinfo=UTC))


def next_time(when: When, last: datetime | None, now: datetime, zone: tzinfo) -> datetime:
    """Return when a job begins next, given when it last began; a past moment means at once.

    One that never ran begins at once if it runs every so often, and at the next moment of its rule otherwise.
    """
    now = now.astimezone(UTC)  # in one zone Python compares what the clocks show, and they show one hour twice
    last = last.astimezone(UTC) if last is not None else None
    if isinstance(when, Every):
        if last is None or last > now:  # a clock that was set back must not silence a job
            return now
        return last + timedelta(seconds=when.seconds)
    begun = last if last is not None and last <= now else now
    return _after(when.rule, begun.astimezone(zone)).astimezone(UTC)


@lru_cache(maxsize=64)
def _after(rule: str, moment: datetime) -> datetime:
    from cronsim import CronSim, CronSimError  # 5 ms to import: only who has a rule pays for it

    fields = _NAMED.get(rule.strip().lower(), rule)
    if len(fields.split()) != 5:  # it knows seconds as a sixth; people would take them for minutes
        raise ConfigError(f'"{rule}" is no rule of five fields, such as "30 3 * * *".')
    try:
        return next(CronSim(fields, moment))
    except CronSimError as error:
        raise ConfigError(f'"{rule}" cannot be read as in a crontab: {error}.') from error
    except StopIteration:
        raise ConfigError(f'"{rule}" never comes true.') from None


# Scheduler.


_TIMERS = "apscheduler.schedulers.asyncio"

_SOON = timedelta(seconds=1)
"""What is overdue at the start begins after that: the start itself comes first."""


@dataclass(frozen=True, slots=True)
class _Job:
    when: When
    work: Callable[[], Awaitable[None]]


class Scheduler:
    """The Schedule on APScheduler: it holds the timers, what is due when is worked out here.

    Each job is a single date for APScheduler, given anew when it has run: its own rules count weekdays from
    Monday, and run what falls into the autumn hour twice.
    """

    def __init__(self, times: JobTimes, clock: Clock, zone: tzinfo | None) -> None:
        """`times` keeps when each job last began; without a `zone` it is the clock's."""
        self._times = times
        self._clock = clock
        self._zone = zone
        self._jobs: dict[str, _Job] = {}
        self._timers: AsyncIOScheduler | None = None
        self._running: asyncio.TaskGroup

    def add(self, name: str, when: When, work: Callable[[], Awaitable[None]]) -> None:
        check(when)
        self._jobs[name] = _Job(when, work)
        self._set_timer(name)

    def next(self, name: str, after: datetime | None = None) -> datetime | None:
        if name not in self._jobs or self._timers is None:
            return None
        due = max(self._due(name), self._clock.now().astimezone(UTC))
        while after is not None and due < after:
            due = next_time(self._jobs[name].when, due, due, self._local())
        return due.astimezone(self._local())

    async def run(self) -> None:
        await asyncio.to_thread(import_module, _TIMERS)  # it takes a tenth of a second, in which somebody may be typing
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        async with asyncio.TaskGroup() as self._running:
            self._timers = AsyncIOScheduler(timezone=self._local())
            self._timers.start()
            try:
                await self._know_all()
                for name in self._jobs:
                    self._set_timer(name)
                await asyncio.Event().wait()
            finally:
                self._timers.shutdown(wait=False)
                self._timers = None

    async def _know_all(self) -> None:
        """A rule counts from when it was first known: else one that is missed each day would never be overdue."""
        for name, job in self._jobs.items():
            if isinstance(job.when, Cron) and self._times.last(name) is None:
                await self._note(name)

    def _set_timer(self, name: str) -> None:
        if self._timers is not None:
            at = max(self._due(name), self._clock.now().astimezone(UTC) + _SOON)
            self._timers.add_job(
                self._begin, "date", run_date=at, args=(name,), id=name, misfire_grace_time=None, replace_existing=True
            )

    async def _begin(self, name: str) -> None:
        if self._timers is not None:  # else the end came between the timer and this
            self._running.create_task(self._work_and_wait(name), name=f"job {name}")

    async def _work_and_wait(self, name: str) -> None:
        await self._work(name)
        self._set_timer(name)

    async def _work(self, name: str) -> None:
        log.debug("job %s begins", name)
        await self._note(name)
        try:
            await self._jobs[name].work()
        except Exception:  # the boundary of a job
            log.exception("job %s failed", name)

    async def _note(self, name: str) -> None:
        try:
            await self._times.note(name, self._clock.now())
        except StoreError as error:
            log.warning("job %s: %s; after a restart it may begin too early", name, error)

    def _due(self, name: str) -> datetime:
        return next_time(self._jobs[name].when, self._times.last(name), self._clock.now(), self._local())

    def _local(self) -> tzinfo:
        return self._zone or self._clock.now().tzinfo or UTC
