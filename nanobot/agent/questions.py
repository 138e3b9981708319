"""Questions that wait for a person."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from nanobot.authority import may_answer
from nanobot.ids import new_id
from nanobot.messages import Button, InboundMessage, OutboundMessage
from nanobot.ports import Bus, Caller


@dataclass(frozen=True, slots=True)
class _Question:
    """A question that waits: on whose behalf it was asked, what can be chosen, and who waits for it."""

    caller: Caller
    values: frozenset[str]
    answer: asyncio.Future[str]

    def is_for(self, message: InboundMessage) -> bool:
        """Whether it is answered there, and by one of its buttons."""
        return message.address == self.caller.address and message.text in self.values and not self.answer.done()

    def may_be_answered_by(self, message: InboundMessage) -> bool:
        is_same = message.sender.id == self.caller.person != ""
        return may_answer(self.caller.authority, message.authority, is_same_person=is_same)


class Questions:
    """The Asker: sends a question with buttons and hands the choice back to who asked."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._open: dict[str, _Question] = {}

    async def ask(self, caller: Caller, question: str, choices: Sequence[Button]) -> str:
        question_id = new_id()
        values = frozenset(button.value for button in choices)
        waiting = _Question(caller, values, asyncio.get_running_loop().create_future())
        self._open[question_id] = waiting
        try:
            await self._bus.send(
                OutboundMessage(
                    id=question_id, address=caller.address, text=question, kind="question", buttons=tuple(choices)
                )
            )
            return await waiting.answer
        finally:
            del self._open[question_id]

    def answer(self, message: InboundMessage) -> bool:
        """Hand on a chosen button; False if nothing (any longer) waits for it there.

        A button that somebody presses whose decision it is not does nothing.
        """
        question = self._open.get(message.answers or "")
        if question is None or not question.is_for(message):
            return False
        if question.may_be_answered_by(message):
            question.answer.set_result(message.text)
        return True
