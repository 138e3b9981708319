"""The person at this machine, and what they say."""

import getpass

from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.ids import new_id
from nanobot.messages import Address, InboundMessage, Sender

NAME = "cli"
"""The terminal's name as a channel."""


def at(session: str) -> Address:
    """Where the conversation of this name happens."""
    return Address(NAME, session)


def words(address: Address, text: str, answers: str | None = None) -> InboundMessage:
    """What they say there; `answers` is the question whose button they chose, its value is the text."""
    return InboundMessage(
        id=f"{address.session_key}:{new_id()}",
        address=address,
        sender=Sender("local", _login()),
        authority=OWNER_IN_TERMINAL,
        text=text,
        answers=answers,
    )


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        return ""
