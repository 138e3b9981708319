"""Waiting for a disk that cannot be written, because it is full most often: what was said must not get lost."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from nanobot.errors import StoreError
from nanobot.messages import InboundMessage, OutboundMessage, Progress
from nanobot.ports import Bus, Clock

T = TypeVar("T")

Standing = Callable[[InboundMessage], InboundMessage | None]
"""A message with the authority that its sender has by now; None if they may not talk any more."""

PAUSE = 10.0
"""Seconds after which is tried again what could not be written."""

log = logging.getLogger(__name__)


class PatientBus:
    """A Bus whose messages are received, begun and finished as soon as the disk allows.

    `publish` and `send` still raise StoreError: whoever calls them knows better what to do.
    """

    def __init__(self, bus: Bus, clock: Clock, standing: Standing = lambda message: message) -> None:
        """Without `standing`, whoever could write is served, however long it waited."""
        self._bus = bus
        self.as_of_now = standing
        self.clock = clock
        self._troubles: dict[object, str] = {}  # of each that waits

    @property
    def trouble(self) -> str:
        """Why it waits just now, in a sentence; "" if it does not."""
        return next(reversed(self._troubles.values()), "")

    @property
    def is_durable(self) -> bool:
        return self._bus.is_durable

    async def publish(self, message: InboundMessage) -> None:
        await self._bus.publish(message)

    async def receive(self) -> InboundMessage:
        return await self.patiently(self._bus.receive)

    async def begin(self, message: InboundMessage) -> int:
        return await self.patiently(lambda: self._bus.begin(message))

    async def begin_if_possible(self, message: InboundMessage) -> int:
        """The same for what must not wait for the disk; 0 as long as that is full."""
        with suppress(StoreError):
            return await self._bus.begin(message)
        return 0

    async def rest(self, session: str) -> None:
        """What cannot be noted costs at most a place of its own for a turn."""
        with suppress(StoreError):
            await self._bus.rest(session)

    async def resume(self, session: str) -> None:
        with suppress(StoreError):
            await self._bus.resume(session)

    def is_suspect(self, message: InboundMessage) -> bool:
        return self._bus.is_suspect(message)

    async def finish(self, done: Sequence[InboundMessage], answer: OutboundMessage | None) -> None:
        await self.patiently(lambda: self._bus.finish(done, answer))

    async def send(self, message: OutboundMessage) -> None:
        await self._bus.send(message)

    def is_underway(self, message_id: str) -> bool:
        return self._bus.is_underway(message_id)

    def show(self, progress: Progress) -> None:
        self._bus.show(progress)

    async def patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it, as often as it takes, or until cancelled. A work that raises StoreError has done nothing."""
        waiter = object()
        try:
            while True:
                try:
                    return await work()
                except StoreError as error:
                    log.error("%s; tried again in %.0f s", str(error).rstrip("."), PAUSE)  # noqa: TRY400 - it says all
                    self._troubles[waiter] = str(error)
                    await self.clock.sleep(PAUSE)
        finally:
            self._troubles.pop(waiter, None)
