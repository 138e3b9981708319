"""Choosing one of a question's buttons by typing."""

from collections.abc import Sequence

from nanobot.i18n.consent import picked
from nanobot.messages import Button


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
