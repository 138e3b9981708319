"""The bot's own sentences, and yes and no as people type them, in English and Chinese."""

import re
import tomllib
from collections.abc import Sequence
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


# Answers as people type them.

_YES = frozenset(
    {"y", "yes", "yep", "yeah", "yup", "sure", "ok", "okay", "allow", "approve", "go ahead", "do it"}
    | {"是", "是的", "好", "好的", "好吧", "好呀", "好啊", "可以", "行", "对", "没问题"}
    | {"同意", "允许", "确定", "批准"}
)
_NO = frozenset(
    {"n", "no", "nope", "nah", "cancel", "deny", "don't", "dont", "never mind", "nevermind", "leave it", "better not"}
    | {"不", "否", "不行", "不要", "不可以", "不好", "不用", "不同意", "不允许", "别", "取消", "拒绝"}
    | {"不了", "不要了", "不用了", "不必", "不必了", "不需要", "算了", "算了吧", "还是算了"}
)
_AROUND = " \t\r\n.!,。！，~～"
_POLITE = re.compile(r"(?<=[\w'])[\s,，]*(?:\b(?:please|pls|thanks|thank you|thx)|谢谢你?|谢了|麻烦了?)$")


def consent(typed: str) -> bool | None:
    """True if a text says yes (True) or no (False), in English or Chinese; None if it says anything else or more.

    Case, spaces, punctuation and a "please" around the word do not matter. A text with more than the word is none of
    both: "yes, but …" is a thought, not a permission. A question mark makes it a question.
    """
    word = " ".join(_POLITE.sub("", _bare(typed)).strip(_AROUND).split())
    if word in _YES:
        return True
    return False if word in _NO else None


def leaves(typed: str) -> bool:
    """True if a text chooses nothing of what there is to choose: a no, or 0."""
    return consent(typed) is False or _bare(typed) == "0"


def picked(answers: Sequence[str], typed: str, refusal: int | None = None) -> int | None:
    """The place of the answer that is meant: by its number from 1, its words, yes or no, or the first letter that only
    it has. None if none is.

    `refusal` is the place of the one that says no, if there is one: "yes" then means the first, which grants the least.
    """
    said, every = _bare(typed), [_bare(answer) for answer in answers]
    if said.isdecimal():
        return int(said) - 1 if 1 <= int(said) <= len(every) else None
    if said in every:
        return every.index(said)
    if refusal is not None and (agrees := consent(typed)) is not None:
        return 0 if agrees else refusal
    first = [place for place, answer in enumerate(every) if said and said == answer[:1]]
    return first[0] if len(first) == 1 else None


def _bare(typed: str) -> str:
    return typed.strip(_AROUND).casefold().replace("’", "'")
