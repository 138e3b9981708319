"""Texts without the secrets that stood in them."""

from collections.abc import Sequence

from nanobot.memory.clean import cleaned, narrow
from nanobot.memory.secret_forms import secrets_in

REDACTED = "[redacted]"

_PASSES = 5  # what stood behind a secret may look like one itself


def redact(text: str) -> str:
    """The text with each secret taken out, so that the sentence around it survives; cleaned, too.

    For what the bot makes of a conversation by itself: nobody is there to whom a refusal could be explained.
    """
    clean = cleaned(text)
    for _ in range(_PASSES):
        spans = sorted((secret.start, secret.end) for secret in secrets_in(narrow(clean)))
        if not spans:
            break
        clean = _without(clean, spans)
    return clean


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        if start >= at:
            pieces += [text[at:start], REDACTED]
        at = max(at, end)
    return "".join([*pieces, text[at:]])
