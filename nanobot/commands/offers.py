"""What a bare yes or no, or a number, stands for right after a command has asked."""

from dataclasses import dataclass, replace

from nanobot.authority import Scope
from nanobot.commands.router import Answer
from nanobot.i18n.consent import consent, leaves, picked
from nanobot.ids import new_id
from nanobot.messages import InboundMessage


@dataclass(frozen=True, slots=True)
class _Offer:
    person: str
    scope: Scope
    answer: Answer
    made: str  # an id: they sort by time
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

    Other commands in between leave it open: their answers are no questions.
    """

    def __init__(self) -> None:
        self._open: dict[str, _Offer] = {}

    def made(self, message: InboundMessage, answer: Answer) -> None:
        """A command has answered this message. What is chosen from now on is chosen from the newest question."""
        key = message.address.session_key
        if answer.yes or answer.buttons:
            self._open[key] = _Offer(message.sender.id, message.authority.scope, answer, new_id())
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
        offer = self._open.get(message.address.session_key)
        is_now = offer is not None and offer.is_newest and offer.made >= newest and offer.is_to(message)
        return offer if is_now else None

    def missed(self, message: InboundMessage) -> str:
        """The command that a yes may have meant which came too late to stand for it, once; "" for all else."""
        key = message.address.session_key
        offer = self._open.get(key)
        if offer is None or not offer.answer.yes or not consent(message.text) or not offer.is_to(message):
            return ""
        del self._open[key]
        return offer.answer.yes
