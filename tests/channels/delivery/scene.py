"""A channel that delivers, on a clock that the test owns."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nanobot.channels.delivery.deliverer import Deliverer
from nanobot.channels.delivery.rate_limit import Pace
from nanobot.channels.telegram.settings import PACE
from nanobot.messages import Address, OutboundMessage, Progress, ProgressKind
from tests.fakes.clock import FakeClock
from tests.fakes.life import Killed, Life
from tests.fakes.outbox import FakeOutbox
from tests.fakes.platform import FakePlatform

ANN = Address("fake", "1")
BOB = Address("fake", "2")
TOPIC = Address("fake", "1", "7")
GROUP = Address("fake", "-100")

TURNS = 60
"""Rounds of the event loop in which everything that can happen without time passing has happened."""


def say(text: str, at: Address = ANN, *, name: str = "m1", turn: str | None = None) -> OutboundMessage:
    return OutboundMessage(id=name, address=at, text=text, turn=turn)


def progress(kind: ProgressKind, text: str = "", at: Address = ANN, turn: str = "t1") -> Progress:
    return Progress(address=at, turn=turn, kind=kind, text=text)


class Scene:
    """Put things into the `outbox`, let time `pass_`, look at the `platform`."""

    def __init__(self, *, can_find: bool = False, streaming: bool = True, pace: Pace = PACE) -> None:
        self.clock = FakeClock()
        self.outbox = FakeOutbox(self.clock)
        self.platform = FakePlatform(self.clock, can_find=can_find)
        self.deliverer: Deliverer
        self._streaming = streaming
        self._pace = pace

    @asynccontextmanager
    async def running(self, again: Deliverer | None = None, *, life: Life | None = None) -> AsyncIterator[None]:
        """A process; afterwards it is cancelled, or was killed if its life ended before."""
        self.outbox.life = self.platform.life = life or Life()
        self.deliverer = again or Deliverer(
            self.outbox,
            self.platform,
            self.clock,
            pace=self._pace,
            streaming=self._streaming,
            language=lambda address: "en",
        )
        task = asyncio.create_task(self.deliverer.run())
        try:
            yield
        finally:
            task.cancel()
            await self._end(task)
            self.outbox.end()

    async def pass_(self, seconds: float = 0.0, *, step: float = 0.5) -> None:
        """Let time pass, and everything happen that happens in it."""
        await settle()
        while seconds > 1e-9:
            self.clock.advance(min(step, seconds))
            seconds -= step
            await settle()

    async def _end(self, task: asyncio.Task[None]) -> None:
        for _ in range(1000):
            await asyncio.wait([task], timeout=0)
            if task.done():
                break
            await self.pass_(0.5)
        if not task.cancelled() and (error := task.exception()) is not None:
            assert isinstance(error, BaseExceptionGroup)
            _, others = error.split(Killed)
            if others:
                raise others


async def settle() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)
