"""Groups that became supergroups: Telegram gives them a new id, their conversation keeps the old one."""

import logging

from nanobot.ports import Bookmarks

log = logging.getLogger(__name__)

_PREFIX = "telegram:moved:"


class Moved:
    """Which chat is which."""

    def __init__(self, bookmarks: Bookmarks) -> None:
        self._bookmarks = bookmarks
        self._now: dict[int, int] | None = None

    async def current(self, chat: int) -> int:
        """What the chat with this id is called now."""
        now = await self._known()
        return now.get(chat, chat)

    async def original(self, chat: int) -> int:
        """What the chat with this id was called at first."""
        return next((old for old, new in (await self._known()).items() if new == chat), chat)

    async def learn(self, old: int, new: int) -> None:
        """A chat has moved. Raises StoreError; then nothing was learnt."""
        now = await self._known()
        first = await self.original(old)
        if now.get(first) == new:
            return
        await self._bookmarks.mark(f"{_PREFIX}{first}", str(new))
        now[first] = new
        log.info("telegram:%s is now the supergroup %s", first, new)

    async def _known(self) -> dict[int, int]:
        if self._now is None:
            marks = await self._bookmarks.marks(_PREFIX)
            self._now = {int(key.removeprefix(_PREFIX)): int(value) for key, value in marks.items()}
        return self._now
