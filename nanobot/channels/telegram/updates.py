"""Updates: asked for or received by webhook, and what a person said in each is on the bus when it is confirmed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from weakref import WeakValueDictionary

from telegram import Bot, Message, Update

from nanobot.channels.telegram.api import Api, Json, back_off
from nanobot.channels.telegram.callback_queries import CallbackQueries
from nanobot.channels.telegram.chats import ChatMembership, ChatMigrations
from nanobot.channels.telegram.messages import TelegramInbound
from nanobot.errors import StoreError
from nanobot.ports import Clock

log = logging.getLogger(__name__)

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
        """Close the album with its first outcome: handled, or failed."""
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


Work = Callable[[], Awaitable[None]]
IsPatient = Callable[[], bool]


_ENVELOPE = (
    "message_id", "date", "chat", "from", "sender_chat", "message_thread_id", "is_topic_message", "text", "entities",
    "caption", "caption_entities", "forward_origin", "via_bot",
)  # fmt: skip


def envelope(raw: Json, bot: Bot) -> Message | None:
    """Return who wrote an update where, though its content may be unreadable; None if nobody did."""
    message = raw.get("message")
    return Message.de_json({name: message[name] for name in _ENVELOPE if name in message}, bot) if message else None


def _without_reply(raw: Json) -> Json:
    name = "message" if "message" in raw else "edited_message"
    return {**raw, name: {key: part for key, part in raw[name].items() if key not in ("reply_to_message", "quote")}}


class Updates:
    """In order within a chat, chats side by side. What hits a bug is logged, its sender told, and the next goes on."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        hearing: TelegramInbound,
        queries: CallbackQueries,
        membership: ChatMembership,
        moved: ChatMigrations,
    ) -> None:
        """Messages go to `hearing`, presses of buttons to `queries`, the bot's own membership to `membership`."""
        self._api = api
        self._clock = clock
        self._hearing = hearing
        self._queries = queries
        self._membership = membership
        self._moved = moved
        self._albums = Albums(clock)
        self._orders: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    async def take(self, raw: Json, *, is_patient: IsPatient) -> bool:
        """Deal with an update; whether that was done.

        What cannot be stored is tried again until it can, while `is_patient`; otherwise this returns False at once,
        and the update has to be brought again.
        """
        try:
            await self._take(raw, is_patient)
        except StoreError as error:
            log.warning("telegram update %s cannot be stored: %s", raw["update_id"], error)
            return False
        except Exception:  # the boundary of an update: the others go on
            log.exception("telegram update %s could not be dealt with", raw["update_id"])
            return await self._apologized(raw, is_patient)
        return True

    async def to_keep(self, raw: Json) -> Json | None:
        """Return the part of an update that may be stored; None if nobody is to see it. Raises StoreError.

        The pictures of an album count together, as far as they have come. The words of a stranger to whom somebody
        replies in a group are left out.
        """
        try:
            update = Update.de_json(dict(raw), self._api.bot)
            message, hearing = update.message or update.edited_message, self._hearing
            if message is None:
                return raw
            if await hearing.admission(self._albums.with_others(message)) is None:
                return None
            return _without_reply(raw) if await hearing.hides_reply(message) else raw
        except StoreError:
            raise
        except Exception:  # noqa: BLE001  who takes it meets the same bug, and deals with it
            return None

    async def _take(self, raw: Json, patient: IsPatient) -> None:
        update = Update.de_json(dict(raw), self._api.bot)
        if (message := update.message) is not None:
            if message.media_group_id is not None:
                await self._album(message, patient)
            else:
                await self._in_order(message.chat_id, lambda: self._message(message), patient)
        elif (edited := update.edited_message) is not None:
            await self._in_order(edited.chat_id, lambda: self._hearing.edited(edited), patient)
        elif (press := update.callback_query) is not None:
            chat = press.message.chat.id if press.message else press.from_user.id
            await self._in_order(chat, lambda: self._queries.pressed(press), patient)
        elif (change := update.my_chat_member) is not None:
            await self._in_order(change.chat.id, lambda: self._membership.changed(change), patient)

    async def _message(self, message: Message) -> None:
        if message.migrate_to_chat_id is not None:
            await self._moved.learn(message.chat_id, message.migrate_to_chat_id)
        elif message.migrate_from_chat_id is not None:
            await self._moved.learn(message.migrate_from_chat_id, message.chat_id)
        else:
            await self._hearing.said([message])

    async def set_aside(self, raws: Sequence[Json], *, is_patient: IsPatient) -> bool:
        """Deal with a message, or an album, that ended the process while it was read; whether that was done."""
        return await self._told(raws, self._hearing.set_aside, is_patient)

    async def _apologized(self, raw: Json, patient: IsPatient) -> bool:
        """Tell whoever sent what hit a bug; whether that was done, as `take`."""
        return await self._told([raw], self._hearing.apologize, patient)

    async def _told(
        self, raws: Sequence[Json], tell: Callable[[Sequence[Message]], Awaitable[None]], patient: IsPatient
    ) -> bool:
        number = raws[0]["update_id"]
        try:
            messages = [message for raw in raws if (message := envelope(raw, self._api.bot)) is not None]
            if messages:
                await self._in_order(messages[0].chat_id, lambda: tell(messages), patient)
        except StoreError as error:
            log.warning("telegram update %s cannot be answered: %s", number, error)
            return False
        except Exception:  # a bug in what tells of bugs must not end it all
            log.exception("telegram update %s cannot be answered", number)
        return True

    async def _album(self, message: Message, patient: IsPatient) -> None:
        """The first picture to come waits for the others, and takes all of them; they wait for that."""
        album, is_first = self._albums.join(message)
        if not is_first:
            await album.dealt_with()
            return
        try:
            async with self._order(message.chat_id):
                items = await self._albums.complete(album)
                await self._kept(lambda: self._hearing.said(items), patient)
        except StoreError as error:
            album.over(error)
            raise
        finally:
            album.over()

    async def _in_order(self, chat: int, work: Work, patient: IsPatient) -> None:
        async with self._order(chat):
            await self._kept(work, patient)

    def _order(self, chat: int) -> asyncio.Lock:
        """Held by what is being dealt with in a chat; asyncio's locks are given in the order of asking."""
        lock = self._orders.get(chat)
        if lock is None:
            lock = self._orders[chat] = asyncio.Lock()
        return lock

    async def _kept(self, work: Work, patient: IsPatient) -> None:
        failed = 0
        while True:
            try:
                await work()
            except StoreError as error:
                if not patient():
                    raise
                failed += 1
                log.warning("what came from Telegram cannot be stored: %s; trying again", error)
                await self._clock.sleep(back_off(failed))
            else:
                return
