"""Work of the bot's own that nobody waits for."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from nanobot.first import first_of
from nanobot.memory.slot import Ask
from nanobot.ports import Clock, ModelInfo, Reply

PATIENCE = 120.0
"""Seconds that a piece of such work waits for a moment without turns; then it begins all the same."""

Work = Callable[[], Awaitable[object]]

log = logging.getLogger(__name__)


class Background:
    """Lets one piece of work ask a model at a time, and gives way to people who wait for an answer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turns = 0
        self._begun = 0  # turns that ever began
        self._yielding: asyncio.Future[Reply] | None = None
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
        self._begun += 1
        self._quiet.clear()
        if self._yielding:
            self._yielding.cancel()
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
        await first_of(self._quiet.wait(), self._clock.sleep(PATIENCE))

    async def rested(self, seconds: float) -> None:
        """Return when nobody has waited for an answer for so long."""
        begun = -1
        while begun != self._begun:
            await self._quiet.wait()
            begun = self._begun
            await self._clock.sleep(seconds)

    async def slot(self, model: ModelInfo, ask: Ask) -> Reply:
        """Ask a model: one piece of work at a time, which gives way before it begins.

        A model that answers one by one would keep whoever speaks meanwhile waiting: then it is asked anew afterwards.
        """
        async with self._slot:
            while True:
                await self.give_way()
                if not model.one_by_one:
                    return await ask()
                self._yielding = call = asyncio.ensure_future(ask())
                try:
                    await asyncio.wait([call])
                finally:
                    self._yielding = None
                    call.cancel()
                    await asyncio.wait([call])
                if not call.cancelled():
                    return call.result()

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
