"""Updates: asked for or received by webhook, and what a person said in each is on the bus when it is confirmed."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Self
from weakref import WeakValueDictionary

import msgspec
from telegram import Bot, Message, Update

from nanobot.channels.telegram.api import Api, Json, back_off
from nanobot.channels.telegram.callback_queries import CallbackQueries
from nanobot.channels.telegram.chats import ChatMembership, ChatMigrations
from nanobot.channels.telegram.messages import TelegramInbound
from nanobot.channels.telegram.settings import HELD
from nanobot.errors import StoreError
from nanobot.ports import Bookmarks, Clock

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


# Pending updates.


STORED_AFTER = 1.0
"""Seconds after which an update that is not dealt with is written down, so that Telegram need not bring it again."""

SUSPECT = 2
"""Deaths of the process while an update was read, after which it is read with nothing beside it."""

MOST_DEATHS = 3
"""Deaths after which it is set aside."""

_AT_WORK = "telegram:at_work"
_MOST_REMEMBERED = 200  # more than Telegram brings at once


class _AtWork(msgspec.Struct):
    """Updates being read, by their numbers, and the number of crashes each was part of."""

    numbers: list[int] = []
    alone: bool = False
    deaths: dict[int, int] = {}


class UpdateDeaths:
    """Counts how often the process died while an update was read: what is tried is on disk before it is tried.

    The rule is that of the bus (decision 40): of several nobody knows which it was, so that makes each no more than a
    suspect, and only what died alone is set aside.
    """

    def __init__(self, bookmarks: Bookmarks) -> None:
        self._bookmarks = bookmarks
        self._at_work = _AtWork()

    async def charge(self) -> None:
        """Count the end of the process before this one, if it did not end in order. Raises StoreError."""
        noted = (await self._bookmarks.marks(_AT_WORK)).get(_AT_WORK, "{}")
        try:
            self._at_work = msgspec.json.decode(noted, type=_AtWork)
        except msgspec.MsgspecError as error:
            log.warning("telegram: what was at work cannot be read: %s", error)
        work = self._at_work
        most = MOST_DEATHS + 1 if work.alone or len(work.numbers) == 1 else SUSPECT
        for number in work.numbers:
            before = work.deaths.get(number, 0)
            work.deaths[number] = max(before, min(before + 1, most))

    def of(self, number: int) -> int:
        """The deaths in which an update had a part."""
        return self._at_work.deaths.get(number, 0)

    def survived(self, number: int) -> None:
        """An update is dealt with."""
        self._at_work.deaths.pop(number, None)

    async def note(self, numbers: Collection[int], *, alone: bool = False) -> None:
        """Write down that these, and no others, are at work from now on; `alone`: as one, with nothing beside them."""
        deaths = dict(sorted(self._at_work.deaths.items())[-_MOST_REMEMBERED:])
        self._at_work = _AtWork(sorted(numbers), alone, deaths)
        try:
            await self._bookmarks.mark(_AT_WORK, msgspec.json.encode(self._at_work).decode())
        except StoreError as error:  # they are tried all the same: this is about a mishap on top of another
            log.warning("telegram: what is at work cannot be noted: %s", error)


class PendingUpdates:
    """Begins with each update once, however often it is brought meanwhile. Owns the work: leaving it cancels.

    An update that waits for a file, for speech that is transcribed, or behind such a one in its chat is written down
    after a moment: from then on Telegram counts it as received, and what others say is asked for. The next start
    takes it up again. What nobody may say is not written down, and needs not be brought again either.

    What ended the process twice is read alone, all others wait meanwhile; after a third time it is set aside.
    """

    def __init__(self, updates: Updates, bookmarks: Bookmarks, clock: Clock) -> None:
        self._updates = updates
        self._bookmarks = bookmarks
        self._clock = clock
        self._open: dict[int, asyncio.Task[bool]] = {}
        self._brought: dict[int, tuple[Json, float]] = {}
        self._stored: set[int] = set()
        self._received: set[int] = set()  # of the open ones, those that Telegram may forget
        self._deaths = UpdateDeaths(bookmarks)
        self._queue: dict[int, asyncio.Event] = {}  # those that are not tried yet; set when they may
        self._has_news = asyncio.Event()
        self._set_aside: dict[int, Sequence[Json]] = {}
        self._starting: asyncio.Task[None]

    async def __aenter__(self) -> Self:
        await self._deaths.charge()
        marks = await self._bookmarks.marks(HELD)
        updates: list[Json] = sorted(map(json.loads, marks.values()), key=lambda update: int(update["update_id"]))
        for update in updates:
            number = int(update["update_id"])
            self._stored.add(number)
            self._received.add(number)
            self.begin(update)
        self._starting = asyncio.create_task(self._start())
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [self._starting, *self._open.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._deaths.note(())  # an end in order is nobody's fault

    @property
    def unconfirmed(self) -> Collection[int]:
        """The numbers of those that only Telegram has."""
        return self._open.keys() - self._received

    @property
    def waiting(self) -> int:
        """Number of stored updates that are not dealt with yet."""
        return len(self._stored & self._open.keys())

    def begin(self, update: Json, *, patient: bool = True) -> asyncio.Task[bool]:
        """Deal with an update, unless that is under way; its task tells whether that was done.

        What cannot be stored is tried again until it can, if `patient`; otherwise the update has to be brought again,
        unless it was written down meanwhile.
        """
        number = int(update["update_id"])
        if number not in self._open:
            log.debug("telegram update %s received", number)
            self._brought[number] = update, self._clock.monotonic()
            self._queue[number] = asyncio.Event()
            self._has_news.set()
            self._open[number] = asyncio.create_task(self._deal(update, number, patient, self._queue[number]))
            self._open[number].add_done_callback(lambda _: self._ended(number))
        return self._open[number]

    async def settled(self) -> None:
        """Return when all that are not written down are dealt with."""
        while waiting := [self._open[number] for number in self.unconfirmed]:
            await asyncio.wait(waiting)

    async def store_slow(self) -> None:
        """Write down what has not been dealt with for a moment; what the disk does not take stays Telegram's."""
        now = self._clock.monotonic()
        for number in sorted(self.unconfirmed):
            brought = self._brought.get(number)  # gone if it was dealt with while another was written down
            if brought and now - brought[1] >= STORED_AFTER:
                await self.store(brought[0])

    async def store(self, update: Json) -> bool:
        """Write an update that is at work down, if anybody is to hear it; return whether Telegram may forget it."""
        number = int(update["update_id"])
        work = self._open[number]
        try:
            if number not in self._stored and (kept := await self._updates.to_keep(update)):
                await self._bookmarks.mark(f"{HELD}{number}", json.dumps(kept))
                self._stored.add(number)
        except StoreError as error:
            log.warning("telegram update %s cannot be stored: %s", number, error)
            return False
        if not work.done():
            self._received.add(number)
            return True
        await self._release(number)  # it ended meanwhile: it is on the bus, or has to be brought again
        return work.result()

    async def _start(self) -> None:
        """Let what was brought begin, in its order; as long as there are suspects, one after the other."""
        while True:
            await self._has_news.wait()
            self._has_news.clear()
            while self._queue:
                if is_alone := any(self._deaths.of(number) >= SUSPECT for number in self._queue):
                    await self._finished(self._open.keys() - self._queue.keys())
                begun = self._first() if is_alone else dict(self._queue)
                self._queue = {number: go for number, go in self._queue.items() if number not in begun}
                await self._deaths.note(self._open.keys() - self._queue.keys(), alone=is_alone)
                for go in begun.values():
                    go.set()
                if is_alone:
                    await self._finished(begun)

    def _first(self) -> dict[int, asyncio.Event]:
        """The first in the queue, with the other pictures of its album; noted if it is to be set aside."""
        first = next(iter(self._queue))
        album = _album(self._brought[first][0])
        begun = {
            number: go
            for number, go in self._queue.items()
            if number == first or (album and _album(self._brought[number][0]) == album)
        }
        if any(self._deaths.of(number) >= MOST_DEATHS for number in begun):
            self._set_aside |= dict.fromkeys(begun, ())
            self._set_aside[first] = [self._brought[number][0] for number in begun]
        return begun

    async def _finished(self, numbers: Collection[int]) -> None:
        if open_ones := [self._open[number] for number in numbers if number in self._open]:
            await asyncio.wait(open_ones)

    def _ended(self, number: int) -> None:
        self._open.pop(number, None)
        self._brought.pop(number, None)
        self._received.discard(number)
        self._queue.pop(number, None)

    async def _deal(self, update: Json, number: int, patient: bool, go: asyncio.Event) -> bool:
        await go.wait()
        is_done = await self._try(update, number, lambda: patient or number in self._received)
        if is_done:
            log.debug("telegram update %s dealt with", number)
            self._deaths.survived(number)
            await self._release(number)
        return is_done

    async def _try(self, update: Json, number: int, is_patient: IsPatient) -> bool:
        if (album := self._set_aside.pop(number, None)) is None:
            return await self._updates.take(update, is_patient=is_patient)
        log.error("telegram update %s is set aside: the process ended while it was read, again and again", number)
        if not album or self._deaths.of(number) > MOST_DEATHS:  # told with the first picture; or telling kills, too
            return True
        return await self._updates.set_aside(album, is_patient=is_patient)

    async def _release(self, number: int) -> None:
        if number not in self._stored:
            return
        try:
            await self._bookmarks.mark(f"{HELD}{number}", "")
            self._stored.discard(number)
        except StoreError as error:  # it comes again at the next start, and is known by its id
            log.warning("%s", error)


def _album(update: Json) -> object:
    """Return the key that the pictures of an album share; None if it is no album."""
    message = update.get("message") or {}
    return message.get("media_group_id") and (message.get("chat", {}).get("id"), message["media_group_id"])
