"""Single requests that show something on Telegram."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeVar

from telegram import InputFile, LinkPreviewOptions, Message, MessageEntity, ReplyParameters
from telegram.constants import ChatAction
from telegram.error import ChatMigrated

from nanobot.channels.platform import GoneError, LostPreviewError, Part, RejectedError
from nanobot.channels.telegram.api import Api
from nanobot.channels.telegram.callback_queries import Keyboards, outcome
from nanobot.channels.telegram.chats import Moved
from nanobot.channels.telegram.failures import BadPictureError, LostThreadError, UnchangedError
from nanobot.channels.telegram.ids import NAME, message_in, placed, platform_id
from nanobot.channels.telegram.wording import Body, Wording
from nanobot.messages import Address, Attachment, OutboundMessage
from nanobot.ports import Media

T = TypeVar("T")

_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)


class Sending:
    """Fulfils the protocol Platform."""

    def __init__(self, api: Api, wording: Wording, media: Media, moved: Moved, keyboards: Keyboards) -> None:
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

    def parts(self, message: OutboundMessage, *, repeat: bool = False) -> Sequence[Part]:
        return self._wording.parts(message, repeat=repeat)

    def simpler(self, part: Part) -> Part | None:
        return self._wording.simpler(part)

    def preview(self, text: str) -> Sequence[Part]:
        return self._wording.preview(text)

    async def send(self, message: OutboundMessage, part: Part, number: int) -> str:
        return await self._show(message.address, part, message.reply_to if number == 0 else None)

    async def send_preview(
        self, address: Address, turn: str, part: Part, name: str, *, reply_to: str | None = None
    ) -> str:
        return await self._show(address, part, reply_to)

    async def edit(self, address: Address, platform_id: str, part: Part) -> None:
        if part.file is not None or not isinstance(part.body, Body):
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
        self, message: OutboundMessage, part: Part, number: int, *, known: Collection[str] = ()
    ) -> str | None:
        """Nothing: see `can_find`."""
        return None

    async def _show(self, address: Address, part: Part, reply_to: str | None) -> str:
        body = part.body if isinstance(part.body, Body) else None
        if part.file is not None:
            shown = await self._show_file(address, part.file, body, reply_to)
        elif body is not None:
            shown = await self._show_text(address, body, part, reply_to)
        else:
            raise RejectedError("a part holds neither text nor a file")
        return platform_id(shown.chat_id, shown.message_id)

    async def _show_text(self, address: Address, body: Body, part: Part, reply_to: str | None) -> Message:
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

    async def _show_file(self, address: Address, file: Attachment, body: Body | None, reply_to: str | None) -> Message:
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
        except LostThreadError:
            if thread is None:
                raise
            return await self._api.ask(request(chat, None))


def _entities(body: Body) -> list[MessageEntity]:
    return [
        MessageEntity(each.kind, each.offset, each.length, url=each.url, language=each.language)
        for each in body.text.entities
    ]


def _reply(chat: int, reply_to: str | None) -> ReplyParameters | None:
    number = message_in(chat, reply_to)
    return None if number is None else ReplyParameters(number, allow_sending_without_reply=True)
