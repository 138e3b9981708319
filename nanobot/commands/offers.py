"""What a bare yes or no, or a number, stands for right after a command has asked."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from nanobot.authority import Scope
from nanobot.commands.router import Answer
from nanobot.i18n.consent import consent, leaves, picked
from nanobot.messages import Address, InboundMessage
from nanobot.ports import Clock

VALID = 600.0
"""Seconds in which it can be answered; the codes that some questions have are valid for as long."""


@dataclass(frozen=True, slots=True)
class _Offer:
    person: str
    scope: Scope
    answer: Answer
    made: str  # the id of the question: they sort by time
    until: float  # as Clock.monotonic
    is_newest: bool = True

    def is_to(self, message: InboundMessage) -> bool:
        """Whether its sender was asked this, and the message is nothing but words to the bot."""
        is_same = (message.sender.id, message.authority.scope) == (self.person, self.scope)
        return is_same and message.to_bot and not (message.files or message.corrects or message.answers)

    def meant(self, typed: str) -> str:
        """The command that typed words stand for; "" if they stand for none."""
        agrees, answer = consent(typed), self.answer
        if leaves(typed):
            return answer.no
        if agrees and answer.yes:
            return answer.yes
        place = picked([button.label for button in answer.buttons], typed)
        return "" if place is None else answer.buttons[place].value

    @property
    def command(self) -> str:
        """The name of the command that has asked."""
        values = (self.answer.yes, self.answer.no, *(button.value for button in self.answer.buttons))
        return next(filter(None, values)).split()[0]


class Offers:
    """The newest question of a command in each conversation, as long as the bot says nothing else there.

    Other commands in between leave it open: their answers are no questions. It is answered by whoever has seen it, and
    not after VALID.
    """

    def __init__(self, clock: Clock, is_underway: Callable[[str], bool], cover: Callable[[Address], None]) -> None:
        """`is_underway` says whether the message with this id has not been shown yet: that of a Bus. `cover` is told
        where something is asked: what a turn has asked there is no longer the newest.
        """
        self._clock = clock
        self._is_underway = is_underway
        self._cover = cover
        self._open: dict[str, _Offer] = {}

    def made(self, message: InboundMessage, answer: Answer, question: str) -> None:
        """A command has answered this message with the one of the id `question`.

        What is chosen from now on is chosen from the newest question.
        """
        key, now = message.address.session_key, self._clock.monotonic()
        self._open = {where: offer for where, offer in self._open.items() if offer.until > now}
        if answer.yes or answer.buttons:
            self._cover(message.address)
            self._open[key] = _Offer(message.sender.id, message.authority.scope, answer, question, now + VALID)
        elif (offer := self._open.get(key)) and [offer.command] == message.text.split()[:1]:
            del self._open[key]  # it was answered in full

    def lapse(self, session_key: str) -> None:
        """The bot says something else there: a yes is one to that."""
        if offer := self._open.get(session_key):
            self._open[session_key] = replace(offer, is_newest=False)

    def read(self, message: InboundMessage, newest: str) -> InboundMessage:
        """The message with the command that its words stand for; as it is if it answers nothing.

        `newest` is the id of the newest question that a turn has asked there, "" if none waits.
        """
        offer = self._asked(message, newest)
        command = offer.meant(message.text) if offer else ""
        if not command:
            return message
        del self._open[message.address.session_key]
        return replace(message, text=command)

    def left(self, message: InboundMessage, newest: str) -> bool:
        """Whether it leaves a list as it is, and chooses nothing from it."""
        if not leaves(message.text) or self._asked(message, newest) is None:
            return False
        del self._open[message.address.session_key]
        return True

    def _asked(self, message: InboundMessage, newest: str) -> _Offer | None:
        """What is asked there, if this is the time to answer it and its sender the one."""
        offer = self._shown(message)
        return offer if offer and offer.is_newest and offer.made >= newest else None

    def _shown(self, message: InboundMessage) -> _Offer | None:
        """What its sender was asked there, and has seen, and may still be answered."""
        offer = self._open.get(message.address.session_key)
        if offer is None or offer.until <= self._clock.monotonic() or self._is_underway(offer.made):
            return None
        return offer if offer.is_to(message) else None

    def missed(self, message: InboundMessage) -> str:
        """The command that a yes may have meant which came too late to stand for it, once; "" for all else."""
        offer = self._shown(message)
        if offer is None or not offer.answer.yes or not consent(message.text):
            return ""
        del self._open[message.address.session_key]
        return offer.answer.yes
