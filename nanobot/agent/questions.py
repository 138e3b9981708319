"""Questions that wait for a person."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from nanobot.agent.conversation import Conversations
from nanobot.authority import may_answer
from nanobot.errors import StoreError
from nanobot.i18n import Language, say
from nanobot.i18n.consent import picked
from nanobot.ids import new_id
from nanobot.messages import Address, Button, InboundMessage, OutboundMessage, Progress, ProgressKind
from nanobot.ports import Bus, Caller
from nanobot.uncancelled import to_the_end

log = logging.getLogger(__name__)

Aside = Callable[[str], AbstractAsyncContextManager[None]]

_NO = "no"


@dataclass(slots=True)
class _Question:
    """A question that waits: on whose behalf it was asked, what can be chosen, and who waits for it."""

    caller: Caller
    choices: Sequence[Button]
    answer: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    hinted: bool = False

    def is_for(self, message: InboundMessage) -> bool:
        """Whether it waits, and is answered there."""
        return message.address == self.caller.address and not self.answer.done()

    def may_be_answered_by(self, message: InboundMessage) -> bool:
        is_same = message.sender.id == self.caller.person != ""
        return may_answer(self.caller.authority, message.authority, is_same_person=is_same)

    def meant(self, typed: str) -> str | None:
        """The value of the button that typed words mean, if any."""
        refusals = [place for place, button in enumerate(self.choices) if button.value == _NO]
        place = picked([button.label for button in self.choices], typed, refusals[0] if refusals else None)
        return None if place is None else self.choices[place].value

    @property
    def is_refused(self) -> bool:
        return self.answer.done() and not self.answer.cancelled() and self.answer.result() == _NO

    def outcome(self) -> str:
        """What came of it, in a word or two."""
        labels = {button.value: button.label for button in self.choices}
        if not self.answer.done() or self.answer.cancelled():
            return f"✗ {say('tools.over', self.caller.language)}"
        value = self.answer.result()
        return f"{'✗' if value == _NO else '✓'} {labels[value]}"


class Questions:
    """The Asker: sends a question with buttons and hands the choice back to who asked.

    That it waits stands in the session, so that nobody takes what was not allowed for done after a crash. When it is
    over, however that came, its buttons go.
    """

    def __init__(self, bus: Bus, conversations: Conversations, aside: Aside) -> None:
        """`aside` lets other sessions go on while the one with this key waits."""
        self._bus = bus
        self._conversations = conversations
        self._aside = aside
        self._open: dict[str, _Question] = {}

    async def ask(self, caller: Caller, question: str, choices: Sequence[Button]) -> str:
        async with self._aside(caller.address.session_key):
            asked = _Question(caller, choices)
            async with self._recorded(asked):
                question_id = new_id()
                message = OutboundMessage(
                    id=question_id, address=caller.address, text=question, kind="question", buttons=tuple(choices)
                )
                self._open[question_id] = asked
                try:
                    await self._bus.send(message)
                    return await asked.answer
                finally:
                    del self._open[question_id]
                    await to_the_end(self._settle(question_id, asked))

    @asynccontextmanager
    async def _recorded(self, asked: _Question) -> AsyncIterator[None]:
        """While it is open the session says so, and the person sees what is waited for."""
        caller = asked.caller
        conversation = await self._conversations.open(caller.address.session_key)
        await conversation.asked(caller.turn, is_open=True)
        self._show(caller, "asking", say("tools.waiting", caller.language))
        yield
        await conversation.asked(caller.turn, is_open=False)
        self._show(caller, "refused" if asked.is_refused else "asking")

    async def _settle(self, question_id: str, asked: _Question) -> None:
        """Have its buttons taken away. Where that cannot be written down, the next start does it."""
        caller, text = asked.caller, asked.outcome()
        try:
            await self._bus.send(_settles(question_id, caller.address, text))
        except StoreError as error:
            log.warning("%s: question %s keeps its buttons: %s", caller.address.session_key, question_id, error)

    def _show(self, caller: Caller, kind: ProgressKind, text: str = "") -> None:
        self._bus.show(Progress(address=caller.address, turn=caller.turn, kind=kind, text=text))

    def answer(self, message: InboundMessage) -> bool:
        """Hand on a chosen button; False if nothing (any longer) waits for it there.

        A button that somebody presses whose decision it is not does nothing.
        """
        question = self._open.get(message.answers or "")
        values = [button.value for button in question.choices] if question else []
        if question is None or message.text not in values or not question.is_for(message):
            return False
        if question.may_be_answered_by(message):
            question.answer.set_result(message.text)
        return True

    def answer_typed(self, message: InboundMessage) -> bool:
        """Take typed words for a button; False if nothing waits for them there, or they say anything else.

        They say nothing to a question that has not been shown yet, because the platform could not be reached.
        """
        question = self._waiting_for(message, is_shown=True)
        value = question.meant(message.text) if question else None
        if question is None or value is None:
            return False
        question.answer.set_result(value)
        return True

    def hint(self, message: InboundMessage) -> bool:
        """Whether its sender should be told that something waits for their answer; True once for each question.

        Only whoever caused it is: a script of theirs, which speaks for itself, wants its own answer.
        """
        question = self._waiting_for(message)
        if question is None or question.hinted or message.sender.id != question.caller.person:
            return False
        question.hinted = True
        return True

    def newest(self, message: InboundMessage) -> str:
        """The id of the newest question there, "" if none waits. Ids sort by the time they were made."""
        return max((name for name, each in self._open.items() if each.is_for(message)), default="")

    def _waiting_for(self, message: InboundMessage, *, is_shown: bool = False) -> _Question | None:
        """The question that waits for its sender's answer; with `is_shown` only one that they have seen."""
        if message.files or message.corrects or not message.to_bot:
            return None
        asked = {name: each for name, each in self._open.items() if each.is_for(message)}
        waiting = (each for name, each in asked.items() if not (is_shown and self._bus.is_underway(name)))
        return next((each for each in waiting if each.may_be_answered_by(message)), None)


def lapsed(question_id: str, address: Address, language: Language) -> OutboundMessage:
    """Settles a question of a process that died."""
    return _settles(question_id, address, f"✗ {say('tools.over', language)}")


def _settles(question_id: str, address: Address, text: str) -> OutboundMessage:
    return OutboundMessage(id=f"{question_id}:over", address=address, text=text, kind="notice", settles=question_id)
