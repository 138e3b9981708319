"""Sending on Telegram: how a message of the bot looks, and the single requests that show it."""

import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from telegram import BotCommand, InputFile, LinkPreviewOptions, Message, MessageEntity, ReplyParameters
from telegram.constants import ChatAction
from telegram.error import ChatMigrated

from nanobot.channels.platform import GoneError, LostPreviewError, MessagePart, RejectedError
from nanobot.channels.registry import MenuCommand
from nanobot.channels.telegram.api import Api, BadPictureError, TelegramTopicLostError, UnchangedError
from nanobot.channels.telegram.callback_queries import Keyboards, outcome
from nanobot.channels.telegram.chats import ChatMigrations
from nanobot.channels.telegram.markdown import CAPTION_LIMIT, TEXT_LIMIT, RichText, plain, telegram_parts
from nanobot.channels.telegram.settings import NAME, message_in, placed, platform_id
from nanobot.errors import StoreError
from nanobot.i18n import LANGUAGES, Language, platform_codes, say
from nanobot.messages import Address, Attachment, OutboundMessage
from nanobot.ports import Bookmarks, Media

# Commands and the menu.


_PREFIX = "telegram:menu:"
_LONGEST = 256


class Spelling:
    """Writes /dream-log as /dream_log, wherever it stands in a text. Typed, both are understood everywhere."""

    def __init__(self, names: Iterable[str]) -> None:
        """`names` are those of all commands."""
        hyphenated = "|".join(re.escape(name) for name in names if "-" in name)
        self._commands = re.compile(rf"(?<![A-Za-z0-9_/])/(?:{hyphenated})(?![A-Za-z0-9_-])") if hyphenated else None

    def __call__(self, text: str) -> str:
        if self._commands is None:
            return text
        return self._commands.sub(lambda found: name_here(found[0]), text)


def name_here(name: str) -> str:
    """A command's name as Telegram knows it."""
    return name.replace("-", "_")


class Menu:
    """Commands of Telegram hold letters, digits and `_` only: /dream-restore is shown as /dream_restore."""

    def __init__(self, api: Api, bookmarks: Bookmarks, commands: Sequence[MenuCommand]) -> None:
        self._api = api
        self._bookmarks = bookmarks
        self._commands = commands

    async def update(self) -> None:
        """Tell Telegram, if anything has changed since it was told. Raises TelegramError, StoreError."""
        codes: Mapping[Language, Sequence[str | None]] = {
            language: platform_codes(language, "telegram") or [None] for language in LANGUAGES
        }
        menus = {code: self._menu(language) for language, known in codes.items() for code in known}
        key, state = f"{_PREFIX}{self._api.me.id}", hashlib.sha256(repr(menus).encode()).hexdigest()
        if (await self._bookmarks.marks(key)).get(key) == state:
            return
        for code, menu in menus.items():
            await self._api.bot.set_my_commands([BotCommand(*row) for row in menu], language_code=code)
        await self._bookmarks.mark(key, state)

    def _menu(self, language: Language) -> list[tuple[str, str]]:
        spelled = Spelling(each.name for each in self._commands)
        return [(name_here(each.name), spelled(each.help[language])[:_LONGEST]) for each in self._commands]


# Parts of a message.


MB = 1_000_000
PHOTO_BYTES = 10 * MB
_PHOTOS = ("image/jpeg", "image/png", "image/webp")
_MARK_ROOM = 64
"""UTF-16 units that are left free in each part for the mark of a repetition, so that it is cut in the same places."""


@dataclass(frozen=True, slots=True)
class TelegramBody:
    """A text as Telegram shows it; `question` is the id of the message whose buttons stand below it.

    `holds_up_a_turn` is the question's, as in OutboundMessage.
    """

    text: RichText
    question: str = ""
    holds_up_a_turn: bool = False


class Wording:
    """Cuts messages into parts."""

    def __init__(self, media: Media, language: Callable[[Address], Language], largest: int, spelling: Spelling) -> None:
        """`largest` is the size of a file, in bytes, above which it cannot be sent."""
        self._spelling = spelling
        self._media = media
        self._language = language
        self._largest = largest

    def parts(self, message: OutboundMessage, *, repeat: bool) -> Sequence[MessagePart]:
        """As Platform.parts."""
        language = self._language(message.address)
        if message.kind != "answer":  # those are our own words
            message = replace(message, text=self._spelling(message.text))
        mark = say("telegram.repeat", language) + " " if repeat else ""
        if part := self._captioned(message, mark):
            return [part]
        texts = telegram_parts(message.text, TEXT_LIMIT - _MARK_ROOM)
        if not texts and not message.files:
            texts = [RichText(say("telegram.empty", language))]
        parts = [MessagePart(TelegramBody(_marked(text, mark))) for text in texts]
        parts += [self._file(file, language) for file in message.files]
        if message.buttons:
            parts = list(_with_buttons(parts, message))
        return parts

    def simpler(self, part: MessagePart) -> MessagePart | None:
        """As Platform.simpler."""
        body = part.body
        if isinstance(body, TelegramBody) and body.text.entities:
            return replace(part, body=replace(body, text=plain(body.text, TEXT_LIMIT)))
        return replace(part, buttons=()) if part.buttons else None

    def preview(self, text: str) -> Sequence[MessagePart]:
        """As Platform.preview."""
        return [MessagePart(TelegramBody(each)) for each in telegram_parts(text, TEXT_LIMIT - _MARK_ROOM, growing=True)]

    def is_photo(self, file: Attachment) -> bool:
        """True if Telegram shows this file as a picture."""
        return file.mime in _PHOTOS and (self._size(file) or 0) <= PHOTO_BYTES

    def _captioned(self, message: OutboundMessage, mark: str) -> MessagePart | None:
        """One file with a short text is one message, unless the text was already shown growing, as a text."""
        if len(message.files) != 1 or message.turn is not None or message.buttons:
            return None
        part = self._file(message.files[0], self._language(message.address))
        texts = telegram_parts(message.text, CAPTION_LIMIT - _MARK_ROOM)
        if part.file is None or len(texts) != 1:
            return None
        return replace(part, body=TelegramBody(_marked(texts[0], mark)))

    def _file(self, file: Attachment, language: Language) -> MessagePart:
        size, name = self._size(file), file.name or file.path.rpartition("/")[2]
        if size is None:
            return MessagePart(TelegramBody(RichText(say("telegram.file_missing", language, name=name))))
        if size > self._largest:
            figures = {"size": -(-size // MB), "most": self._largest // MB}
            return MessagePart(
                TelegramBody(RichText(say("telegram.file_too_big", language, name=name, path=file.path, **figures)))
            )
        return MessagePart(file=file)

    def _size(self, file: Attachment) -> int | None:
        """In bytes; None for what is not there, and for an empty file, which Telegram refuses."""
        try:
            return self._media.path(file).stat().st_size or None
        except (OSError, StoreError):
            return None


def _marked(text: RichText, mark: str) -> RichText:
    shift = len(mark.encode("utf-16-le")) // 2
    return RichText(mark + text.text, tuple(replace(each, offset=each.offset + shift) for each in text.entities))


def _with_buttons(parts: Sequence[MessagePart], message: OutboundMessage) -> Iterator[MessagePart]:
    """The buttons stand below the last text."""
    last = max((number for number, part in enumerate(parts) if part.file is None), default=-1)
    for number, part in enumerate(parts):
        if number == last and isinstance(part.body, TelegramBody):
            body = replace(part.body, question=message.id, holds_up_a_turn=message.holds_up_a_turn)
            yield MessagePart(body, buttons=message.buttons)
        else:
            yield part


# The sender.


T = TypeVar("T")

_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)


class TelegramSender:
    """Fulfils the protocol Platform."""

    def __init__(self, api: Api, wording: Wording, media: Media, moved: ChatMigrations, keyboards: Keyboards) -> None:
        self._api = api
        self._wording = wording
        self._media = media
        self._moved = moved
        self._keyboards = keyboards

    @property
    def name(self) -> str:
        return NAME

    @property
    def can_find(self) -> bool:
        """A bot cannot look into a chat."""
        return False

    def parts(self, message: OutboundMessage, *, repeat: bool = False) -> Sequence[MessagePart]:
        return self._wording.parts(message, repeat=repeat)

    def simpler(self, part: MessagePart) -> MessagePart | None:
        return self._wording.simpler(part)

    def preview(self, text: str) -> Sequence[MessagePart]:
        return self._wording.preview(text)

    async def send(self, message: OutboundMessage, part: MessagePart, number: int) -> str:
        return await self._show(message.address, part, message.reply_to if number == 0 else None)

    async def send_preview(
        self, address: Address, turn: str, part: MessagePart, name: str, *, reply_to: str | None = None
    ) -> str:
        return await self._show(address, part, reply_to)

    async def edit(self, address: Address, platform_id: str, part: MessagePart) -> None:
        if part.file is not None or not isinstance(part.body, TelegramBody):
            raise LostPreviewError("a text on Telegram cannot become a file")
        chat, number = placed(platform_id)
        body = part.body
        keyboard = await self._keyboards.offer(body.question, part.buttons, holds_up_a_turn=body.holds_up_a_turn)
        request = self._api.bot.edit_message_text(
            body.text.text,
            chat_id=chat,
            message_id=number,
            entities=_entities(body),
            link_preview_options=_NO_PREVIEW,
            reply_markup=keyboard,
        )
        await self._change(request)

    async def delete(self, address: Address, platform_id: str) -> None:
        chat, number = placed(platform_id)
        try:
            await self._change(self._api.bot.delete_message(chat, number))
        except LostPreviewError as error:
            if "not found" not in str(error):
                raise

    async def settle(self, message: OutboundMessage, platform_id: str) -> None:
        await self._keyboards.close_question(message.settles or "", message.text)
        chat, number = placed(platform_id)
        request = self._api.bot.edit_message_reply_markup(chat, number, reply_markup=outcome(message.text))
        await self._change(request)

    async def _change(self, request: Awaitable[object]) -> None:
        """Change what stands in a chat. What is so already is fine; in a chat that became another it is lost."""
        try:
            await self._api.ask(request)
        except UnchangedError:
            return
        except ChatMigrated as error:
            raise LostPreviewError("the group has become a supergroup") from error

    async def typing(self, address: Address) -> None:
        await self._there(
            address,
            lambda chat, thread: self._api.bot.send_chat_action(chat, ChatAction.TYPING, message_thread_id=thread),
        )

    async def find(
        self, message: OutboundMessage, part: MessagePart, number: int, *, known: Collection[str] = ()
    ) -> str | None:
        """Nothing: see `can_find`."""
        return None

    async def _show(self, address: Address, part: MessagePart, reply_to: str | None) -> str:
        body = part.body if isinstance(part.body, TelegramBody) else None
        if part.file is not None:
            shown = await self._show_file(address, part.file, body, reply_to)
        elif body is not None:
            shown = await self._show_text(address, body, part, reply_to)
        else:
            raise RejectedError("a part holds neither text nor a file")
        return platform_id(shown.chat_id, shown.message_id)

    async def _show_text(
        self, address: Address, body: TelegramBody, part: MessagePart, reply_to: str | None
    ) -> Message:
        keyboard = await self._keyboards.offer(body.question, part.buttons, holds_up_a_turn=body.holds_up_a_turn)
        return await self._there(
            address,
            lambda chat, thread: self._api.bot.send_message(
                chat,
                body.text.text,
                entities=_entities(body),
                message_thread_id=thread,
                reply_parameters=_reply(chat, reply_to),
                link_preview_options=_NO_PREVIEW,
                reply_markup=keyboard,
            ),
        )

    async def _show_file(
        self, address: Address, file: Attachment, body: TelegramBody | None, reply_to: str | None
    ) -> Message:
        caption = body.text.text if body else None
        entities = _entities(body) if body else None
        is_photo = self._wording.is_photo(file)

        async def upload(chat: int, thread: int | None) -> Message:
            with self._media.path(file).open("rb") as content:  # afresh each time: a second request sends all of it
                send = self._api.bot.send_photo if is_photo else self._api.bot.send_document
                return await send(
                    chat,
                    InputFile(content, file.name or None, read_file_handle=False),
                    caption=caption,
                    caption_entities=entities,
                    message_thread_id=thread,
                    reply_parameters=_reply(chat, reply_to),
                )

        try:
            return await self._there(address, upload)
        except BadPictureError:
            if not is_photo:
                raise
            is_photo = False  # too wide, or no picture at all: as a file it can be sent
            return await self._there(address, upload)
        except OSError as error:
            raise RejectedError(f"{file.path} cannot be read: {error.strerror or error}") from error

    async def _there(self, address: Address, request: Callable[[int, int | None], Awaitable[T]]) -> T:
        """Make a request where an address is now: a group may have moved, a topic may be gone."""
        if not address.chat.removeprefix("-").isdecimal():
            raise GoneError(f"there is no chat {address.chat!r} on Telegram")
        chat = await self._moved.current(int(address.chat))
        thread = int(address.topic) if address.topic else None
        try:
            return await self._api.ask(request(chat, thread))
        except ChatMigrated as error:
            await self._moved.learn(chat, error.new_chat_id)
            return await self._api.ask(request(error.new_chat_id, thread))
        except TelegramTopicLostError:
            if thread is None:
                raise
            return await self._api.ask(request(chat, None))


def _entities(body: TelegramBody) -> list[MessageEntity]:
    return [
        MessageEntity(each.kind, each.offset, each.length, url=each.url, language=each.language)
        for each in body.text.entities
    ]


def _reply(chat: int, reply_to: str | None) -> ReplyParameters | None:
    number = message_in(chat, reply_to)
    return None if number is None else ReplyParameters(number, allow_sending_without_reply=True)
