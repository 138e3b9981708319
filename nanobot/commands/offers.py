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


class Offers:
    """The newest question of a command in each conversation, as long as the bot says nothing else there.

    Other commands in between leave it open: their answers are no questions.
    """

    def __init__(self) -> None:
        self._open: dict[str, _Offer] = {}

    def made(self, message: InboundMessage, answer: Answer) -> None:
        """A command has answered this message. What is chosen from now on is chosen from the newest question."""
        if answer.yes or answer.buttons:
            self._open[message.address.session_key] = _Offer(
                message.sender.id, message.authority.scope, answer, new_id()
            )

    def lapse(self, session_key: str) -> None:
        """The bot says something else there, or is asked something else."""
        self._open.pop(session_key, None)

    def read(self, message: InboundMessage, newest: str) -> InboundMessage:
        """The message with the command that its yes or no stands for; as it is if it answers nothing.

        `newest` is the id of the newest question that a turn has asked there, "" if none waits.
        """
        key = message.address.session_key
        offer = self._open.get(key)
        is_bare = message.to_bot and not (message.files or message.corrects or message.answers)
        agrees = consent(message.text)
        if offer is None or offer.made < newest or not is_bare or agrees is None:
            return message
        if (message.sender.id, message.authority.scope) != (offer.person, offer.scope):
            return message
        command = offer.answer.yes if agrees else offer.answer.no
        if not command:
            return message
        self.lapse(key)
        return replace(message, text=command)
