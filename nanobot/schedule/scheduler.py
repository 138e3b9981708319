"""Runs the program's own jobs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from importlib import import_module
from typing import TYPE_CHECKING

from nanobot.errors import StoreError
from nanobot.ports import Clock, Cron, JobTimes, When
from nanobot.schedule.triggers import check, next_time

if TYPE_CHECKING:
    from apscheduler.schedulers.asyncio import AsyncIOScheduler

log = logging.getLogger(__name__)

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
