"""A bus in memory: what it holds is lost with the process."""

import asyncio
from collections.abc import Sequence

from nanobot.messages import InboundMessage, OutboundMessage, Progress


class MemoryBus:
    """The Bus for a single terminal, where the person sees at once what got lost."""

    def __init__(self) -> None:
        self._inbound: asyncio.Queue[InboundMessage] = asyncio.Queue()
        self._outgoing: asyncio.Queue[OutboundMessage | Progress] = asyncio.Queue()
        self._unfinished: set[str] = set()

    async def publish(self, message: InboundMessage) -> None:
        if message.id not in self._unfinished:
            self._unfinished.add(message.id)
            await self._inbound.put(message)

    async def receive(self) -> InboundMessage:
        return await self._inbound.get()

    async def finish(self, done: Sequence[InboundMessage], answer: OutboundMessage | None) -> None:
        self._unfinished.difference_update(message.id for message in done)
        if answer is not None:
            await self._outgoing.put(answer)

    async def send(self, message: OutboundMessage) -> None:
        await self._outgoing.put(message)

    def show(self, progress: Progress) -> None:
        self._outgoing.put_nowait(progress)

    async def outgoing(self) -> OutboundMessage | Progress:
        return await self._outgoing.get()
