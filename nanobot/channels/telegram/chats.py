"""Chats on Telegram: who speaks where, groups that become supergroups, and where the bot is a member."""

import logging

from telegram import Chat, ChatMemberUpdated, Message, User

from nanobot.channels.registry import ChannelServices
from nanobot.channels.telegram.settings import NAME
from nanobot.i18n import say
from nanobot.messages import Address, OutboundMessage, Sender
from nanobot.ports import Bookmarks

# Senders and addresses.


_LONGEST_NAME = 64


def sender_of(message: Message) -> Sender:
    """A person, or the chat in whose name somebody speaks (see `speaks_for_chat`)."""
    if message.sender_chat is not None:
        return Sender(str(message.sender_chat.id), plain_name(message.sender_chat.effective_name or ""))
    return person(message.from_user) if message.from_user else Sender("")


def person(user: User) -> Sender:
    """A person, as they call themselves."""
    return Sender(str(user.id), plain_name(user.full_name))


def is_nobody(message: Message) -> bool:
    """True if no person can be told: anonymous admins, a linked channel, other bots."""
    return message.sender_chat is not None or message.from_user is None or message.from_user.is_bot


def topic_of(message: Message) -> str | None:
    """The topic, if it is one: in plain groups a chain of replies carries a thread's number, too."""
    return str(message.message_thread_id) if message.is_topic_message and message.message_thread_id else None


def address(chat: int, message: Message) -> Address:
    """Return the address of a message; `chat` is the id that the chat had at first."""
    return Address(NAME, str(chat), topic_of(message))


def is_private(message: Message) -> bool:
    return message.chat.type == message.chat.PRIVATE


def plain_name(name: str) -> str:
    """A name that people gave themselves, in one line."""
    return " ".join("".join(char if char.isprintable() else " " for char in name).split())[:_LONGEST_NAME]


# Migration and membership.


log = logging.getLogger(__name__)

_PREFIX = "telegram:moved:"


class ChatMigrations:
    """Chat migrations: first and current ids of chats."""

    def __init__(self, bookmarks: Bookmarks) -> None:
        self._bookmarks = bookmarks
        self._now: dict[int, int] | None = None

    async def current(self, chat: int) -> int:
        """Return the current id of a chat."""
        now = await self._known()
        return now.get(chat, chat)

    async def original(self, chat: int) -> int:
        """Return the id that a chat had at first."""
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

    def __init__(self, services: ChannelServices, moved: ChatMigrations) -> None:
        self._services = services
        self._moved = moved

    async def changed(self, change: ChatMemberUpdated) -> None:
        """The bot's own membership has changed. Raises StoreError."""
        before, now = change.old_chat_member.status, change.new_chat_member.status
        log.info("telegram:%s: %s made the bot %s (was %s)", change.chat.id, change.from_user.id, now, before)
        if change.chat.type not in _GROUPS or before not in _OUTSIDE or now in _OUTSIDE:
            return
        where = Address(NAME, str(await self._moved.original(change.chat.id)))
        text = say("telegram.hello", self._services.language(where))
        hello = f"{NAME}:{change.chat.id}:hello:{int(change.date.timestamp())}"
        await self._services.notify(OutboundMessage(id=hello, address=where, text=text, kind="notice"))
