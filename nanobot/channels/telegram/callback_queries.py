"""Buttons under messages, and the callback queries that pressing them makes.

Telegram hands back at most 64 bytes of a choice, so what stands behind it is kept here.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

import msgspec
from telegram import CallbackQuery, InlineKeyboardButton, InlineKeyboardMarkup, Message

from nanobot.channels.access import Contact
from nanobot.channels.platform import DeliveryError
from nanobot.channels.registry import ChannelServices
from nanobot.channels.telegram.api import Api
from nanobot.channels.telegram.chats import ChatMigrations, address, is_private, person
from nanobot.channels.telegram.settings import inbound_id
from nanobot.i18n import say
from nanobot.messages import Button, InboundMessage
from nanobot.ports import Bookmarks, Publish

log = logging.getLogger(__name__)

_PREFIX = "telegram:keyboard:"
_CHOSEN = "chosen"
_REMEMBERED = 200
"""Choices that are over of which a further press is told what came, though the screen does not show it yet."""

_ROW = 24
"""Characters of labels that stand well side by side on a phone."""


@dataclass(frozen=True, slots=True)
class ButtonChoice:
    """Choice of a button: the id of the question, and the value.

    `holds_up_a_turn`: somebody waits for it, who knows whose decision it is, and settles the question.
    """

    answers: str
    value: str
    holds_up_a_turn: bool


class _Offer(msgspec.Struct):
    answers: str
    values: list[str]
    holds_up_a_turn: bool = False


class Keyboards:
    """Makes buttons, and knows what those that were pressed stand for."""

    def __init__(self, bookmarks: Bookmarks) -> None:
        self._bookmarks = bookmarks
        self._outcomes: OrderedDict[str, str] = OrderedDict()  # of the newest ones that are over

    async def offer(
        self, question: str, buttons: Sequence[Button], *, holds_up_a_turn: bool
    ) -> InlineKeyboardMarkup | None:
        """The keyboard for a question with this id; None if nothing is offered. Raises StoreError."""
        if not buttons:
            return None
        name = _name(question)
        offer = _Offer(question, [button.value for button in buttons], holds_up_a_turn)
        await self._bookmarks.mark(_PREFIX + name, msgspec.json.encode(offer).decode())
        keys = [InlineKeyboardButton(each.label, callback_data=f"{name}:{n}") for n, each in enumerate(buttons)]
        is_short = sum(len(each.label) for each in buttons) <= _ROW
        return InlineKeyboardMarkup([keys] if is_short else [[key] for key in keys])

    async def chosen(self, data: str) -> ButtonChoice | None:
        """Return the choice behind a button; None if the question is over. Raises StoreError."""
        name, _, number = data.partition(":")
        offers = await self._bookmarks.marks(_PREFIX + name)
        if not number.isdecimal() or _PREFIX + name not in offers:
            return None
        offer = msgspec.json.decode(offers[_PREFIX + name], type=_Offer)
        if int(number) >= len(offer.values):
            return None
        return ButtonChoice(offer.answers, offer.values[int(number)], offer.holds_up_a_turn)

    async def close(self, data: str, keyboard: InlineKeyboardMarkup | None) -> None:
        """The choice was made. Raises StoreError."""
        name = data.partition(":")[0]
        self._over(name, _label(marked(keyboard, data)))
        await self._bookmarks.mark(_PREFIX + name, "")

    async def close_question(self, question: str, became: str) -> None:
        """Nobody waits for the choice any more, and this came of it. Raises StoreError."""
        self._over(_name(question), became)
        await self._bookmarks.mark(_PREFIX + _name(question), "")

    def became(self, data: str, keyboard: InlineKeyboardMarkup | None) -> str:
        """In a word or two, what came of a choice that is over; "" if it is not known any more."""
        return self._outcomes.get(data.partition(":")[0], "") or _label(keyboard)

    def _over(self, name: str, became: str) -> None:
        self._outcomes[name] = became
        if len(self._outcomes) > _REMEMBERED:
            self._outcomes.popitem(last=False)


def marked(keyboard: InlineKeyboardMarkup | None, data: str) -> InlineKeyboardMarkup | None:
    """Return the text below a question after this choice."""
    keys = [key for row in keyboard.inline_keyboard for key in row if key.callback_data == data] if keyboard else []
    return outcome(f"✓ {keys[0].text}") if keys else None


def _label(keyboard: InlineKeyboardMarkup | None) -> str:
    """The outcome that stands under a question; "" if there are choices, or nothing."""
    keys = [key for row in keyboard.inline_keyboard for key in row] if keyboard else []
    return keys[0].text if len(keys) == 1 and keys[0].callback_data == _CHOSEN else ""


def outcome(text: str) -> InlineKeyboardMarkup:
    """Return the text below a question that is over."""
    return InlineKeyboardMarkup([[InlineKeyboardButton(text, callback_data=_CHOSEN)]])


def _name(question: str) -> str:
    return hashlib.sha256(question.encode()).hexdigest()[:24]


class CallbackQueries:
    """Publishes the first choice of somebody who may talk, and shows below the question that it was made.

    In a group, who may answer a question of a running turn is not decided here; what came of it is shown by `settle`.
    """

    def __init__(
        self, api: Api, services: ChannelServices, keyboards: Keyboards, moved: ChatMigrations, publish: Publish
    ) -> None:
        self._api = api
        self._services = services
        self._keyboards = keyboards
        self._moved = moved
        self._publish = publish

    async def pressed(self, press: CallbackQuery) -> None:
        """Deal with a press. Raises StoreError."""
        question, data = press.message, press.data or ""
        if not isinstance(question, Message):  # too old for Telegram to show it
            await self._done(press.answer())
            return
        choice = await self._keyboards.chosen(data)
        if choice is None:
            where = address(await self._moved.original(question.chat_id), question)
            language, became = self._services.language(where), self._keyboards.became(data, question.reply_markup)
            over = say("telegram.choice_made", language, outcome=became) if became else ""
            await self._done(press.answer(over or say("telegram.choice_over", language)))
            return
        may_wait = choice.holds_up_a_turn and not is_private(question)  # not everybody in a group may decide
        if await self._publishes(press, question, choice) and not may_wait:
            await self._keyboards.close(data, question.reply_markup)
            await self._done(question.edit_reply_markup(marked(question.reply_markup, data)))
        await self._done(press.answer())

    async def _publishes(self, press: CallbackQuery, question: Message, choice: ButtonChoice) -> bool:
        chat = await self._moved.original(question.chat_id)
        groups = () if is_private(question) else tuple(dict.fromkeys((str(chat), str(question.chat_id))))
        inbound = f"{inbound_id(question.chat_id, question.message_id)}:press:{press.from_user.id}"
        where, who = address(chat, question), person(press.from_user)
        contact = Contact(
            id=inbound, address=where, sender=who, groups=groups, meant="mention", is_bot=press.from_user.is_bot
        )
        admission = await self._services.access.admit(contact)
        if admission is None:
            return False
        await self._publish(
            InboundMessage(
                id=inbound,
                address=where,
                sender=who,
                authority=admission.authority,
                text=choice.value,
                answers=choice.answers,
            )
        )
        return True

    async def _done(self, request: Awaitable[object]) -> None:
        """Show the effect of a press; a failure is not retried."""
        try:
            await self._api.ask(request)
        except DeliveryError as error:
            log.info("%s", error)
