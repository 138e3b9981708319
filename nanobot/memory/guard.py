"""What must not get into memory."""

from nanobot.memory.clean import cleaned, is_treacherous
from nanobot.memory.secret_forms import SecretKind, secret_in

_FULL_WIDTH = str.maketrans({code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF5B))})


def refusal(text: str) -> SecretKind | None:
    """The kind of secret that a text holds, or None. Ids, hashes and talk about passwords are no secrets.

    Invisible characters and the wide letters of Chinese keyboards hide nothing.
    """
    return secret_in(cleaned(text).translate(_FULL_WIDTH))


def objection(text: str) -> str | None:
    """Why a text must not be written where things are remembered, for the model that tried; None if it may."""
    if kind := refusal(text):
        return (
            f"it holds what looks like a secret ({kind.replace('_', ' ')}), and memory is no place for secrets. "
            "Leave it out, and tell the user that a password manager is the place for it."
        )
    if is_treacherous(text):
        return "it holds invisible control characters or tokens of a chat template. Write it without them."
    return None
