"""What a bare yes or no stands for right after a command has asked."""

from dataclasses import dataclass, replace

from nanobot.authority import Scope
from nanobot.commands.router import Answer
from nanobot.i18n.consent import consent
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
        elif (offer := self._open.get(key)) and offer.answer.yes.split()[:1] == message.text.split()[:1]:
            del self._open[key]  # it was answered in full

    def lapse(self, session_key: str) -> None:
        """The bot says something else there: a yes is one to that."""
        if offer := self._open.get(session_key):
            self._open[session_key] = replace(offer, is_newest=False)

    def read(self, message: InboundMessage, newest: str) -> InboundMessage:
        """The message with the command that its yes or no stands for; as it is if it answers nothing.

        `newest` is the id of the newest question that a turn has asked there, "" if none waits.
        """
        key, agrees = message.address.session_key, consent(message.text)
        offer = self._open.get(key)
        if offer is None or agrees is None or not offer.is_newest or offer.made < newest or not offer.is_to(message):
            return message
        command = offer.answer.yes if agrees else offer.answer.no
        if not command:
            return message
        del self._open[key]
        return replace(message, text=command)

    def missed(self, message: InboundMessage) -> str:
        """The command that a yes may have meant which came too late to stand for it, once; "" for all else."""
        key = message.address.session_key
        offer = self._open.get(key)
        if offer is None or not consent(message.text) or not offer.is_to(message):
            return ""
        del self._open[key]
        return offer.answer.yes
