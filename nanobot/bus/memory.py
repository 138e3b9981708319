"""A bus in memory: what it holds is lost with the process."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from nanobot.messages import InboundMessage, OutboundMessage, Progress

REMEMBERED = 1000
"""Ids of messages by which a repeated delivery is recognised."""


class MemoryBus:
    """The Bus for a single terminal, where the person sees at once what got lost."""

    is_durable = False

    def __init__(self) -> None:
        self._inbound: asyncio.Queue[InboundMessage] = asyncio.Queue()
        self._outgoing: asyncio.Queue[OutboundMessage | Progress] = asyncio.Queue()
        self._known: OrderedDict[str, None] = OrderedDict()

    async def publish(self, message: InboundMessage) -> None:
        if message.id not in self._known:
            self._known[message.id] = None
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
            await self._inbound.put(message)

    async def receive(self) -> InboundMessage:
        return await self._inbound.get()

    async def begin(self, message: InboundMessage) -> int:
        return 0

    async def finish(self, done: Sequence[InboundMessage], answer: OutboundMessage | None) -> None:
        if answer is not None:
            await self._outgoing.put(answer)

    async def send(self, message: OutboundMessage) -> None:
        await self._outgoing.put(message)

    def show(self, progress: Progress) -> None:
        self._outgoing.put_nowait(progress)

    async def outgoing(self) -> OutboundMessage | Progress:
        return await self._outgoing.get()
