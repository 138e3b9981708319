"""Refusal of what must not get into memory."""

from nanobot.memory.clean import is_treacherous
from nanobot.memory.secrets import refusal


def objection(text: str) -> str | None:
    """Say why a text must not be written where things are remembered, for the model that tried; None if it may."""
    if kind := refusal(text):
        return (
            f"it holds what looks like a secret ({kind.replace('_', ' ')}), and memory is no place for secrets. "
            "Leave it out, and tell the user that a password manager is the place for it."
        )
    if is_treacherous(text):
        return "it holds invisible control characters or tokens of a chat template. Write it without them."
    return None
