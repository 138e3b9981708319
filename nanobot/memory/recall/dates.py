"""The days that a text speaks of, in English and in Chinese."""

import re
from collections.abc import Sequence
from datetime import date

from nanobot.memory.recall import dates_chinese, dates_english
from nanobot.memory.recall.days import Days

_RULES = tuple(
    (re.compile(pattern, re.IGNORECASE), resolve)
    for pattern, resolve in (*dates_english.RULES, *dates_chinese.RULES, dates_english.YEAR)
)


def days_in(text: str, today: date, years: Sequence[int] = ()) -> list[Days]:
    """The stretches of days that a text names, in the order of the text.

    Args:
        text: a message or a question.
        today: the day on which it was said; "yesterday" is the day before.
        years: the years that a date without one may mean ("in May"); none given, the nearest one.
    """
    return [days for _, _, stretches in _found(text, today, years) for days in stretches]


def without_days(text: str, today: date) -> str:
    """The text without what days_in reads as days."""
    left, at = [], 0
    for start, end, _ in _found(text, today, ()):
        left.append(text[at:start])
        at = end
    return " ".join([*left, text[at:]])


def _found(text: str, today: date, years: Sequence[int]) -> list[tuple[int, int, Sequence[Days]]]:
    """Start, end and meaning of each expression, in the order of the text."""
    found: list[tuple[int, int, Sequence[Days]]] = []
    is_read = bytearray(len(text))
    for pattern, resolve in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(is_read[start:end]):
                continue
            try:
                stretches = tuple(resolve(match, today, years))
            except (ValueError, OverflowError):  # 31 February, the year 0
                continue
            if stretches:
                found.append((start, end, stretches))
                is_read[start:end] = b"\1" * (end - start)
    return sorted(found)
