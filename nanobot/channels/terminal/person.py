"""The person at this machine, and what they say."""

import getpass
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.i18n import picked
from nanobot.ids import new_id
from nanobot.messages import Address, Attachment, Button, InboundMessage, Quote, Sender

NAME = "cli"
"""The terminal's name as a channel."""

PERSON = "local"
"""The id of whoever sits here."""

_EXPORT = re.compile(r"[/／]export(\s+--over(?=\s|$))?(?:\s+(?!--)(.+))?", re.IGNORECASE | re.DOTALL)

SCRIPT = "script"
"""The id of a script of theirs that asks something while they may be talking: what it says is an own turn."""


def at(session: str) -> Address:
    """Return the address of the conversation of this name."""
    return Address(NAME, session)


def words(
    address: Address,
    text: str,
    answers: str | None = None,
    sender: str = PERSON,
    *,
    quotes: Sequence[Quote] = (),
    files: Sequence[Attachment] = (),
    here: str = "",
) -> InboundMessage:
    """Return typed words as an InboundMessage; `answers` is the question whose button was chosen, its value the text.

    `quotes` and `files` go along; `here` is the folder that they opened for the conversation.
    """
    return InboundMessage(
        id=f"{address.session_key}:{new_id()}",
        address=address,
        sender=Sender(sender, _login()),
        authority=replace(OWNER_IN_TERMINAL, here=here),
        text=text,
        answers=answers,
        quotes=tuple(quotes),
        files=tuple(files),
    )


def with_place(text: str, folder: Path) -> str:
    """A command that takes a path, with that as it is meant where the person stands: the bot may stand elsewhere."""
    match = _EXPORT.fullmatch(text.strip())
    if match is None:
        return text
    try:
        place = folder / Path(match[2] or ".").expanduser()
    except RuntimeError:  # there is no such home
        place = folder / match[2]
    return f"/export --over {place}" if match[1] else f"/export {place}"


def chosen(buttons: Sequence[Button], typed: str) -> Button | None:
    """The button that was meant, if any."""
    refusals = [place for place, button in enumerate(buttons) if button.value == "no"]
    place = picked([button.label for button in buttons], typed, refusals[0] if refusals else None)
    return None if place is None else buttons[place]


def leaving(buttons: Sequence[Button]) -> Button | None:
    """The button of a command's list that leaves all as it is: its command goes on with "no"."""
    return next((button for button in buttons if button.value.split()[1:2] == ["no"]), None)


def refusal(buttons: Sequence[Button]) -> Button:
    """The button that lets nothing happen: the one that says no, or else the last."""
    return next((button for button in buttons if button.value == "no"), buttons[-1])


def standing() -> Path:
    """The folder in which the person stands; their home, where that was deleted under them."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path.home()


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        return ""
