"""The order in which what waits on one channel is delivered."""

import asyncio
from collections import deque
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from itertools import count

from nanobot.aio import first_of
from nanobot.messages import Address, OutboundMessage, Progress
from nanobot.ports import Clock

MOST_PROGRESS = 1000
"""Pieces of progress that wait for one address; of more, the oldest are dropped."""


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """A place in the line: of the message with this id, or of a progress."""

    number: int
    address: Address
    item: str | Progress


@dataclass(slots=True)
class _Queue:
    """Queue of one address. `held` was handed out; it may be handed out again from `due` on, if that is set."""

    places: deque[QueuePlace] = field(default_factory=deque)
    progress: int = 0
    held: QueuePlace | None = None
    due: float | None = None

    def head(self, now: float) -> QueuePlace | None:
        """Return the next item to hand out.

        A progress waits until the messages before it are handed out, not delivered.
        """
        if self.held is not None and self.due is not None and self.due <= now:
            return self.held
        first = self.places[0] if self.places else None
        return first if first and (self.held is None or isinstance(first.item, Progress)) else None

    def is_quiet(self, now: float) -> bool:
        if self.held is not None:
            return self.due is not None and self.due > now
        return all(isinstance(place.item, Progress) for place in self.places)

    def hold(self, place: QueuePlace | None, due: float | None = None) -> None:
        self.held, self.due = place, due


class DeliveryQueue:
    """Messages by their ids and progress, in memory. Times are those of Clock.monotonic."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        """Held by whoever takes the next."""
        self._queues: dict[Address, _Queue] = {}
        self._numbers = count()
        self._changed = asyncio.Event()

    def add(self, message: OutboundMessage) -> None:
        self._append(QueuePlace(next(self._numbers), message.address, message.id))

    def restore(self, message: OutboundMessage, due: float) -> None:
        """Add one of an earlier process. Only the first of an address can have been postponed."""
        queue = self._queue(message.address)
        if queue.held is None and not queue.places:
            queue.hold(QueuePlace(next(self._numbers), message.address, message.id), due)
            self._change()
        else:
            self.add(message)

    def show(self, progress: Progress) -> None:
        queue = self._queue(progress.address)
        queue.progress += 1
        if queue.progress > MOST_PROGRESS:
            queue.places.remove(next(place for place in queue.places if isinstance(place.item, Progress)))
            queue.progress -= 1
        self._append(QueuePlace(next(self._numbers), progress.address, progress))

    def head(self, now: float) -> QueuePlace | None:
        """Return the item that has waited longest among those that may be handed out."""
        heads = (head for queue in self._queues.values() if (head := queue.head(now)))
        return min(heads, key=lambda place: place.number, default=None)

    def take(self, place: QueuePlace) -> bool:
        """Hand it out; a message then holds back those behind it. False if it does not wait any more."""
        queue = self._queues.get(place.address)
        if queue is None:
            return False
        if place is queue.held:
            queue.due = None
            return True
        if place not in queue.places:
            return False
        queue.places.remove(place)
        if isinstance(place.item, Progress):
            queue.progress -= 1
            self._drop_if_empty(place.address)
        else:
            queue.hold(place)
        return True

    def holds(self, message_id: str) -> bool:
        """True if a message is neither delivered nor given up."""
        places = (place for queue in self._queues.values() for place in (queue.held, *queue.places))
        return any(place is not None and place.item == message_id for place in places)

    def is_quiet(self, now: float, counts: Callable[[Address], bool]) -> bool:
        """True if no message to an address that counts is on its way, or could be at this time."""
        return all(queue.is_quiet(now) for address, queue in self._queues.items() if counts(address))

    def settle(self, message_id: str) -> None:
        """A message was delivered, or will never be."""
        for queue in self._holding(message_id):
            queue.hold(None)
            self._change()

    def settle_erased(self, left: Container[str]) -> None:
        """Postponed messages that are not `left` hold nothing up any more."""
        postponed = [queue.held.item for queue in self._queues.values() if queue.held and queue.due is not None]
        for item in postponed:
            if isinstance(item, str) and item not in left:
                self.settle(item)

    def postpone(self, message_id: str, due: float) -> None:
        for queue in self._holding(message_id):
            queue.due = due
            self._change()

    def take_back(self, now: float) -> None:
        """All that was handed out and not settled is handed out again."""
        for queue in self._queues.values():
            if queue.held is not None and queue.due is None:
                queue.due = now
        self._change()

    async def change(self, clock: Clock) -> None:
        """Wait until `head` may give something else than it gave just now."""
        dues = [queue.due for queue in self._queues.values() if queue.due is not None]
        if dues:
            await first_of(self._changed.wait(), clock.sleep(min(dues) - clock.monotonic()))
        else:
            await self._changed.wait()

    def _change(self) -> None:
        """Wake all who wait. Each change has an event of its own, so that no waiter takes it away from another."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _append(self, place: QueuePlace) -> None:
        self._queue(place.address).places.append(place)
        self._change()

    def _queue(self, address: Address) -> _Queue:
        return self._queues.setdefault(address, _Queue())

    def _holding(self, message_id: str) -> Iterator[_Queue]:
        """The queue in which this message was handed out, if any."""
        for address, queue in list(self._queues.items()):
            if queue.held is not None and queue.held.item == message_id:
                yield queue
                self._drop_if_empty(address)

    def _drop_if_empty(self, address: Address) -> None:
        queue = self._queues[address]
        if queue.held is None and not queue.places:
            del self._queues[address]
