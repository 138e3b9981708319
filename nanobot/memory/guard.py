"""What must not get into memory."""

from nanobot.memory.clean import cleaned, is_treacherous, narrow
from nanobot.memory.secret_forms import SecretKind, secrets_in


def refusal(text: str) -> SecretKind | None:
    """The kind of secret that a text holds, or None. Ids, hashes and talk about passwords are no secrets.

    Invisible characters and wide letters hide nothing. Takes about 1 ms for 2,000 characters.
    """
    return next((secret.kind for secret in secrets_in(narrow(cleaned(text)))), None)


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
