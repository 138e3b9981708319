"""Days and stretches of days that a text names.

The words and rules of each language stand in languages/<code>/dates.toml.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any

from nanobot.languages import fill, tables

# Stretches of days, and how they are counted from a day.


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
    for pattern, resolve in _rules():
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


# The words of the languages.


Resolve = Callable[[re.Match[str], date, Sequence[int]], Iterator[Days]]
"""Meaning of a match: of the day on which it was said, and of the years that a date without one may mean."""


@dataclass(frozen=True, slots=True)
class _DateWords:
    """The words for days of one language, as en/dates.toml describes them; a method for each meaning of its rules."""

    told: Mapping[str, Any]

    def rules(self) -> Iterator[tuple[re.Pattern[str], Resolve]]:
        """Yield the rules in their order, compiled."""
        for rule in self.told["rules"]:
            form = fill(rule["form"], self.told["parts"]) if "form" in rule else _any_of(self.told[rule["means"]])
            yield re.compile(form, re.IGNORECASE), getattr(self, f"read_{rule['means']}")

    def read_days(self, match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        yield Days.around(today + timedelta(self.told["days"][match[0].lower()]))

    def read_feasts(self, match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        month, day = self.told["feasts"][match[0].lower()]
        for days in in_years(today, years, month, day):
            yield Days.around(days.first, before=1, after=5)

    def read_date(self, match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        parts = match.groupdict()
        day = self._number(parts["day"]) if parts.get("day") else None
        if parts.get("year"):
            years = [self._year(parts["year"], today)]
        yield from in_years(today, years, self._month(parts["month"]), day)

    def read_named_month(self, match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        month, step = self._month(match["month"]), self._step(match)
        year = today.year
        if step < 0 and month >= today.month:
            year -= 1
        elif step > 0 and month <= today.month:
            year += 1
        yield whole_month(year, month)

    def read_year(self, match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        yield whole_year(self._year(match["year"], today))

    def read_weekday(self, match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        yield from either_side(today, self._weekday(match["weekday"]))

    def read_next_weekday(self, match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        weekday, step = self._weekday(match["weekday"]), self._step(match)
        if step < 0:
            yield Days.around(today - timedelta((today.weekday() - weekday) % 7 or 7))
        else:
            yield Days.around(today + timedelta((weekday - today.weekday()) % 7 or 7 * step))

    def read_week(self, match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        week = week_from(today, self._step(match))
        if match["weekday"]:
            yield Days.around(week.first + timedelta(self._weekday(match["weekday"])))
        elif match["unit"]:
            yield Days(week.first + timedelta(5), week.last)
        else:
            yield week

    def read_unit(self, match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        step, unit = self._step(match), self.told["units"][match["unit"].lower()]
        if unit == "weekend":
            yield Days.around(week_from(today, step).first + timedelta(4), after=2)
        elif unit == "week":
            week = week_from(today, step)
            yield Days(min(week.first, today - timedelta(7)), week.last) if step < 0 else week
        else:
            yield unit_from(today, unit, step)

    def read_count(self, match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
        count = self.told["sides"][match["side"].lower()] * self._number(match["count"])
        yield unit_from(today, self.told["units"][match["unit"].lower()], count)

    def _step(self, match: re.Match[str]) -> int:
        step: int = self.told["steps"][match["which"].lower()]
        return step

    def _number(self, text: str) -> int:
        """Read 12, "two", "a couple of", "三", "十二" or "二十"."""
        words, numbers = text.lower().removeprefix("a ").split(), self.told.get("numbers", {})
        if words[0] in numbers:
            number: int = numbers[words[0]]
            return number
        tens, ten, ones = text.partition(self.told["ten"]) if "ten" in self.told else (text, "", "")
        if ten:
            return (self._digits(tens) if tens else 1) * 10 + (self._digits(ones) if ones else 0)
        return self._digits(text)

    def _digits(self, text: str) -> int:
        numbers = self.told.get("numbers", {})
        return int("".join(str(numbers.get(char, char)) for char in text))

    def _year(self, text: str, today: date) -> int:
        if text in (named := self.told.get("years", {})):
            return today.year + int(named[text])
        return self._digits(text[:4])

    def _month(self, text: str) -> int:
        return _by_beginning(self.told.get("months", {}), text) or self._number(text)

    def _weekday(self, text: str) -> int:
        return _by_beginning(self.told["weekdays"], text) or 0


def _by_beginning(numbers: Mapping[str, int], text: str) -> int | None:
    return next((number for name, number in numbers.items() if text.lower().startswith(name)), None)


def _any_of(words: Iterable[str]) -> str:
    """Join words, the longest first; those of scripts with blanks as whole words."""
    ordered = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(word) if _UNSPACED.match(word) else rf"\b{re.escape(word)}\b" for word in ordered)


_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@cache
def _rules() -> Sequence[tuple[re.Pattern[str], Resolve]]:
    """Compile the rules of all languages, when the first text is read; last a number like a year."""
    rules = [rule for told in tables("dates") for rule in _DateWords(told).rules()]
    return [*rules, (re.compile(r"\b(?P<year>(?:19|20)\d\d)\b"), _DateWords({}).read_year)]
