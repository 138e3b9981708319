"""Whoever waits for a line to change."""

import asyncio
from contextlib import suppress

from nanobot.bus.queue import DeliveryQueue
from nanobot.messages import Address, OutboundMessage
from tests.fakes.clock import FakeClock


async def test_of_two_who_wait_neither_takes_the_news_away_from_the_other() -> None:
    line, clock = DeliveryQueue(), FakeClock()
    one = asyncio.create_task(line.change(clock))
    await asyncio.sleep(0)
    line.add(OutboundMessage(id="1", address=Address("telegram", "7"), text="hi", kind="notice"))
    with suppress(TimeoutError):
        async with asyncio.timeout(0):
            await line.change(clock)  # begins to wait before the first one wakes
    async with asyncio.timeout(120):
        await one
