"""The person at this machine, and what they say."""

import getpass

from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.ids import new_id
from nanobot.messages import Address, InboundMessage, Quote, Sender

NAME = "cli"
"""The terminal's name as a channel."""

PERSON = "local"
"""The id of whoever sits here."""

SCRIPT = "script"
"""The id of a script of theirs that asks something while they may be talking: what it says is an own turn."""


def at(session: str) -> Address:
    """Where the conversation of this name happens."""
    return Address(NAME, session)


def words(
    address: Address, text: str, answers: str | None = None, sender: str = PERSON, piped: str = ""
) -> InboundMessage:
    """What they say there; `answers` is the question whose button they chose, its value is the text.

    `piped` is what a file or a program gave to it: not their own words.
    """
    return InboundMessage(
        id=f"{address.session_key}:{new_id()}",
        address=address,
        sender=Sender(sender, _login()),
        authority=OWNER_IN_TERMINAL,
        text=text,
        answers=answers,
        quotes=(Quote(piped, how="piped"),) if piped else (),
    )


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        return ""
