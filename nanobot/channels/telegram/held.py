"""Updates that Telegram counts as received and that still wait for others: kept on disk meanwhile."""

import json

from nanobot.channels.telegram.api import Json
from nanobot.ports import Bookmarks

_PREFIX = "telegram:held:"


class Held:
    """Raw updates, by their number."""

    def __init__(self, bookmarks: Bookmarks) -> None:
        self._bookmarks = bookmarks
        self._numbers: set[int] = set()

    async def left(self) -> list[Json]:
        """What an earlier process held, in the order in which it came."""
        marks = await self._bookmarks.marks(_PREFIX)
        updates: list[Json] = sorted(map(json.loads, marks.values()), key=lambda update: int(update["update_id"]))
        self._numbers.update(update["update_id"] for update in updates)
        return updates

    async def hold(self, update: Json) -> None:
        """Keep an update, durably. Raises StoreError."""
        await self._bookmarks.mark(f"{_PREFIX}{update['update_id']}", json.dumps(update))
        self._numbers.add(update["update_id"])

    async def release(self, number: int) -> None:
        """It is dealt with. Raises StoreError."""
        if number in self._numbers:
            await self._bookmarks.mark(f"{_PREFIX}{number}", "")
            self._numbers.discard(number)
