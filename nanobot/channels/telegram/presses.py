"""What people choose with buttons."""

import logging
from collections.abc import Awaitable

from telegram import CallbackQuery, Message

from nanobot.channels.access import Contact
from nanobot.channels.platform import DeliveryError
from nanobot.channels.telegram.api import Api
from nanobot.channels.telegram.ids import inbound_id
from nanobot.channels.telegram.keyboards import Choice, Keyboards, marked
from nanobot.channels.telegram.moved import Moved
from nanobot.channels.telegram.people import address, is_private, person
from nanobot.channels.telegram.settings import House
from nanobot.i18n import say
from nanobot.messages import InboundMessage
from nanobot.ports import Publish

log = logging.getLogger(__name__)


class Presses:
    """Publishes the first choice of somebody who may talk, and shows below the question that it was made.

    In a group, who may answer a question of a running turn is not decided here; what came of it is shown by `settle`.
    """

    def __init__(self, api: Api, house: House, keyboards: Keyboards, moved: Moved, publish: Publish) -> None:
        self._api = api
        self._house = house
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
            language, became = self._house.language(where), self._keyboards.became(data, question.reply_markup)
            over = say("telegram.choice_made", language, outcome=became) if became else ""
            await self._done(press.answer(over or say("telegram.choice_over", language)))
            return
        may_wait = choice.holds_up_a_turn and not is_private(question)  # not everybody in a group may decide
        if await self._publishes(press, question, choice) and not may_wait:
            await self._keyboards.close(data, question.reply_markup)
            await self._done(question.edit_reply_markup(marked(question.reply_markup, data)))
        await self._done(press.answer())

    async def _publishes(self, press: CallbackQuery, question: Message, choice: Choice) -> bool:
        chat = await self._moved.original(question.chat_id)
        groups = () if is_private(question) else tuple(dict.fromkeys((str(chat), str(question.chat_id))))
        inbound = f"{inbound_id(question.chat_id, question.message_id)}:press:{press.from_user.id}"
        where, who = address(chat, question), person(press.from_user)
        contact = Contact(
            id=inbound, address=where, sender=who, groups=groups, meant="mention", is_bot=press.from_user.is_bot
        )
        admission = await self._house.door.admit(contact)
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
        """What is shown about a press helps, but is not worth a second try."""
        try:
            await self._api.ask(request)
        except DeliveryError as error:
            log.info("%s", error)
