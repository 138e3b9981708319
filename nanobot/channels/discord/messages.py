"""Inbound messages: what people say on Discord, on its way to the bus."""

import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import discord

from nanobot.aio import Job, Rows
from nanobot.channels.access import Admission, Contact
from nanobot.channels.discord.interactions import Interaction, Interactions, pressed
from nanobot.channels.discord.missed import (
    CatchingUp,
    DiscordPlace,
    ReadMarks,
    files_of,
    is_speech,
    meant_by,
    names_in,
    quotes_of,
    sender_of,
    text_of,
)
from nanobot.channels.discord.rest import DiscordDownloads
from nanobot.channels.discord.settings import BY_BOT, CatchUp, MessageId, names_me, readable
from nanobot.channels.registry import ChannelServices
from nanobot.errors import StoreError
from nanobot.i18n import Language
from nanobot.messages import Attachment, InboundMessage, OutboundMessage, Quote
from nanobot.ports import Clock, Publish
from nanobot.ports.gateway import Gap

MOST_ANSWERS = 5
WINDOW = 60.0
"""Seconds: so many messages of bots are answered in a channel in that time; then none before a time as long
without any has passed."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Talk:
    heard: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_ANSWERS))
    last: float = 0.0
    is_silent: bool = False


class LoopGuard:
    """Decides which messages of bots are answered."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._talks: dict[str, _Talk] = {}

    def lets(self, channel: str) -> bool:
        """True if one more message of a bot is answered in a channel now."""
        now, talk = self._clock.monotonic(), self._talks.setdefault(channel, _Talk())
        quiet, talk.last = now - talk.last, now
        if talk.is_silent and quiet < WINDOW:
            return False
        talk.is_silent = len(talk.heard) == MOST_ANSWERS and now - talk.heard[0] < WINDOW and quiet < WINDOW
        if talk.is_silent:
            log.warning("discord: bots keep talking to me in channel %s; I fall silent towards them there", channel)
            return False
        talk.heard.append(now)
        return True


# Inbound messages.


@dataclass(frozen=True, slots=True)
class _Heard:
    """A message, or its new wording, before it is known whether its author may talk."""

    message: discord.Message
    id: MessageId
    place: DiscordPlace
    by_bot: bool


class DiscordInbound:
    """Publishes what people say who may: in order within a chat, chats side by side.

    A chat's place is noted after its message was published, so that what a crash interrupts is read again.
    """

    def __init__(
        self,
        services: ChannelServices,
        downloads: DiscordDownloads,
        interactions: Interactions,
        seen: ReadMarks,
        catch_up: CatchUp,
        gaps: list[Gap],
    ) -> None:
        """`gaps` receives what was not read after a pause."""
        self._services = services
        self._downloads = downloads
        self._interactions = interactions
        self._commands = frozenset(command.name for command in services.menu)
        self._seen = seen
        self._missed = CatchingUp(services, seen, catch_up, gaps, self._would_hear, self._was_said)
        self._guard = LoopGuard(services.clock)
        self._rows = Rows()
        self._is_whole = False  # whether all that comes follows on what came before
        self._held: list[tuple[str, Job]] = []
        self._client: discord.Client
        self._publish: Publish

    @asynccontextmanager
    async def open(self, client: discord.Client, publish: Publish) -> AsyncIterator[None]:
        """Hear while this is open. What is wrong with the store or the network ends it."""
        self._client, self._publish = client, publish
        self.cut_off()
        async with self._rows.open():
            yield
        await self._seen.keep()

    # Called by the client, in the order in which things happen.

    def connected(self, *, resumed: bool = False) -> None:
        """A connection stands (again): read what was said meanwhile, before what comes now.

        Where nothing is known of a chat, what comes waits until all servers are told.
        """
        self._is_whole = True
        self._missed.begin(self._client, self._put_safely, resumed=resumed)
        self._let_go()

    def told_all_servers(self) -> None:
        """Read also where the bot was not talked to before."""
        self._rows.put("", self._settle)

    async def _settle(self) -> None:
        await self._missed.look_further()
        self._let_go()
        await self._missed.note_if_complete()

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for channel, job in held:
            self._put(channel, job)

    def cut_off(self) -> None:
        """No connection stands. What comes before the next one does must wait: something may be missing before it."""
        self._is_whole = False

    def said(self, message: discord.Message) -> None:
        self._seen.begin(message.id)
        self._put(message.channel.id, partial(self._said, message))

    def edited(self, event: discord.RawMessageUpdateEvent) -> None:
        """Discord also tells when it adds the preview of a link; each new wording has a time of its own."""
        new = event.message
        if new.edited_at is None or new.author.bot:
            return
        mark = str(int(new.edited_at.timestamp() * 1000))
        self._put(new.channel.id, partial(self._message, new, mark))

    async def interacted(self, raw: "discord.Interaction[Any]") -> None:
        """Answers at once: Discord gives three seconds."""
        call = Interaction.read(raw)
        if call is None or not self._seen.is_new(call.id):
            return
        self._seen.note(call.id)
        call = replace(call, response=await self._interactions.receive(call))
        self._put(call.channel, partial(self._interaction, raw, call))

    def _put(self, channel: object, job: Job) -> None:
        if not self._is_whole or not (self._missed.is_settled or self._seen.last(str(channel))):
            self._held.append((str(channel), job))
            return
        self._put_safely(str(channel), job)

    def _put_safely(self, channel: str, job: Job) -> None:
        self._rows.put(channel, partial(self._safely, channel, job))

    async def _safely(self, channel: str, job: Job) -> None:
        """One message that cannot be dealt with is left behind; the others go on."""
        try:
            await job()
        except (discord.NotFound, discord.Forbidden) as error:
            log.warning("discord: chat %s: something is left out: %s", channel, error)
        except Exception as error:
            if _is_read_again(error):
                raise
            log.exception("discord: chat %s: something is left out", channel)

    async def _said(self, message: discord.Message) -> None:
        try:
            await self._message(message)
        except Exception as error:
            if not _is_read_again(error):
                await self._seen.done(message.id)
            raise
        await self._seen.done(message.id)

    async def _was_said(self, channel: str, message: discord.Message) -> None:
        await self._safely(channel, partial(self._message, message))

    def _would_hear(self, message: discord.Message) -> bool:
        """True if a message that was missed is for the bot."""
        by_bot = message.author.bot or message.webhook_id is not None
        if not is_speech(message) or by_bot:
            return False
        place = DiscordPlace.of(message.channel)
        heard = _Heard(message, MessageId(str(message.channel.id), str(message.id)), place, by_bot)
        return self._services.access.hears(self._contact(heard))

    # Messages.

    async def _message(self, message: discord.Message, edit: str = "") -> None:
        channel, by_bot = str(message.channel.id), message.author.bot or message.webhook_id is not None
        heard_id = MessageId(channel, str(message.id), edit or (BY_BOT if by_bot else ""))
        if not self._seen.is_new(str(heard_id)):
            return
        log.debug("discord message %s received", heard_id)
        place = DiscordPlace.of(await self._known(message.channel))
        if await self._hear(_Heard(message, heard_id, place, by_bot)):
            self._seen.note(str(heard_id))
            await self._seen.advance(channel, message.id)
            log.debug("discord message %s dealt with", heard_id)
        elif not edit:
            self._seen.look(channel, message.id)

    async def _hear(self, heard: _Heard) -> bool:
        """Take it in if it concerns the bot, and whoever says it may."""
        message, names = heard.message, names_in(heard.message, self._me)
        if not is_speech(message) or message.author == self._me:
            return False
        if heard.by_bot and not names_me(message.content, names, by_role=False):
            return False  # a reply pings us, too: two bots that reply would never end
        admission = await self._services.access.admit(self._contact(heard))
        if admission is None or (heard.by_bot and not self._guard.lets(heard.id.channel)):
            return False
        await self._take(heard, admission)
        return True

    def _contact(self, heard: _Heard) -> Contact:
        names = names_in(heard.message, self._me)
        return Contact(
            id=str(heard.id),
            address=heard.place.address,
            sender=sender_of(heard.message.author),
            groups=heard.place.groups,
            meant=meant_by(heard.message, names, self._commands),
            text=readable(heard.message.content, names),
            is_bot=heard.by_bot,
        )

    def _shows(self, heard: _Heard, replied: discord.Message) -> bool:
        """True if the words of a message may be shown to which somebody replies: of strangers in a server none are."""
        is_bot = replied.author.bot or replied.webhook_id is not None
        author = replace(self._contact(heard), sender=sender_of(replied.author), is_bot=is_bot)
        return replied.author == self._me or self._services.access.shows(author)

    async def _take(self, heard: _Heard, admission: Admission) -> None:
        """Publish it; somebody who sent nothing but a file that did not arrive is told so instead."""
        language = self._services.language(heard.place.address)
        files, excuses = await self._fetched(heard, admission, language)
        text = text_of(heard.message, names_in(heard.message, self._me))
        quotes = tuple(quotes_of(heard.message, self._me, language, partial(self._shows, heard)))
        if excuses and not (text or files or quotes):
            await self._excuse(heard, "\n".join(excuses), to_bot=admission.to_bot)
            return
        if not (text or files or quotes):
            log.info("discord: message %s holds nothing that can be read", heard.id)
            return
        is_edit = heard.id.mark not in ("", BY_BOT)
        message = InboundMessage(
            id=str(heard.id),
            address=heard.place.address,
            sender=sender_of(heard.message.author),
            authority=admission.authority,
            text=text,
            files=tuple(files),
            chat_title=heard.place.title,
            quotes=(*quotes, *(Quote(excuse, how="card") for excuse in excuses)),
            corrects=str(replace(heard.id, mark="")) if is_edit else None,
            to_bot=admission.to_bot,
        )
        await self._publish(message)

    async def _fetched(
        self, heard: _Heard, admission: Admission, language: Language
    ) -> tuple[Sequence[Attachment], Sequence[str]]:
        """The files that came along, and sentences about those that did not arrive. An edit brings none."""
        if heard.id.mark not in ("", BY_BOT):
            return [], []
        fetched = await self._downloads.fetch(files_of(heard.message), admission.authority.scope, language)
        files = [file for file in fetched if isinstance(file, Attachment)]
        return files, [excuse for excuse in fetched if isinstance(excuse, str)]

    async def _excuse(self, heard: _Heard, text: str, *, to_bot: bool) -> None:
        """The id is always the same, so that it is said once."""
        if to_bot:
            address, said = heard.place.address, str(heard.id)
            await self._services.notify(
                OutboundMessage(
                    id=f"{said}:files", address=address, text=text, kind="notice", reply_to=said, failed=True
                )
            )

    # Slash commands and buttons.

    async def _interaction(self, raw: "discord.Interaction[Any]", call: Interaction) -> None:
        place = DiscordPlace.of(await self._known(raw.channel or discord.Object(int(call.channel))))
        answers, text = None, call.text
        if call.custom_id:
            chosen = await pressed(call.custom_id, self._services.bookmarks)
            if chosen is None:
                log.warning("discord: chat %s: a button that is not known", call.channel)
                return
            answers, text = chosen
        heard_id, sender = MessageId(call.channel, call.response or call.id), sender_of(raw.user)
        contact = Contact(
            id=str(heard_id), address=place.address, sender=sender, groups=place.groups, meant="command", text=text
        )
        admission = await self._services.access.admit(contact)
        if admission is None:
            await self._interactions.withdraw(call)
            return
        await self._publish(
            InboundMessage(
                id=str(heard_id),
                address=place.address,
                sender=sender,
                authority=admission.authority,
                text=text,
                answers=answers,
                chat_title=place.title,
            )
        )
        await self._seen.advance(call.channel, int(heard_id.message))
        await self._interactions.show(call)

    @property
    def _me(self) -> discord.ClientUser:
        return cast("discord.ClientUser", self._client.user)  # known since READY

    async def _known(self, channel: Any) -> Any:
        """The channel with its name and parent; a thread that slept is told by its number only."""
        if isinstance(channel, discord.PartialMessageable | discord.Object):
            return await self._client.fetch_channel(channel.id)
        return channel


def _is_read_again(error: Exception) -> bool:
    """True if a message is not to blame for this: it is read again when that is mended."""
    is_theirs = isinstance(error, discord.NotFound | discord.Forbidden)
    return not is_theirs and isinstance(error, StoreError | discord.DiscordException | OSError)
