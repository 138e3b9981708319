"""What was said on a day, where nothing but the day is asked for."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from nanobot.memory.recall.dates import days_in
from nanobot.memory.recall.days import Days
from nanobot.memory.recall.page import asks
from nanobot.memory.recall.receipts import is_receipt
from nanobot.memory.recall.words import is_stop, words_of
from nanobot.ports import RecallIndex, Said, Within

_MOST_READ = 400  # texts of one stretch
_MENTIONING = 200  # texts that hold a word of the date
_FEW = 2  # telling words; a text with no more is small talk
_LONGEST = 40  # days


def said_on(index: RecallIndex, days: Sequence[Days], within: Within, k: int) -> Sequence[Said]:
    """The k texts of these days that tell most, in the order in which they were said."""
    stretches = [then for one in days if (then := _during(one, within))]
    keys = [key for then in stretches for key in index.on_days(then, _MOST_READ)]
    texts = [said for said in _texts(index, keys) if not is_receipt(said)]
    chosen = sorted(texts, key=_telling, reverse=True)[:k]
    return sorted(chosen, key=lambda said: (said.when, said.file, said.position))


def speaking_of(index: RecallIndex, query: str, days: Sequence[Days], within: Within, k: int) -> Sequence[Said]:
    """At most k texts from other days that name one of these days, the latest first."""
    short = [one for one in days if one.length <= _LONGEST]
    words = [word for word in words_of(query) if not is_stop(word)] or words_of(query)
    found = _texts(index, index.matching(words, within, _MENTIONING))
    naming = [said for said in found if not is_receipt(said) and _names(said, short)]
    return sorted(naming, key=lambda said: -said.when)[:k]


def _names(said: Said, days: Sequence[Days]) -> bool:
    """Whether a text names one of the days; a day of every year, such as a birthday, in whatever year."""
    if not said.day:
        return False
    named = [one for one in days_in(said.text, date.fromordinal(said.day)) if one.length <= _LONGEST]
    return any(_is_same(one, other) for one in days for other in named)


def _is_same(one: Days, other: Days) -> bool:
    if one.length == other.length == 1:
        return (one.first.month, one.first.day) == (other.first.month, other.first.day)
    return one.first <= other.last and other.first <= one.last


def _telling(said: Said) -> tuple[bool, int, int]:
    """A person's words before the bot's, statements before questions, and the more they tell, the better."""
    words = len({word for word in said.words.split() if not is_stop(word)})
    return words > _FEW, words - (words // 2 if said.role == "assistant" or asks(said) else 0), -said.position


def _texts(index: RecallIndex, keys: Sequence[int]) -> Sequence[Said]:
    wanted = set(keys)
    return [said for said in index.passages(list(wanted), 0) if said.key in wanted] if wanted else []


def _during(days: Days, within: Within) -> Within | None:
    first = max(days.first.toordinal(), within.first_day or 0)
    last = min(days.last.toordinal(), within.last_day or date.max.toordinal())
    return replace(within, first_day=first, last_day=last) if first <= last else None
