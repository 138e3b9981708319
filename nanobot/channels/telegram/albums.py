"""Albums: Telegram brings their pictures one by one."""

import asyncio
from collections.abc import Sequence
from weakref import WeakValueDictionary

from telegram import Message

from nanobot.errors import StoreError
from nanobot.ports import Clock

WINDOW = 1.0
"""Seconds after the last picture, until an album counts as complete."""


class Album:
    """Pictures that belong together."""

    def __init__(self) -> None:
        self.items: list[Message] = []
        self.changed = 0.0
        self._over: asyncio.Future[StoreError | None] = asyncio.get_running_loop().create_future()

    async def dealt_with(self) -> None:
        """Return when whoever came first has dealt with all of it. Raises the StoreError that kept it from that."""
        if error := await asyncio.shield(self._over):
            raise error

    def over(self, error: StoreError | None = None) -> None:
        """It is dealt with, or could not be; what is said first counts."""
        if not self._over.done():
            self._over.set_result(error)


class Albums:
    """The albums that are arriving."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[tuple[int, str], Album] = {}
        self._known: WeakValueDictionary[tuple[int, str], Album] = WeakValueDictionary()  # being dealt with, too

    def join(self, message: Message) -> tuple[Album, bool]:
        """The album of a picture, and whether this is the first one of it to come."""
        key = message.chat_id, message.media_group_id or ""
        is_first = key not in self._open
        album = self._known[key] = self._open.setdefault(key, Album())
        album.items.append(message)
        album.changed = self._clock.monotonic()
        return album, is_first

    def with_others(self, message: Message) -> Sequence[Message]:
        """A message, with the pictures of its album that have come, until all of it is dealt with."""
        album = self._known.get((message.chat_id, message.media_group_id or ""))
        others = album.items if album else ()
        return [message, *(item for item in others if item.message_id != message.message_id)]

    async def complete(self, album: Album) -> Sequence[Message]:
        """Wait until no more pictures come; all of them, in the order in which they were sent."""
        while (left := album.changed + WINDOW - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        key = album.items[0].chat_id, album.items[0].media_group_id or ""
        self._open.pop(key, None)
        return sorted({item.message_id: item for item in album.items}.values(), key=lambda item: item.message_id)
