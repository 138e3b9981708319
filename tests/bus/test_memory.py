"""The bus in memory."""

import pytest

from nanobot.bus.memory import REMEMBERED, MemoryBus
from nanobot.messages import OutboundMessage, Progress
from nanobot.ports import Bus
from tests.contracts.bus import BusContract, said


class TestMemoryBus(BusContract):
    @pytest.fixture
    def bus(self) -> Bus:
        return MemoryBus()

    async def outgoing(self, bus: Bus) -> OutboundMessage | Progress:
        assert isinstance(bus, MemoryBus)
        return await bus.outgoing()


async def test_it_remembers_a_thousand_ids_and_no_more() -> None:
    bus = MemoryBus()
    for number in range(REMEMBERED + 1):
        await bus.publish(said(str(number)))
        await bus.receive()
    await bus.publish(said("1"))  # known
    await bus.publish(said("0"))
    assert (await bus.receive()).text == "0"
    assert not bus.is_durable
