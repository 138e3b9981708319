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
        self._came: OrderedDict[str, None] = OrderedDict()
        self._sent: OrderedDict[str, None] = OrderedDict()
        self._underway: set[str] = set()

    async def publish(self, message: InboundMessage) -> None:
        if _is_new(message.id, self._came):
            await self._inbound.put(message)

    async def receive(self) -> InboundMessage:
        return await self._inbound.get()

    async def begin(self, message: InboundMessage) -> int:
        return 0

    async def rest(self, session: str) -> None:
        """Nobody asks, after a death."""

    async def resume(self, session: str) -> None:
        """As `rest`."""

    def is_suspect(self, message: InboundMessage) -> bool:
        return False

    async def finish(self, done: Sequence[InboundMessage], answer: OutboundMessage | None) -> None:
        if answer is not None:
            await self.send(answer)

    async def send(self, message: OutboundMessage) -> None:
        if _is_new(message.id, self._sent):
            self._underway.add(message.id)
            await self._outgoing.put(message)

    def is_underway(self, message_id: str) -> bool:
        return message_id in self._underway

    def hold(self, message_id: str) -> None:
        """The message waits to be shown by whoever took it from `outgoing`: it is underway until `release`."""
        self._underway.add(message_id)

    def release(self, message_id: str) -> None:
        """The message is shown now."""
        self._underway.discard(message_id)

    def show(self, progress: Progress) -> None:
        self._outgoing.put_nowait(progress)

    async def all_taken(self) -> None:
        """Returns when whoever asks for what goes out has all of it."""
        await self._outgoing.join()

    async def outgoing(self) -> OutboundMessage | Progress:
        item = await self._outgoing.get()
        self._outgoing.task_done()
        if isinstance(item, OutboundMessage):
            self._underway.discard(item.id)
        return item


def _is_new(message_id: str, known: OrderedDict[str, None]) -> bool:
    """True if this id did not come before; from now on it did."""
    if message_id in known:
        return False
    known[message_id] = None
    if len(known) > REMEMBERED:
        known.popitem(last=False)
    return True
