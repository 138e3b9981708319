"""Work of the bot's own that nobody waits for."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from nanobot.ports import Clock

PATIENCE = 120.0
"""Seconds that a piece of such work waits for a moment without turns; then it begins all the same."""

Work = Callable[[], Awaitable[object]]

log = logging.getLogger(__name__)


class Background:
    """Lets one piece of work ask a model at a time, and gives way to people who wait for an answer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turns = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._slot = asyncio.Lock()
        self._waiting: dict[str, Work] = {}
        self._some_waits = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While this lasts, somebody waits for an answer."""
        self._turns += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._turns -= 1
            if not self._turns:
                self._quiet.set()

    async def give_way(self) -> None:
        """Return when nobody waits for an answer, or after PATIENCE."""
        if self._quiet.is_set():
            return
        waits = [asyncio.ensure_future(self._quiet.wait()), asyncio.ensure_future(self._clock.sleep(PATIENCE))]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.wait(waits)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Where a model is asked: one at a time, and it gives way before it begins."""
        async with self._slot:
            await self.give_way()
            yield

    def start(self, name: str, work: Work) -> None:
        """Have work done by `run`, one after the other; what still waits under the same name is replaced."""
        self._waiting[name] = work
        self._idle.clear()
        self._some_waits.set()

    async def idle(self) -> None:
        """Return when nothing is at work and nothing waits."""
        await self._idle.wait()

    async def run(self) -> None:
        """Do what is started, until cancelled. What then waits is not done: whoever starts work finds it again."""
        while True:
            await self._some_waits.wait()
            name = next(iter(self._waiting))
            work = self._waiting.pop(name)
            try:
                await work()
            except Exception:  # the boundary of a piece of work
                log.exception("%s failed", name)
            if not self._waiting:
                self._some_waits.clear()
                self._idle.set()
