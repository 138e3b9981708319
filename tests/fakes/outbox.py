"""An outbox in memory that outlives the process of a test."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field

from nanobot.messages import Address, OutboundMessage, Progress
from nanobot.ports import Clock, Delivery
from tests.fakes.life import Life


@dataclass
class Row:
    message: OutboundMessage
    parts: list[str] = field(default_factory=list)
    is_attempting: bool = False
    attempts: int = 0
    due: float = 0.0
    is_out: bool = False  # handed out in this life


class FakeOutbox:
    """What `delivered`, `failed` and `postponed` said stays to be seen. Between two lives, call `end`."""

    def __init__(self, clock: Clock) -> None:
        self.life = Life()
        self.delivered_ids: list[str] = []
        self.reasons: dict[str, str] = {}
        self.postponements: list[float] = []
        self.previews: dict[str, list[str | None]] = {}
        self.places: dict[str, str] = {}  # of the questions that hold up a turn
        self.errors: list[Exception] = []  # the next writes raise these
        self._clock = clock
        self._items: list[Row | Progress] = []
        self._changed = asyncio.Event()

    @property
    def waiting(self) -> list[str]:
        return [item.message.id for item in self._items if isinstance(item, Row)]

    def put(self, *items: OutboundMessage | Progress) -> None:
        self._items += [Row(item) if isinstance(item, OutboundMessage) else item for item in items]
        self._changed.set()

    def end(self) -> None:
        """The process has ended; what was not durable is lost."""
        self._items = [item for item in self._items if isinstance(item, Row)]

    def take_back(self, channel: str) -> None:
        for item in self._items:
            if isinstance(item, Row):
                item.is_out = False

    async def outgoing(self, channel: str) -> Delivery | Progress:
        while True:
            self._changed.clear()
            if (item := self._next()) is None:
                await self._change()
            elif isinstance(item, Progress):
                self._items.remove(item)
                return item
            else:
                item.is_out = True
                return self._delivery(item)

    async def attempting(self, message_id: str) -> None:
        self._begin()
        self._row(message_id).is_attempting = True
        self.life.step()

    async def arrived(self, message_id: str, platform_id: str) -> None:
        self._begin()
        row = self._row(message_id)
        row.parts.append(platform_id)
        row.is_attempting = False
        self.life.step()

    async def previewing(self, turn: str, address: Address) -> None:
        self._begin()
        self.previews.setdefault(turn, []).append(None)
        self.life.step()

    async def previewed(self, turn: str, platform_id: str | None) -> None:
        self._begin()
        previews = self.previews[turn]
        number = previews.index(None)
        previews[number : number + 1] = [] if platform_id is None else [platform_id]
        self.life.step()

    async def kept(self, turn: str, platform_ids: Collection[str]) -> None:
        self._begin()
        self.previews[turn] = [name for name in self.previews.get(turn, []) if name not in platform_ids]
        self.life.step()

    async def delivered(self, message_id: str) -> None:
        self._begin()
        self._remove(message_id)
        self.delivered_ids.append(message_id)
        self.life.step()

    async def failed(self, message_id: str, reason: str) -> None:
        self._begin()
        self._remove(message_id)
        self.reasons[message_id] = reason
        self.life.step()

    async def postponed(self, message_id: str, seconds: float, reason: str, *, may_have_arrived: bool = False) -> None:
        self._begin()
        row = self._row(message_id)
        row.is_attempting, row.attempts, row.is_out = may_have_arrived, row.attempts + 1, False
        row.due = self._clock.monotonic() + seconds
        self.postponements.append(seconds)
        self._changed.set()
        self.life.step()

    def _begin(self) -> None:
        self.life.step()
        if self.errors:
            raise self.errors.pop(0)

    def _next(self) -> Row | Progress | None:
        held: set[Address] = set()
        ahead: set[Address] = set()
        for item in self._items:
            if isinstance(item, Progress):
                if item.address not in ahead:
                    return item
                continue
            address = item.message.address
            if address in held:
                ahead.add(address)
            elif item.is_out or item.due > self._clock.monotonic():
                held.add(address)
            else:
                return item
        return None

    async def _change(self) -> None:
        dues = [item.due for item in self._items if isinstance(item, Row) and not item.is_out]
        later = [due for due in dues if due > self._clock.monotonic()]
        waits: list[asyncio.Task[object]] = [asyncio.create_task(self._changed.wait())]
        if later:
            waits.append(asyncio.create_task(self._clock.sleep(min(later) - self._clock.monotonic())))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _delivery(self, row: Row) -> Delivery:
        previews = self.previews.get(row.message.turn or "", [])
        return Delivery(
            message=row.message,
            parts=tuple(row.parts),
            previews=[name for name in previews if name is not None],
            is_uncertain=row.is_attempting or (None in previews and not row.parts),
            attempts=row.attempts,
            place=self.places.get(row.message.settles or "", ""),
        )

    def _row(self, message_id: str) -> Row:
        rows = (item for item in self._items if isinstance(item, Row))
        return next(row for row in rows if row.message.id == message_id)

    def _remove(self, message_id: str) -> None:
        row = self._row(message_id)
        if row.message.holds_up_a_turn and row.parts:
            self.places[row.message.id] = row.parts[-1]
        self._items.remove(row)
        self.previews.pop(row.message.turn or "", None)
        self._changed.set()
