"""Questions that wait for a person."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from nanobot.aio import shielded
from nanobot.authority import may_answer
from nanobot.core.conversation import Conversations
from nanobot.errors import StoreError
from nanobot.i18n import Language, picked, say
from nanobot.ids import new_id
from nanobot.messages import Address, Button, InboundMessage, OutboundMessage, Progress, ProgressKind
from nanobot.ports import Bus, Caller

log = logging.getLogger(__name__)

Aside = Callable[[str], AbstractAsyncContextManager[None]]

_NO = "no"
_REMEMBERED = 200
"""Questions that are over of which a further press is told what came."""


@dataclass(slots=True)
class _Question:
    """A question that waits: on whose behalf it was asked, what can be chosen, and who waits for it.

    `shown_as` is the id of the message with which it was shown last; `is_covered` if something newer was asked since.
    """

    caller: Caller
    text: str
    choices: Sequence[Button]
    shown_as: str
    answer: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    hinted: bool = False
    is_covered: bool = False

    def is_for(self, message: InboundMessage) -> bool:
        """True if it waits, and is answered there."""
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
        """Outcome of the question, in a word or two."""
        labels = {button.value: button.label for button in self.choices}
        if not self.answer.done() or self.answer.cancelled():
            return f"✗ {say('tools.over', self.caller.language)}"
        value = self.answer.result()
        return f"{'✗' if value == _NO else '✓'} {labels[value]}"


@dataclass(frozen=True, slots=True)
class TypedAnswer:
    """Outcome of typed words that a question took; `notice` is to be said to their sender."""

    notice: OutboundMessage | None = None


class ApprovalQuestions:
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
        self._outcomes: OrderedDict[str, str] = OrderedDict()  # of the newest ones that are over

    async def ask(self, caller: Caller, question: str, choices: Sequence[Button]) -> str:
        key = caller.address.session_key
        async with self._aside(key):
            await self._bus.rest(key)
            answer = await self._answered(_Question(caller, question, choices, new_id()))
        await self._bus.resume(key)
        return answer

    async def _answered(self, asked: _Question) -> str:
        caller, question_id = asked.caller, asked.shown_as
        async with self._recorded(asked):
            message = OutboundMessage(
                id=question_id, address=caller.address, text=asked.text, kind="question", buttons=tuple(asked.choices)
            )
            self.cover(caller.address)
            self._open[question_id] = asked
            try:
                await self._bus.send(message)
                return await asked.answer
            finally:
                del self._open[question_id]
                await shielded(self._settle(question_id, asked))

    @asynccontextmanager
    async def _recorded(self, asked: _Question) -> AsyncIterator[None]:
        """While it is open the session says so, and the person sees what is waited for."""
        caller = asked.caller
        conversation = await self._conversations.open(caller.address.session_key)
        await conversation.mark_asking(caller.turn, is_open=True)
        self._show(caller, "asking", say("tools.waiting", caller.language))
        yield
        await conversation.mark_asking(caller.turn, is_open=False)
        self._show(caller, "refused" if asked.is_refused else "asking")

    async def _settle(self, question_id: str, asked: _Question) -> None:
        """Have its buttons taken away. Where that cannot be written down, the next start does it."""
        caller, text = asked.caller, asked.outcome()
        self._outcomes[question_id] = text
        if len(self._outcomes) > _REMEMBERED:
            self._outcomes.popitem(last=False)
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

    def over(self, message: InboundMessage, language: Language) -> str:
        """A sentence for a button that is pressed when its question is over: what came of that, if it is known."""
        name = message.answers or ""
        question = self._open.get(name)
        outcome = question.outcome() if question and question.answer.done() else self._outcomes.get(name)
        if outcome is None:
            return say("command.question_over", language)
        return say("command.question_became", language, outcome=outcome)

    def answer_typed(self, message: InboundMessage) -> TypedAnswer | None:
        """Take typed words for a button; None if nothing waits for them there, or they say anything else.

        They say nothing to a question that has not been shown yet, because the platform could not be reached. One after
        which something else was asked is shown anew: they may have been meant for that.
        """
        question = self._waiting_for(message, is_shown=True)
        value = question.meant(message.text) if question else None
        if question is None or value is None:
            return None
        if question.is_covered:
            return TypedAnswer(_shown_again(question, message.id))
        question.answer.set_result(value)
        return TypedAnswer()

    def cover(self, address: Address) -> None:
        """Something newer was asked there: typed words are for that."""
        for question in self._open.values():
            if question.caller.address == address:
                question.is_covered = True

    def hint(self, message: InboundMessage) -> bool:
        """True if its sender should be told that something waits for their answer; True once for each question.

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
        """The newest question that waits for its sender's answer; with `is_shown` only one that they have seen."""
        if message.files or message.corrects or not message.to_bot:
            return None
        asked = [each for each in reversed(self._open.values()) if each.is_for(message)]
        waiting = (each for each in asked if not (is_shown and self._bus.is_underway(each.shown_as)))
        return next((each for each in waiting if each.may_be_answered_by(message)), None)


def _shown_again(question: _Question, reply_to: str) -> OutboundMessage:
    """From now on it is the newest."""
    caller = question.caller
    question.is_covered, question.shown_as = False, new_id()
    text = say("tools.asked_before", caller.language, question=question.text)
    return OutboundMessage(id=question.shown_as, address=caller.address, text=text, kind="notice", reply_to=reply_to)


def lapsed(question_id: str, address: Address, language: Language) -> OutboundMessage:
    """Settles a question of a process that died."""
    return _settles(question_id, address, f"✗ {say('tools.over', language)}")


def _settles(question_id: str, address: Address, text: str) -> OutboundMessage:
    return OutboundMessage(id=f"{question_id}:over", address=address, text=text, kind="notice", settles=question_id)
