"""Choosing one of a question's buttons by typing."""

from collections.abc import Sequence

from nanobot.i18n.consent import consent
from nanobot.messages import Button


def chosen(buttons: Sequence[Button], typed: str) -> Button | None:
    """The button that was meant: by its number from 1, its label, the first letter that only it has, yes or no.

    Where one button refuses, "yes" means the first one: it grants the least.
    """
    wanted = typed.strip().casefold()
    if wanted.isdecimal():
        number = int(wanted)
        return buttons[number - 1] if 1 <= number <= len(buttons) else None
    for button in buttons:
        if wanted == button.label.strip().casefold():
            return button
    if any(button.value == "no" for button in buttons) and (agrees := consent(typed)) is not None:
        return buttons[0] if agrees else refusal(buttons)
    first = [button for button in buttons if wanted and wanted == button.label.strip()[:1].casefold()]
    return first[0] if len(first) == 1 else None


def refusal(buttons: Sequence[Button]) -> Button:
    """The button that lets nothing happen: the one that says no, or else the last."""
    return next((button for button in buttons if button.value == "no"), buttons[-1])
