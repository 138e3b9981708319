"""Stretches of days, and how they are counted from a day."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

_LONGEST_COUNT = 4000  # "5000 years ago" is not a date that a message could be near


@dataclass(frozen=True, slots=True, order=True)
class Days:
    """A stretch of whole days, both ends included."""

    first: date
    last: date

    @classmethod
    def around(cls, day: date, before: int = 0, after: int = 0) -> "Days":
        """The day with so many days before it and after it."""
        return cls(day - timedelta(before), day + timedelta(after))

    @property
    def length(self) -> int:
        return (self.last - self.first).days + 1


Resolve = Callable[[re.Match[str], date, Sequence[int]], Iterator[Days]]
"""What a match means, said on this day, where a date without a year may mean these years."""


def whole_month(year: int, month: int) -> Days:
    first = date(year, month, 1)
    following = date(year + month // 12, month % 12 + 1, 1)
    return Days(first, following - timedelta(1))


def month_from(today: date, months: int) -> Days:
    index = today.year * 12 + today.month - 1 + months
    return whole_month(index // 12, index % 12 + 1)


def week_from(today: date, weeks: int) -> Days:
    monday = today - timedelta(today.weekday()) + timedelta(7 * weeks)
    return Days.around(monday, after=6)


def unit_from(today: date, unit: str, count: int) -> Days:
    """The day, week, month or year so many units away; the further away, the less exact."""
    if abs(count) > _LONGEST_COUNT:
        raise ValueError(count)
    if unit == "day":
        return Days.around(today + timedelta(count))
    if unit == "week":
        return Days.around(today + timedelta(7 * count), before=3, after=3)
    if unit == "month":
        return month_from(today, count)
    return whole_year(today.year + count)


def in_years(today: date, years: Sequence[int], month: int, day: int | None) -> Iterator[Days]:
    """A date without its year: in each of the years, or in the one that brings it nearest to today."""
    made = []
    for year in years or (today.year - 1, today.year, today.year + 1):
        try:
            made.append(Days.around(date(year, month, day)) if day else whole_month(year, month))
        except ValueError:  # 29 February in most years
            continue
    if years:
        yield from made
    elif made:
        yield min(made, key=lambda days: abs((days.first - today).days))


def whole_year(year: int) -> Days:
    return Days(date(year, 1, 1), date(year, 12, 31))


def either_side(today: date, weekday: int) -> Iterator[Days]:
    """A weekday (Monday is 0) without more is the last one or the next."""
    back = (today.weekday() - weekday) % 7
    yield Days.around(today - timedelta(back))
    yield Days.around(today - timedelta(back) + timedelta(7))


def feast(words: Mapping[str, tuple[int, int]]) -> Resolve:
    """Reads a feast by its name, with the days on which it is celebrated."""

    def resolve(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        month, day = words[match[0].lower()]
        for days in in_years(today, years, month, day):
            yield Days.around(days.first, before=1, after=5)

    return resolve


def nearby(words: Mapping[str, int]) -> Resolve:
    """Reads words like "yesterday": each stands for a day so many days away."""

    def resolve(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        yield Days.around(today + timedelta(words[match[0].lower()]))

    return resolve


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first; Latin ones as whole words."""
    ordered = sorted(words, key=len, reverse=True)
    return "|".join(rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word) for word in ordered)
