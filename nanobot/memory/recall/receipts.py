"""What the bot says when it has done as it was told: nobody looks for that, but for what they had told it."""

from functools import cache
from typing import get_args

from nanobot.i18n import Language, say
from nanobot.ports import Said

_SENTENCES = ("memory.saved", "memory.known")


def is_receipt(said: Said) -> bool:
    """Whether a text only says that something is remembered now; what is remembered is found by itself."""
    return said.role == "assistant" and said.text.startswith(_beginnings())


@cache
def _beginnings() -> tuple[str, ...]:
    languages: tuple[Language, ...] = get_args(Language)
    return tuple(
        say(sentence, language, line="\0").partition("\0")[0] for sentence in _SENTENCES for language in languages
    )
