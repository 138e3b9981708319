"""The bot's own sentences, in English and Chinese."""

import tomllib
from functools import cache
from importlib import resources
from string import Formatter
from typing import Literal

Language = Literal["en", "zh"]


def say(key: str, language: Language, /, **values: object) -> str:
    """The sentence with this key ("section.name" in the catalogues) with its values put in.

    What agrees with a number stands behind it: "{count} {count:line|lines}" is "1 line" or "2 lines". Raises KeyError
    for a key that is not in the catalogue: that is a bug, and a test looks for it.
    """
    return _FORMATTER.format(_catalogue(language)[key], **values)


def has_sentence(key: str) -> bool:
    """Return True if the catalogue has a sentence with this key."""
    return key in _catalogue("en")


def language_of(text: str, otherwise: Language = "en") -> Language:
    """The language a text is written in; `otherwise` if it has no letters of either."""
    chinese = sum("\u4e00" <= char <= "\u9fff" for char in text)
    latin = sum(char.isascii() and char.isalpha() for char in text)
    if not chinese and not latin:
        return otherwise
    return "zh" if chinese * 4 > latin else "en"  # a Chinese character carries about as much as four letters


class _Agreeing(Formatter):
    """As str.format, with words that agree with a number."""

    def format_field(self, value: object, format_spec: str) -> str:
        one, bar, many = format_spec.partition("|")
        if not bar:
            return str(super().format_field(value, format_spec))
        return one if str(value) == "1" else many


_FORMATTER = _Agreeing()


@cache
def _catalogue(language: Language) -> dict[str, str]:
    text = (resources.files(__package__) / f"{language}.toml").read_text(encoding="utf-8")
    return {
        f"{section}.{name}": sentence
        for section, rows in tomllib.loads(text).items()
        for name, sentence in rows.items()
    }
