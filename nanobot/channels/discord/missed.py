"""Messages that came while the bot was away: Discord keeps no queue, so each chat is read from where it was left."""

import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import discord

from nanobot.aio import Job
from nanobot.channels.access import HIDDEN, Meant
from nanobot.channels.discord.settings import NAME, CatchUp, DiscordNames, calls_another, names_me, readable
from nanobot.channels.registry import ChannelServices
from nanobot.i18n import Language, say
from nanobot.messages import Address, OutboundMessage, Quote, Sender
from nanobot.ports import Bookmarks
from nanobot.ports.gateway import Gap, GapReason
from nanobot.text import as_name

# Reading a message.


_SPOKEN = (discord.MessageType.default, discord.MessageType.reply)


@dataclass(frozen=True, slots=True)
class DiscordPlace:
    """Place of a message. `groups` are the ids under which it may be admitted: thread, channel, server."""

    address: Address
    groups: Sequence[str] = ()
    title: str = ""

    @classmethod
    def of(cls, channel: Any) -> "DiscordPlace":
        """Of a channel as discord.py knows it; a thread or a post in a forum is a topic of its channel."""
        own = str(channel.id)
        guild = getattr(channel, "guild", None)
        if guild is None:
            return cls(Address(NAME, own))
        if isinstance(channel, discord.Thread):
            parent = str(channel.parent_id)
            title = f"{guild.name} #{channel.parent.name if channel.parent else parent} · {channel.name}"
            return cls(Address(NAME, parent, own), (own, parent, str(guild.id)), title)
        return cls(Address(NAME, own), (own, str(guild.id)), f"{guild.name} #{channel.name}")


def is_speech(message: discord.Message) -> bool:
    """True if somebody says something: not that somebody joined, pinned, opened a thread, …"""
    return message.type in _SPOKEN


def sender_of(user: discord.abc.User) -> Sender:
    return Sender(str(user.id), user.display_name)


def names_in(message: discord.Message, me: discord.ClientUser) -> DiscordNames:
    """Return the names of the people and roles in a message."""
    mine = message.guild.me.roles if message.guild and message.guild.me else []
    return DiscordNames(
        me=str(me.id),
        my_name=me.name,
        my_roles=frozenset(str(role.id) for role in mine if not role.is_default()),
        users={str(user.id): user.display_name for user in message.mentions},
        roles={str(role.id): role.name for role in message.role_mentions},
        channels={str(channel.id): channel.name for channel in message.channel_mentions},
    )


def meant_by(message: discord.Message, names: DiscordNames, commands: frozenset[str]) -> Meant:
    """Return how a message addresses the bot."""
    word = (readable(message.content, names).split(maxsplit=1) or [""])[0]
    name, at, _ = word[1:].partition("@")
    if word[:1] in ("/", "／") and (at or name.casefold().replace("_", "-") in commands):
        return "other" if at else "command"
    if names_me(message.content, names):
        return "mention"
    replied = _replied_to(message)
    if replied is not None and str(replied.author.id) == names.me:
        return "reply"
    return (
        "other" if calls_another(message.content, {str(user.id) for user in message.mentions if user.bot}) else "none"
    )


def text_of(message: discord.Message, names: DiscordNames) -> str:
    """The words of the sender. A bare mention is a word, too."""
    text = readable(message.content, names)
    return text or (f"@{as_name(names.my_name)}" if message.content else "")


def quotes_of(
    message: discord.Message, me: discord.ClientUser, language: Language, shows: Callable[[discord.Message], bool]
) -> list[Quote]:
    """Return the parts of a message that its sender did not write: cards, the replied-to text, forwards.

    `shows` tells whether the words of a message that is replied to may be shown.
    """
    quotes = [Quote("\n".join(_cards(message, language)), how="card")]
    replied = _replied_to(message)
    if replied is not None and not shows(replied):
        quotes += [Quote(HIDDEN)]
    elif replied is not None:
        files = (say("discord.quoted_file", language, name=as_name(file.filename)) for file in replied.attachments)
        words = [text_of(replied, names_in(replied, me)), *_cards(replied, language), *files]
        quotes += [Quote("\n".join(filter(None, words)), replied.author.display_name)]
    for snapshot in message.message_snapshots:
        quotes += [Quote("\n".join(filter(None, (snapshot.content, *_cards(snapshot, language)))), how="forward")]
    return [quote for quote in quotes if quote.text]


def files_of(message: discord.Message) -> list[discord.Attachment]:
    """The files of a message, and those that it passes on."""
    return [*message.attachments, *(file for snapshot in message.message_snapshots for file in snapshot.attachments)]


def _replied_to(message: discord.Message) -> discord.Message | None:
    reference = message.reference
    if message.type is not discord.MessageType.reply or reference is None:
        return None
    return reference.resolved if isinstance(reference.resolved, discord.Message) else None


def _cards(message: discord.Message | discord.MessageSnapshot, language: Language) -> Iterator[str]:
    """Words on what was sent: of whoever made the sticker, the poll, the page behind a link, or the app."""
    for sticker in message.stickers:
        yield say("discord.sticker", language, name=as_name(sticker.name))
    poll = getattr(message, "poll", None)
    if poll is not None:
        answers = " / ".join(answer.text for answer in poll.answers)
        yield say("discord.poll", language, question=poll.question, answers=answers)
    for embed in message.embeds:
        if embed.type == "rich":  # the others are previews of links, which Discord adds by itself, and later
            fields = (f"{field.name}: {field.value}" for field in embed.fields)
            lines = (embed.author.name, embed.title, embed.description, *fields, embed.url, embed.footer.text)
            yield "\n".join(filter(None, lines))
    for component in getattr(message, "components", ()):  # not there if Discord told none
        yield from _words_on(component)


def _words_on(component: Any) -> Iterator[str]:
    """The texts, and the labels of buttons, of a component and of those in it."""
    for name in ("content", "label", "placeholder"):
        if isinstance(text := getattr(component, name, None), str) and text:
            yield text
    for inner in (
        *(getattr(component, "children", None) or ()),
        *filter(None, [getattr(component, "accessory", None)]),
    ):
        yield from _words_on(inner)


# Read marks.


_REMEMBERED = 10_000
_HEARD_UNTIL = f"{NAME}.heard_until"
_NOTED_EVERY = 60_000 << 22
"""A minute, in ids: their upper bits are the milliseconds at which a message was written (Discord's documentation,
"Snowflakes"). After a crash so much is looked through again; what was published is known by its id."""


class ReadMarks:
    """Read marks: the last handled message of each chat, and the ids of the latest ones.

    What was taken in is noted on disk at once; what was only looked at, when all ends in order.
    """

    def __init__(self, bookmarks: Bookmarks) -> None:
        self._bookmarks = bookmarks
        self._last: dict[str, int] = {}
        self._looked: dict[str, int] = {}
        self._lately: OrderedDict[str, None] = OrderedDict()
        self._pending: set[int] = set()
        self._newest = 0
        self._noted = 0

    async def load(self) -> None:
        """Read what earlier processes noted."""
        marks = await self._bookmarks.marks(f"{NAME}:")
        self._last = {key.partition(":")[2]: int(last) for key, last in marks.items() if last.isdigit()}
        until = (await self._bookmarks.marks(_HEARD_UNTIL)).get(_HEARD_UNTIL, "")
        self._noted = self._newest = int(until) if until.isdigit() else 0

    @property
    def heard_until(self) -> int:
        """The id up to which all messages are dealt with, wherever they were written; 0 before the first start."""
        return min([self._newest, *(message - 1 for message in self._pending)])

    def begin(self, message: int) -> None:
        """A message came, and is not dealt with yet."""
        self._pending.add(message)

    async def done(self, message: int) -> None:
        """Mark a message as handled. Raises StoreError."""
        self._pending.discard(message)
        await self.hear_until(message)

    async def hear_until(self, message: int, *, note: bool = False) -> None:
        """No message before this one is missing; that is noted on disk now and then. Raises StoreError."""
        self._newest = max(self._newest, message)
        until = self.heard_until
        if until > self._noted and (note or until - self._noted > _NOTED_EVERY):
            self._noted = until
            await self._bookmarks.mark(_HEARD_UNTIL, str(until))

    @property
    def channels(self) -> Sequence[str]:
        """The chats that the bot knows."""
        return tuple(self._last)

    def last(self, channel: str) -> int:
        """The last message of a chat that was dealt with; 0 if there is none."""
        return max(self._last.get(channel, 0), self._looked.get(channel, 0))

    def is_new(self, what: str) -> bool:
        """True if an id was not noted lately."""
        return what not in self._lately

    def note(self, what: str) -> None:
        """An id is dealt with: its next delivery is a repetition."""
        self._lately[what] = None
        while len(self._lately) > _REMEMBERED:
            self._lately.popitem(last=False)

    def look(self, channel: str, message: int) -> None:
        """A message in a chat that the bot knows does not concern it."""
        if channel in self._last:
            self._looked[channel] = max(message, self._looked.get(channel, 0))

    async def keep(self) -> None:
        """Note on disk what was only looked at. Raises StoreError."""
        for channel, message in self._looked.items():
            await self.advance(channel, message)
        await self.hear_until(0, note=True)

    async def advance(self, channel: str, message: int) -> None:
        """A chat is read up to here. Raises StoreError."""
        if message > self._last.get(channel, 0):
            await self._bookmarks.mark(f"{NAME}:{channel}", str(message))
            self._last[channel] = message

    async def forget(self, channel: str) -> None:
        """A chat is gone. Raises StoreError."""
        await self._bookmarks.mark(f"{NAME}:{channel}", "")
        self._last.pop(channel, None)
        self._looked.pop(channel, None)


# Missed messages: Discord keeps no queue, so they are read in the chats themselves.


log = logging.getLogger(__name__)

MOST_READ = 2000
"""Messages of a chat that are looked at, whoever wrote them: twenty requests."""

MOST_REQUESTS = 500
"""Requests after a pause, for all chats together: Discord lets a bot make some fifty a second."""

MOST_THREADS = 100
"""Threads of a channel that were archived meanwhile, the newest first: a request."""

_PAGE = 100
_MOST_DIRECT = 200  # people whose chats are looked at; each costs a request or two
_MOST_GAPS = 100


@dataclass(slots=True)
class MissedMessages:
    """The messages of a chat after a certain one, the oldest first, and why there are no older ones."""

    messages: list[discord.Message] = field(default_factory=list)
    cut_by: GapReason | None = None


async def missed(
    place: discord.abc.Messageable,
    since: int,
    bounds: CatchUp,
    now: datetime,
    is_heard: Callable[[discord.Message], bool],
    may_ask: Callable[[], bool],
) -> MissedMessages:
    """Read back until the message `since`, the bounds, or MOST_READ; only what `is_heard` counts for the bounds.

    What is too old is only looked at: whether anything of it was for the bot. One request is asked for already;
    before each further one `may_ask` is. Raises discord.NotFound and discord.Forbidden if the chat cannot be read
    any more, other DiscordExceptions and OSError if it cannot be read now.
    """
    found, looked, counted = MissedMessages(), 0, 0
    oldest = now - timedelta(seconds=bounds.age)
    async for message in place.history(limit=MOST_READ):
        if message.id <= since:
            break
        looked += 1
        is_counted = is_heard(message)
        if is_counted and (message.created_at < oldest or counted == bounds.messages):
            found.cut_by = "age" if message.created_at < oldest else "count"
            break
        if message.created_at >= oldest:
            counted += is_counted
            found.messages.append(message)
        if looked % _PAGE == 0 and looked < MOST_READ and not may_ask():
            found.cut_by = "requests"
            break
    else:
        found.cut_by = "crowd" if looked == MOST_READ else None
    found.messages.reverse()
    return found


class CatchingUp:
    """Reads what was missed, before what comes now in the same chat, and tells what it does not read."""

    def __init__(
        self,
        services: ChannelServices,
        seen: ReadMarks,
        bounds: CatchUp,
        gaps: list[Gap],
        is_heard: Callable[[discord.Message], bool],
        take: Callable[[str, discord.Message], Awaitable[None]],
    ) -> None:
        """`gaps` is where it says what it does not read; `take` deals with a message of a chat."""
        self._services = services
        self._seen = seen
        self._bounds = bounds
        self._gaps = gaps
        self._is_heard = is_heard
        self._take = take
        self.is_settled = False
        """Whether all chats are known in which something may have been missed."""
        self._since = 0
        self._unread = 0  # chats that are still to be read
        self._requests = 0
        self._client: discord.Client
        self._put: Callable[[str, Job], None]

    def begin(
        self,
        client: discord.Client,
        put: Callable[[str, Job], None],
        *,
        resumed: bool,
    ) -> None:
        """A connection stands: read in the chats that the bot knows; `put` adds to what is done in a chat.

        After the very first start, and when Discord itself repeats what was missed, no others are to be found.
        """
        self._client, self._put = client, put
        self._since, self._requests = self._seen.heard_until, 0
        self.is_settled = resumed or not self._since
        if not self.is_settled:
            self._seen.begin(self._since + 1)  # nothing passes what may be missing, until that is read
        for channel in sorted(self._seen.channels, key=self._seen.last, reverse=True):
            self._read_later(channel, self._seen.last(channel))

    async def look_further(self) -> None:
        """All servers are told: read also where the bot was not talked to before."""
        since = self._since
        if since and not self.is_settled and self._bounds.messages:
            known = set(self._seen.channels)
            direct, archived = await self._direct_chats(), [thread async for thread in self._archived(since)]
            for place in (*self._places_with_news(since), *direct, *archived):
                if str(place.id) not in known:
                    self._read_later(str(place.id), since, place)
        elif not since:
            await self._seen.hear_until(discord.utils.time_snowflake(self._services.clock.now()), note=True)
        self.is_settled = True

    async def note_if_complete(self) -> None:
        """Note that a chat is read up to now, so that live messages follow without a gap. Raises StoreError."""
        if self.is_settled and not self._unread:
            await self._seen.done(self._since + 1)

    def _may_ask(self) -> bool:
        """Count a request, if there may be one more."""
        self._requests += 1
        return self._requests <= MOST_REQUESTS

    # Where something may have been missed.

    def _places_with_news(self, since: int) -> Iterator[Any]:
        """The channels and threads of served groups in which something was written since."""
        for guild in self._client.guilds:
            places: Sequence[discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread] = [
                *guild.text_channels, *guild.voice_channels, *guild.stage_channels, *guild.threads,
            ]  # fmt: skip
            for place in places:
                is_new = (place.last_message_id or 0) > since or place.id > since
                if is_new and self._serves(place):
                    yield place

    async def _archived(self, since: int) -> AsyncIterator[discord.Thread]:
        """The public threads of served channels that were archived since, where something was written since."""
        for guild in self._client.guilds:
            channels: Sequence[discord.TextChannel | discord.ForumChannel] = [*guild.text_channels, *guild.forums]
            for channel in channels:
                if not self._serves(channel):
                    continue
                if not self._may_ask():
                    self._note_gap("", "requests")
                    continue
                try:
                    async for thread in self._archived_in(channel, since):
                        yield thread
                except (discord.NotFound, discord.Forbidden) as error:
                    log.warning("discord: the archived threads of %s cannot be read: %s", channel.id, error)
                    self._note_gap(DiscordPlace.of(channel).address.session_key, "forbidden")

    async def _archived_in(
        self, channel: discord.TextChannel | discord.ForumChannel, since: int
    ) -> AsyncIterator[discord.Thread]:
        looked = 0
        async for thread in channel.archived_threads(limit=MOST_THREADS):
            if thread.archive_timestamp < discord.utils.snowflake_time(since):
                return
            looked += 1
            if (thread.last_message_id or thread.id) > since:
                yield thread
        if looked == MOST_THREADS:
            await self._tell_of_gap(channel, since, "threads")

    async def _direct_chats(self) -> Sequence[Any]:
        """The chats with the people who may talk with the bot alone; one that cannot be opened is left out."""
        found = []
        for person in self._services.access.known(NAME)[:_MOST_DIRECT]:
            if not self._may_ask():
                self._note_gap("", "requests")
                continue
            try:
                found.append(await self._client.create_dm(discord.Object(int(person))))
            except discord.DiscordServerError:
                raise  # all of it is tried again
            except (ValueError, discord.HTTPException) as error:
                log.info("discord: the chat with %s cannot be looked at: %s", person, error)
        return found

    def _serves(self, place: Any) -> bool:
        return self._services.access.serves(NAME, DiscordPlace.of(place).groups)

    # Reading.

    def _read_later(self, channel: str, since: int, place: Any = None) -> None:
        self._unread += 1

        async def read() -> None:
            try:
                await self._read(channel, since, place)
            finally:
                self._unread -= 1
            await self.note_if_complete()

        self._put(channel, read)

    async def _read(self, channel: str, since: int, place: Any) -> None:
        if not self._bounds.messages:
            return
        try:
            place = place or self._client.get_channel(int(channel))
            if place is None and self._may_ask():
                place = await self._client.fetch_channel(int(channel))
            if place is None:
                self._note_gap("", "requests")
                return
            if isinstance(place, discord.abc.Messageable):
                await self._read_in(place, channel, since)
        except discord.NotFound:
            log.warning("discord: chat %s is gone", channel)
            await self._seen.forget(channel)
        except discord.Forbidden as error:
            log.warning("discord: chat %s cannot be read: %s", channel, error)
            self._note_gap(DiscordPlace.of(place).address.session_key if place else f"{NAME}:{channel}", "forbidden")

    async def _read_in(self, place: discord.abc.Messageable, channel: str, since: int) -> None:
        newest = getattr(place, "last_message_id", None)  # direct chats do not say it
        if newest is not None and newest <= since:
            return
        if self._may_ask():
            found = await missed(place, since, self._bounds, self._services.clock.now(), self._is_heard, self._may_ask)
        elif newest is not None:
            found = MissedMessages(cut_by="requests")
        else:
            self._note_gap("", "requests")
            return
        if found.messages:
            log.info("discord: chat %s: %d messages came while I was away", channel, len(found.messages))
        if found.cut_by:
            await self._tell_of_gap(place, since, found.cut_by)
        for message in found.messages:
            await self._take(channel, message)

    # What is not read.

    async def _tell_of_gap(self, place: Any, since: int, why: GapReason) -> None:
        """Say once in a chat that not all was read that may have been for the bot."""
        log.warning("discord: chat %s: not all that was missed is read (%s)", place.id, why)
        where, hours = DiscordPlace.of(place).address, max(1, round(self._bounds.age / 3600))
        self._note_gap(where.session_key, why)
        text = say(f"discord.missed_{why}", self._services.language(where), count=self._bounds.messages, hours=hours)
        await self._services.notify(
            OutboundMessage(
                id=f"{NAME}:{place.id}:missed:{since}", address=where, text=text, kind="notice", failed=True
            )
        )

    def _note_gap(self, where: str, why: GapReason) -> None:
        """For `/status`; chats that were not looked at are only counted."""
        before = next((gap for gap in self._gaps if (gap.where, gap.why) == (where, why)), None)
        if before:
            self._gaps.remove(before)
        chats = before.chats + 1 if before and not where else 1
        self._gaps.append(Gap(where=where, why=why, chats=chats))
        del self._gaps[:-_MOST_GAPS]
