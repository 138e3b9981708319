"""The bot is added to groups, and removed."""

import logging

from telegram import Chat, ChatMemberUpdated

from nanobot.channels.telegram.moved import Moved
from nanobot.channels.telegram.settings import NAME, House
from nanobot.i18n import say
from nanobot.messages import Address, OutboundMessage

log = logging.getLogger(__name__)

_OUTSIDE = ("left", "kicked")
_GROUPS = (Chat.GROUP, Chat.SUPERGROUP)


class Joining:
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
