"""Inbound messages: from Telegram's message to ours, with its words, files, quotes, and for whom it is."""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from telegram import (
    ExternalReplyInfo,
    Message,
    MessageEntity,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    User,
)

from nanobot.channels.access import HIDDEN, Admission, Contact, Meant
from nanobot.channels.fetching import at_most
from nanobot.channels.registry import ChannelServices
from nanobot.channels.telegram.api import TelegramTooLargeError
from nanobot.channels.telegram.chats import ChatMigrations, address, is_nobody, is_private, plain_name, sender_of
from nanobot.channels.telegram.files import MB, Arriving, TelegramDownloads, files_in
from nanobot.channels.telegram.settings import edit_id, inbound_id
from nanobot.errors import LLMError, NanobotError, StoreError
from nanobot.i18n import say
from nanobot.messages import Attachment, InboundMessage, OutboundMessage, Quote
from nanobot.ports import Publish
from nanobot.text import as_name

# Address and own words.


_COMMAND = re.compile(r"/([A-Za-z0-9_-]+)(?:@([A-Za-z0-9_]+))?(?!\S)")
"""Of the raw text: for Telegram a command ends at the first letter that its menu does not allow: /dream-restore."""


def meant(message: Message, me: User) -> Meant:
    """Return how a message addresses the bot; forwards address nobody."""
    if is_passed_on(message):
        return "none"
    command = _COMMAND.match(_raw(message))
    if command:
        return "command" if _is(command[2] or me.username, me) else "other"
    if any(_names(entity, text, me) for entity, text in _entities(message).items()):
        return "mention"
    replied = message.reply_to_message
    if replied is not None and replied.from_user == me and not opens_topic(replied):
        return "reply"
    return "other" if any(_calls_another_bot(entity, text) for entity, text in _entities(message).items()) else "none"


def is_passed_on(message: Message) -> bool:
    """True if the sender did not write this: it was forwarded, or another bot wrote it in their name."""
    return message.forward_origin is not None or message.via_bot is not None or message.paid_media is not None


def opens_topic(replied: Message) -> bool:
    """True if this is not what somebody replied to, but how Telegram ties a message to its topic."""
    return replied.forum_topic_created is not None


def own_words(message: Message, me: User) -> str:
    """Return the sender's own words, without the bot's name behind a command or at the start; "" for forwards."""
    if is_passed_on(message):
        return ""
    text = _raw(message)
    command = _COMMAND.match(text)
    if command and command[2] and _is(command[2], me):
        return f"/{command[1]}{text[command.end() :]}"
    for entity, name in _entities(message).items():
        if entity.offset == 0 and _names(entity, name, me):
            return text[len(name) :].lstrip(" \t\n,:，：、") or text
    return text


def words_of(message: Message) -> str:
    """All text of a message, whoever wrote it, with the addresses of its links."""
    return _raw(message)


def _raw(message: Message) -> str:
    units = (message.text or message.caption or "").encode("utf-16-le", "surrogatepass")
    for entity in sorted(_entities(message), key=lambda entity: entity.offset, reverse=True):
        if entity.type == MessageEntity.TEXT_LINK:
            end = 2 * (entity.offset + entity.length)  # Telegram counts UTF-16 units
            units = units[:end] + f" ({entity.url})".encode("utf-16-le") + units[end:]
    return units.decode("utf-16-le", "replace")


def _entities(message: Message) -> dict[MessageEntity, str]:
    return message.parse_entities() if message.text else message.parse_caption_entities() if message.caption else {}


def _names(entity: MessageEntity, text: str, me: User) -> bool:
    if entity.type == MessageEntity.TEXT_MENTION:
        return entity.user == me
    return entity.type == MessageEntity.MENTION and _is(text.removeprefix("@"), me)


def _calls_another_bot(entity: MessageEntity, text: str) -> bool:
    """Return whether a name at the head is that of a bot: on Telegram those end in "bot", and only those."""
    if entity.offset > 0:
        return False
    if entity.type == MessageEntity.TEXT_MENTION:
        return entity.user is not None and entity.user.is_bot
    return entity.type == MessageEntity.MENTION and text.casefold().endswith("bot")


def _is(name: str | None, me: User) -> bool:
    return bool(name) and (name or "").casefold() == (me.username or "").casefold()


# Quotes.


@dataclass(frozen=True, slots=True)
class Source:
    """Author of a forwarded text, and the way it came."""

    by: str
    how: Literal["forward", "via", "card"]


def source_of(messages: Sequence[Message]) -> Source | None:
    """The source of what is passed on; None for what the sender says. Of an album, one picture says it for all."""
    for message in messages:
        if message.forward_origin is not None:
            return Source(_origin(message.forward_origin), "forward")
        if message.via_bot is not None:
            return Source(plain_name(message.via_bot.full_name), "via")
        if message.paid_media is not None:  # only channels and bots can send it
            return Source("", "card")
    return None


def quotes_in(message: Message, source: Source | None, shows: Callable[[Message], bool]) -> tuple[Quote, ...]:
    """Return the forwarded, carded, marked and replied-to texts.

    `shows` tells whether the words of a message that is replied to may be shown.
    """
    return tuple(quote for quote in _quotes(message, source, shows) if quote.text)


def sign_of(content: Message | ExternalReplyInfo) -> str:
    """Return the text for a message without words: a sticker, dice, a place on the map; "" if it is none of these."""
    return _described(content, _SIGNS)


def has_card(message: Message) -> bool:
    """True if a card came: a contact, a poll, …"""
    return any(getattr(message, name) is not None for name in _CARDS)


def _quotes(message: Message, source: Source | None, shows: Callable[[Message], bool]) -> Iterator[Quote]:
    if source is not None:
        yield Quote(_content(message), source.by, source.how)
    else:
        yield Quote(_described(message, _CARDS), how="card")
    replied, elsewhere, story = message.reply_to_message, message.external_reply, message.reply_to_story
    if replied is not None and not opens_topic(replied) and not shows(replied):
        yield Quote(HIDDEN)
    elif message.quote is not None:
        by = sender_of(replied).name if replied else _origin(elsewhere.origin) if elsewhere else ""
        yield Quote(message.quote.text, by, "quote")
    elif replied is not None and not opens_topic(replied):
        yield Quote(_content(replied), sender_of(replied).name)
    elif elsewhere is not None:
        yield Quote(
            "\n".join(filter(None, (sign_of(elsewhere), _described(elsewhere, _CARDS)))), _origin(elsewhere.origin)
        )
    elif story is not None:
        yield Quote("[story]", plain_name(story.chat.effective_name or ""))


def _content(message: Message) -> str:
    files = [f"[{as_name(file.name)}]" for file in files_in(message)]
    return "\n".join(filter(None, (*files, sign_of(message), _described(message, _CARDS), words_of(message))))


def _origin(origin: MessageOrigin) -> str:
    name = ""
    if isinstance(origin, MessageOriginUser):
        name = origin.sender_user.full_name
    elif isinstance(origin, MessageOriginHiddenUser):
        name = origin.sender_user_name
    elif isinstance(origin, MessageOriginChat):
        name = origin.sender_chat.effective_name or ""
    elif isinstance(origin, MessageOriginChannel):
        name = origin.chat.effective_name or ""
    return plain_name(name)


def _described(content: Message | ExternalReplyInfo, ways: "Mapping[str, Callable[[Any], str]]") -> str:
    for name, describe in ways.items():
        if (found := getattr(content, name)) is not None:
            text = describe(found)
            return f"[{text}]" if text else ""
    return ""


def _place(location: Any) -> str:
    return f"{location.latitude:.6f}, {location.longitude:.6f}"


def _contact(contact: Any) -> str:
    name = as_name(" ".join(filter(None, (contact.first_name, contact.last_name))))
    return "\n".join(filter(None, (f"contact: {name}, {as_name(contact.phone_number)}", contact.vcard)))


def _poll(poll: Any) -> str:
    options = " / ".join(option.text for option in poll.options)
    more = (poll.description, poll.explanation)
    return "\n".join(filter(None, (f"poll: {poll.question} — {options}", *more)))


def _titled(kind: str) -> Callable[[Any], str]:
    return lambda found: "\n".join(
        filter(None, (f"{kind}: {found.title}", found.description, getattr(found, "text", None)))
    )


def _giveaway(giveaway: Any) -> str:
    return f"giveaway: {giveaway.prize_description}" if giveaway.prize_description else "giveaway"


_SIGNS: Mapping[str, Callable[[Any], str]] = {
    "sticker": lambda sticker: f"sticker {sticker.emoji}" if sticker.emoji else "sticker",
    "location": lambda location: f"location: {_place(location)}",
    "dice": lambda dice: f"dice {dice.emoji}: {dice.value}",
}
"""Attributes of a Message in which nobody has put words."""

_CARDS: Mapping[str, Callable[[Any], str]] = {
    "sticker": lambda sticker: f"from the set {as_name(sticker.set_name)}" if sticker.set_name else "",
    "venue": lambda venue: f"place: {venue.title}, {venue.address}",
    "contact": _contact,
    "poll": _poll,
    "game": _titled("game"),
    "story": lambda story: f"story of {plain_name(story.chat.effective_name or '')}",
    "invoice": _titled("invoice"),
    "paid_media": lambda _: "paid media",
    "checklist": lambda checklist: (
        f"checklist: {checklist.title} — {' / '.join(task.text for task in checklist.tasks)}"
    ),
    "giveaway": _giveaway,
    "giveaway_winners": _giveaway,
}
"""Attributes of a Message whose words are of whoever made them. Telegram's service messages have none of them."""


# Answers of the channel itself.


class Answers:
    """Says that something could not be done; once for each message and reason."""

    def __init__(self, services: ChannelServices, moved: ChatMigrations) -> None:
        self._services = services
        self._moved = moved

    async def tell(self, message: Message, what: str, **values: object) -> None:
        """Answer a message with the sentence `what` of the catalogue's section. Raises StoreError."""
        where = address(await self._moved.original(message.chat_id), message)
        inbound = inbound_id(message.chat_id, message.message_id)
        await self._services.notify(
            OutboundMessage(
                id=f"{inbound}:{what}",
                address=where,
                text=say(f"telegram.{what}", self._services.language(where), **values),
                kind="notice",
                reply_to=inbound,
                failed=True,
            )
        )


# Content.


log = logging.getLogger(__name__)

_SPEECH = 120.0
"""Seconds for having a voice message transcribed; everybody in its chat waits for that."""

_MOST_KEPT = 100
"""Messages and albums whose files are kept in case that the disk does not take them at once."""

_LOST = "[a file came with this and could not be had]"


@dataclass(frozen=True, slots=True)
class MessageContent:
    """Content of an InboundMessage as taken from Telegram's messages."""

    text: str = ""
    files: Sequence[Attachment] = ()
    quotes: Sequence[Quote] = ()


@dataclass(frozen=True, slots=True)
class _Fetched:
    """Result of fetching a file: the file and its speech, or the sentence that says why there is none."""

    name: str
    file: Attachment | None = None
    spoken: str = ""
    why: str = ""


class Contents:
    """Fetches files and has speech transcribed. What cannot be had is told at once; the words beside it are heard."""

    def __init__(self, me: User, services: ChannelServices, downloads: TelegramDownloads, answers: Answers) -> None:
        self._me = me
        self._media = services.media
        self._transcriber = services.transcriber
        self._clock = services.clock
        self._downloads = downloads
        self._answers = answers
        self._kept: dict[tuple[int, int, str], dict[int, _Fetched]] = {}

    async def of(
        self, messages: Sequence[Message], admission: Admission, shows: Callable[[Message], bool]
    ) -> MessageContent | None:
        """The content of a message, or of an album as one; None if no file of it could be had. Raises StoreError.

        `shows` tells whether a message may be shown to which somebody replies.
        What was fetched is kept until `published`: where the disk does not take the message, it is asked for again.
        """
        fetched = await self._fetched(messages, admission)
        if admission.to_bot:
            await self._tell(messages, fetched)
        source = source_of(messages)
        found = [
            self._of(message, fetched.get(message.message_id), source, quotes_in(message, source, shows))
            for message in messages
        ]
        contents = [content for content in found if content is not None]
        if not contents:
            return None
        texts = [content.text if content else "" for content in found]
        if len(list(filter(None, texts))) > 1:  # each stands with its picture
            texts = [f"[{number}/{len(texts)}] {text}" if text else "" for number, text in enumerate(texts, start=1)]
        return MessageContent(
            "\n".join(filter(None, texts)),
            tuple(file for content in contents for file in content.files),
            tuple(quote for content in contents for quote in content.quotes),
        )

    def published(self, messages: Sequence[Message], admission: Admission) -> None:
        """Drop what was fetched for these messages: they are published."""
        self._kept.pop(_key(messages, admission), None)

    async def _tell(self, messages: Sequence[Message], fetched: Mapping[int, _Fetched]) -> None:
        """Say of which files there is nothing, in a sentence for each reason. Raises StoreError."""
        lost = [(message, fetched[message.message_id]) for message in messages if message.message_id in fetched]
        for why in dict.fromkeys(one.why for _, one in lost if one.why):
            first = next(message for message, one in lost if one.why == why)
            names = dict.fromkeys(one.name for _, one in lost if one.why == why)
            await self._answers.tell(first, why, name=", ".join(names), most=self._downloads.limit // MB)

    def _of(
        self, message: Message, fetched: _Fetched | None, source: Source | None, quotes: Sequence[Quote]
    ) -> MessageContent | None:
        words = "" if source else own_words(message, self._me)
        if fetched is not None and fetched.file is None:
            if not (words or message.caption):
                return None
            lost = () if source else (Quote(f"[file: {as_name(fetched.name)}]", how="card"),)
            return MessageContent("\n".join(filter(None, (words, _LOST))), (), (*quotes, *lost))
        files = [fetched.file] if fetched and fetched.file else []
        spoken = fetched.spoken if fetched else ""
        if source is not None:
            return MessageContent("", files, (*([Quote(spoken, source.by, source.how)] if spoken else ()), *quotes))
        return MessageContent("\n".join(filter(None, (spoken, sign_of(message), words))), files, quotes)

    async def _fetched(self, messages: Sequence[Message], admission: Admission) -> Mapping[int, _Fetched]:
        """Return the files of an album, by the ids of its messages. Raises StoreError."""
        scope, kept = admission.authority.scope, self._kept.setdefault(_key(messages, admission), {})
        while len(self._kept) > _MOST_KEPT:  # nobody asked for them again
            del self._kept[next(iter(self._kept))]
        files = [(message, file) for message in messages for file in files_in(message, self._downloads.limit)]
        for message, file in files:
            if file.is_speech and self._transcriber is None:
                why = "voice_none_owner" if scope.is_owner else "voice_none"
                kept[message.message_id] = _Fetched(plain_name(file.name), why=why)
        missing = [(message, file) for message, file in files if message.message_id not in kept]
        came = await self._downloads.fetch(scope, [file for _, file in missing])
        for (message, file), one in zip(missing, came, strict=True):
            if not isinstance(one, StoreError):
                kept[message.message_id] = await self._understood(message, file, one)
        for one in came:
            if isinstance(one, StoreError):
                raise one
        return kept

    async def _understood(self, message: Message, file: Arriving, came: Attachment | NanobotError) -> _Fetched:
        """A file that came, with what is spoken in it if it is speech."""
        name = plain_name(file.name)
        if isinstance(came, Attachment):
            return await self._spoken(message, name, came) if file.is_speech else _Fetched(name, came)
        if isinstance(came, TelegramTooLargeError):
            return _Fetched(name, why="too_large")
        log.warning("telegram:%s: message %s: %s", message.chat_id, message.message_id, came)
        return _Fetched(name, why="voice_lost" if file.is_speech else "file_lost")

    async def _spoken(self, message: Message, name: str, file: Attachment) -> _Fetched:
        if self._transcriber is None:
            return _Fetched(name, file)
        try:
            async with at_most(self._clock, _SPEECH):
                spoken = await self._transcriber.transcribe(self._media.path(file), file.mime)
        except (LLMError, TimeoutError) as error:
            log.warning("telegram:%s: message %s: no transcription: %s", message.chat_id, message.message_id, error)
            return _Fetched(name, why="voice_failed")
        return _Fetched(name, file, spoken) if spoken else _Fetched(name, why="voice_silent")


def _key(messages: Sequence[Message], admission: Admission) -> tuple[int, int, str]:
    """A message or an album, as long as the same person may have it kept."""
    return messages[0].chat_id, messages[0].message_id, admission.authority.scope.name


# Inbound messages.


_STRONGEST: Sequence[Meant] = ("command", "mention", "reply", "other", "none")


class TelegramInbound:
    """Publishes what people say who may talk. Everything here may raise StoreError."""

    def __init__(
        self, me: User, services: ChannelServices, downloads: TelegramDownloads, moved: ChatMigrations, publish: Publish
    ) -> None:
        """`me` is who the bot is on Telegram."""
        self._me = me
        self._access = services.access
        self._answers = Answers(services, moved)
        self._contents = Contents(me, services, downloads, self._answers)
        self._moved = moved
        self._publish = publish

    async def said(self, messages: Sequence[Message]) -> None:
        """Publish a message, or the pictures of an album as one. Service messages are none."""
        if not any(map(_has_content, messages)):
            return
        admission = await self.admission(messages)
        if admission is None:
            return
        content = await self._contents.of(messages, admission, await self._shown_to(messages))
        if content is not None:
            await self._publish_said(messages, admission, content)
        self._contents.published(messages, admission)

    async def _publish_said(self, messages: Sequence[Message], admission: Admission, content: MessageContent) -> None:
        first = messages[0]
        await self._publish(
            InboundMessage(
                id=inbound_id(first.chat_id, first.message_id),
                address=address(await self._moved.original(first.chat_id), first),
                sender=sender_of(first),
                authority=admission.authority,
                text=content.text,
                files=content.files,
                chat_title=_title(first),
                quotes=content.quotes,
                to_bot=admission.to_bot,
            )
        )
        log.debug("telegram:%s: message %s is on the bus", first.chat_id, first.message_id)

    async def edited(self, message: Message) -> None:
        """Publish the new wording of a message; an edit that changes no words (a moving location) is none."""
        text = own_words(message, self._me)
        if not text:
            return
        admission = await self.admission([message])
        if admission is None:
            return
        original = inbound_id(message.chat_id, message.message_id)
        seconds = int(message.edit_date.timestamp()) if message.edit_date else 0
        await self._publish(
            InboundMessage(
                id=edit_id(original, seconds, message.text or message.caption or ""),
                address=address(await self._moved.original(message.chat_id), message),
                sender=sender_of(message),
                authority=admission.authority,
                text=text,
                chat_title=_title(message),
                corrects=original,
                to_bot=admission.to_bot,
            )
        )

    async def admission(self, messages: Sequence[Message]) -> Admission | None:
        """True if its sender may say this here."""
        return await self._access.admit(await self._contact(messages))

    async def hides_reply(self, message: Message) -> bool:
        """True if somebody is replied to whose words are not kept."""
        shows = await self._shown_to([message])
        return message.reply_to_message is not None and not shows(message.reply_to_message)

    async def _shown_to(self, messages: Sequence[Message]) -> Callable[[Message], bool]:
        """Tell of a message that is replied to whether it may be shown: of strangers in a group nothing is."""
        contact = await self._contact(messages)

        def shows(replied: Message) -> bool:
            author = replace(contact, sender=sender_of(replied), is_bot=is_nobody(replied))
            return replied.from_user == self._me or self._access.shows(author)

        return shows

    async def _contact(self, messages: Sequence[Message]) -> Contact:
        first, chat = messages[0], await self._moved.original(messages[0].chat_id)
        is_theirs = not any(map(is_passed_on, messages))
        ways = {meant(message, self._me) if is_theirs else "none" for message in messages}
        return Contact(
            id=inbound_id(first.chat_id, first.message_id),
            address=address(chat, first),
            sender=sender_of(first),
            groups=() if is_private(first) else tuple(dict.fromkeys((str(chat), str(first.chat_id)))),
            meant=next(way for way in _STRONGEST if way in ways),
            text=own_words(first, self._me) if is_theirs else "",
            is_bot=is_nobody(first),
        )

    async def apologize(self, messages: Sequence[Message]) -> None:
        """A bug kept us from reading this; whoever may talk is told."""
        admission = await self.admission(messages)
        if admission is not None and admission.to_bot:
            await self._answers.tell(messages[0], "bug")

    async def set_aside(self, messages: Sequence[Message]) -> None:
        """The process kept ending while these were read: publish the words alone, and tell whoever may talk."""
        admission = await self.admission(messages)
        if admission is None:
            return
        text = "\n".join(filter(None, (own_words(message, self._me) for message in messages)))
        if admission.to_bot:
            await self._answers.tell(messages[0], "words_only" if text else "set_aside")
        if text:
            await self._publish_said(messages, admission, MessageContent(f"{text}\n[this could not be read whole]"))


def _has_content(message: Message) -> bool:
    return bool(message.text or message.caption or files_in(message) or sign_of(message) or has_card(message))


def _title(message: Message) -> str:
    return "" if is_private(message) else plain_name(message.chat.title or "")
