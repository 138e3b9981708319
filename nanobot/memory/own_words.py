"""Whether a text is what somebody said, in about these words."""

import re

from nanobot.memory.alike import content_words

_ENOUGH = 1 / 2
"""The share of its words that must have been said."""

_WHO = re.compile(r"\b(?:the )?(?:user|owner|member|group)(?:'s|s)?\b|用户|群里|主人", re.IGNORECASE)
_LITERAL = re.compile(r"https?://[^\s`'\"<>]+|(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)*|`[^`\n]+`|\d+")


def is_said(text: str, said: str) -> bool:
    """Whether who said all this said this text, too: addresses, commands and numbers exactly so."""
    literals = (literal.strip("`") for literal in _LITERAL.findall(text))
    return support(text, said) >= _ENOUGH and all(literal in said for literal in literals)


def support(text: str, said: str) -> float:
    """The share of the words of a text that were said."""
    words = content_words(without_who(text))
    return len(words & content_words(said)) / len(words) if words else 1.0


def without_who(text: str) -> str:
    """A text without whom it is about: nobody calls themselves "the user"."""
    return _WHO.sub(" ", text)
