"""Whether two texts speak of the same thing, and in what they differ."""

import re
from typing import Literal

from nanobot.memory.recall.words import is_stop, words_of

Difference = Literal["date", "number", "negation", "name"]

_NUMBER = re.compile(
    r"\d+|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|once|twice|both)\b"
    r"|[零〇一二两三四五六七八九十百千万亿半]",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|tomorrow|yesterday"
    r"|spring|summer|autumn|fall|winter|morning|noon|evening|night|midnight|am|pm|weekly|daily|monthly|yearly)\b"
    r"|(?:周|星期|礼拜)[一二三四五六日天]|今[天年]|明[天年]|昨天|去年|上午|下午|早上|晚上|春|夏|秋|冬",
    re.IGNORECASE,
)
_OPEN_TIME = re.compile(
    r"\b(?:today|morning|noon|evening|night|am|pm|weekly|daily|monthly|yearly)\b|今[天年]|上午|下午|早上|晚上",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not?|never|none|nor|neither|nothing|nobody|without|cannot|stop(?:s|ped)?|quit|no longer)\b|n['\u2019]t\b"
    r"|[不没沒未别別无無非勿莫]",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W\d_a-z][\w'\u2019-]*")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def content_words(text: str) -> set[str]:
    """The words by which a text can be told from others; all of its words if it has no such words."""
    words = words_of(text)
    return {word for word in words if not is_stop(word)} or set(words)


def overlap(one: str, other: str) -> float:
    """The share of the words of the shorter text that the other has, too."""
    a, b = content_words(one), content_words(other)
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def difference(one: str, other: str, *, in_passing: bool = False) -> Difference | None:
    """In what two texts that speak of the same thing differ, so that one of them cannot stand for both.

    In scripts without capitals and blanks a name cannot be told from other words, so that any word counts as one.
    If the other says it `in_passing`, it may hold more such words, and more times that leave the day open.
    """
    open_times = _found(_OPEN_TIME, other) if in_passing else set()
    patterns: tuple[tuple[Difference, re.Pattern[str]], ...] = (
        ("date", _DATE),
        ("number", _NUMBER),
        ("negation", _NEGATION),
    )
    for kind, pattern in patterns:
        mine, others = _found(pattern, one), _found(pattern, other)
        is_said_otherwise = in_passing and kind == "negation" and mine and others  # "without sugar", "no sugar"
        if mine != others - (open_times - mine) and not is_said_otherwise:
            return kind
    more = _unspaced(other) - _unspaced(one)
    is_other_word = not _unspaced(one) <= _unspaced(other) or (more and not in_passing)
    names = (_names(one) - _words(other)) | (_names(other) - _words(one))
    if in_passing:
        names = {name for name in names if not _UNSPACED.search(name)}
    return "name" if is_other_word or names else None


def _found(pattern: re.Pattern[str], text: str) -> set[str]:
    return {match.casefold() for match in pattern.findall(text)}


def _names(text: str) -> set[str]:
    """The words in capitals, as they are compared: at the beginning of a sentence they may be any word."""
    found = {word for name in _NAME.findall(text) for word in words_of(name) if not is_stop(word)}
    return found & _words(text)


def _words(text: str) -> set[str]:
    return set(words_of(text))


def _unspaced(text: str) -> set[str]:
    return {char for char in _UNSPACED.findall(text) if not is_stop(char)}
