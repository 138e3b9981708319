"""What becomes of chats: groups become supergroups, and the bot is added to groups and removed."""

import logging

from telegram import Chat, ChatMemberUpdated

from nanobot.channels.telegram.ids import NAME
from nanobot.channels.telegram.settings import House
from nanobot.i18n import say
from nanobot.messages import Address, OutboundMessage
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


_OUTSIDE = ("left", "kicked")
_GROUPS = (Chat.GROUP, Chat.SUPERGROUP)


class ChatMembership:
    """Says hello where somebody added the bot, and how an owner lets the group in."""

    def __init__(self, house: House, moved: Moved) -> None:
        self._house = house
        self._moved = moved

    async def changed(self, change: ChatMemberUpdated) -> None:
        """The bot's own membership has changed. Raises StoreError."""
        before, now = change.old_chat_member.status, change.new_chat_member.status
        log.info("telegram:%s: %s made the bot %s (was %s)", change.chat.id, change.from_user.id, now, before)
        if change.chat.type not in _GROUPS or before not in _OUTSIDE or now in _OUTSIDE:
            return
        where = Address(NAME, str(await self._moved.original(change.chat.id)))
        text = say("telegram.hello", self._house.language(where))
        hello = f"{NAME}:{change.chat.id}:hello:{int(change.date.timestamp())}"
        await self._house.notify(OutboundMessage(id=hello, address=where, text=text, kind="notice"))
