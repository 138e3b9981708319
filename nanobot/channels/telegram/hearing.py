"""What people say: from Telegram's message to ours."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from telegram import Message, User

from nanobot.channels.access import Admission, Contact, Meant
from nanobot.channels.telegram.addressed import is_passed_on, meant, own_words
from nanobot.channels.telegram.answers import Answers
from nanobot.channels.telegram.arriving import files_in
from nanobot.channels.telegram.chats import Moved
from nanobot.channels.telegram.contents import Content, Contents
from nanobot.channels.telegram.downloads import Downloads
from nanobot.channels.telegram.ids import inbound_id
from nanobot.channels.telegram.people import address, is_nobody, is_private, plain_name, sender_of
from nanobot.channels.telegram.quoting import has_card, sign_of
from nanobot.channels.telegram.settings import House
from nanobot.messages import InboundMessage
from nanobot.ports import Publish

log = logging.getLogger(__name__)

_STRONGEST: Sequence[Meant] = ("command", "mention", "reply", "other", "none")


class Hearing:
    """Lets through the door who may talk, and publishes what they say. Everything here may raise StoreError."""

    def __init__(self, me: User, house: House, downloads: Downloads, moved: Moved, publish: Publish) -> None:
        """`me` is who the bot is on Telegram."""
        self._me = me
        self._door = house.door
        self._answers = Answers(house, moved)
        self._contents = Contents(me, house, downloads, self._answers)
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

    async def _publish_said(self, messages: Sequence[Message], admission: Admission, content: Content) -> None:
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
        digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]  # two edits may come within a second
        await self._publish(
            InboundMessage(
                id=f"{original}:edit:{seconds}:{digest}",
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
        """Whether its sender may say this here."""
        return await self._door.admit(await self._contact(messages))

    async def hides_reply(self, message: Message) -> bool:
        """Whether somebody is replied to whose words are not kept."""
        shows = await self._shown_to([message])
        return message.reply_to_message is not None and not shows(message.reply_to_message)

    async def _shown_to(self, messages: Sequence[Message]) -> Callable[[Message], bool]:
        """Tell of a message that is replied to whether it may be shown: of strangers in a group nothing is."""
        contact = await self._contact(messages)

        def shows(replied: Message) -> bool:
            author = replace(contact, sender=sender_of(replied), is_bot=is_nobody(replied))
            return replied.from_user == self._me or self._door.shows(author)

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
            await self._publish_said(messages, admission, Content(f"{text}\n[this could not be read whole]"))


def _has_content(message: Message) -> bool:
    return bool(message.text or message.caption or files_in(message) or sign_of(message) or has_card(message))


def _title(message: Message) -> str:
    return "" if is_private(message) else plain_name(message.chat.title or "")
