"""A disk that is full for a while ends nothing, and nothing is lost by it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.bus.memory import MemoryBus
from nanobot.core.dispatcher import PAUSE, PatientBus
from nanobot.errors import StoreError
from nanobot.messages import InboundMessage, OutboundMessage, Sender
from tests.fakes.bot import ADDRESS, Bot
from tests.fakes.clock import FakeClock
from tests.fakes.llm import ScriptedLLM, says


class FullDisk(MemoryBus):
    """Nothing of a message can be written while it is full."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = True
        self.refused = 0

    def _check(self) -> None:
        if self.is_full:
            self.refused += 1
            raise StoreError("the spool could not be written: No space left on device.")

    async def receive(self) -> InboundMessage:
        self._check()
        return await super().receive()

    async def begin(self, message: InboundMessage) -> int:
        self._check()
        return await super().begin(message)

    async def finish(self, done: Sequence[InboundMessage], answer: OutboundMessage | None) -> None:
        self._check()
        await super().finish(done, answer)


async def test_while_the_disk_is_full_messages_wait_and_afterwards_they_are_answered(tmp_path: Path) -> None:
    disk = FullDisk()
    async with Bot(tmp_path, ScriptedLLM(says("Here I am.")), bus=disk).running() as bot:
        await bot.say("hello?")
        for count in range(1, 4):
            async with asyncio.timeout(120):
                while disk.refused < count or not bot.clock.slept[count - 1 :]:  # noqa: ASYNC110  nobody tells of it
                    await asyncio.sleep(0)
            assert "No space left" in bot.dispatcher.trouble
            if count == 3:
                disk.is_full = False
            bot.clock.advance(PAUSE)
        async with asyncio.timeout(120):
            while not isinstance(answer := await disk.outgoing(), OutboundMessage):
                pass

    assert answer.text == "Here I am."
    assert not bot.dispatcher.trouble


async def test_as_long_as_anything_waits_for_the_disk_that_is_the_trouble() -> None:
    disk, clock = FullDisk(), FakeClock()
    bus = PatientBus(disk, clock)
    waiting = [
        asyncio.create_task(bus.finish([], None)),
        asyncio.create_task(bus.finish([], None)),
    ]
    await clock.sleeping(2)
    disk.is_full = False
    await bus.begin(InboundMessage(id="2", address=ADDRESS, sender=Sender("1"), authority=OWNER_IN_TERMINAL, text="hi"))
    assert "No space left" in bus.trouble
    clock.advance(PAUSE)
    await asyncio.gather(*waiting)
    assert not bus.trouble
