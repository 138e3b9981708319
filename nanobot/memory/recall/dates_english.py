"""Dates as they are said in English."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from nanobot.memory.recall.days import (
    Days,
    Resolve,
    any_of,
    either_side,
    feast,
    in_years,
    nearby,
    unit_from,
    week_from,
    whole_month,
    whole_year,
)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_NEAR_DAYS = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0,
    "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1,
    "the day after tomorrow": 2, "day after tomorrow": 2,
}  # fmt: skip
_FEASTS = {
    "new year's day": (1, 1), "valentine's day": (2, 14), "halloween": (10, 31), "christmas": (12, 25),
    "new year's eve": (12, 31),
}  # fmt: skip

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_WEEKDAY = r"(?P<weekday>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?\b"
_FULL_WEEKDAY = r"(?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)day\b"
_DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_WHICH = r"(?P<which>last|past|previous|this|next|coming)"
_COUNT = r"(?P<count>\d{1,3}|a|an|one|two|three|four|five|six|seven|eight|nine|ten|(?:a )?few|(?:a )?couple(?: of)?)"
_UNIT = r"(?P<unit>day|night|week|month|year)s?"
_STEP = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}


def _number(text: str) -> int:
    """12, "two", "a couple of": the number."""
    text = text.lower()
    return int(text) if text.isdigit() else _NUMBERS[text.removeprefix("a ").split()[0]]


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _weekday_number(name: str) -> int:
    return _WEEKDAYS.index(name[:3].lower())


def _iso(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield Days.around(date(int(match["year"]), int(match["month"]), int(match["day"])))


def _named_date(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    parts = match.groupdict()
    month = _month_number(parts["month"])
    day = int(parts["day"]) if parts.get("day") else None
    if parts.get("year"):
        yield from in_years(today, [int(parts["year"])], month, day)
    else:
        yield from in_years(today, years, month, day)


def _which_month(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    month, step = _month_number(match["month"]), _STEP[match["which"].lower()]
    year = today.year
    if step < 0 and month >= today.month:
        year -= 1
    elif step > 0 and month <= today.month:
        year += 1
    yield whole_month(year, month)


def _year(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield whole_year(int(match["year"]))


def _which_weekday(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    weekday, step = _weekday_number(match["weekday"]), _STEP[match["which"].lower()]
    ahead = (weekday - today.weekday()) % 7
    if step < 0:
        yield Days.around(today - timedelta((today.weekday() - weekday) % 7 or 7))
    else:
        yield Days.around(today + timedelta(ahead or 7 * step))


def _bare_weekday(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield from either_side(today, _weekday_number(match["weekday"]))


def _which_unit(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    step, unit = _STEP[match["which"].lower()], match["unit"].lower()
    if unit == "weekend":
        monday = week_from(today, step).first
        yield Days.around(monday + timedelta(4), after=2)
    elif unit == "week":
        week = week_from(today, step)
        yield Days(min(week.first, today - timedelta(7)), week.last) if step < 0 else week
    else:
        yield unit_from(today, unit, step)


def _ago(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield unit_from(today, match["unit"].lower().replace("night", "day"), -_number(match["count"]))


def _from_now(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield unit_from(today, match["unit"].lower().replace("night", "day"), _number(match["count"]))


RULES: Sequence[tuple[str, Resolve]] = (
    (rf"\b{_YEAR}[-/.](?P<month>1[0-2]|0?[1-9])[-/.](?P<day>[12]\d|3[01]|0?[1-9])(?!\d)", _iso),
    (rf"\b{_DAY}(?: of)? {_MONTH},? {_YEAR}\b", _named_date),
    (rf"\b{_MONTH} {_DAY}(?!\d),?(?: {_YEAR}\b)?", _named_date),
    (rf"\b{_DAY}(?: of)? {_MONTH}", _named_date),
    (rf"\b{_MONTH},?(?: of)? {_YEAR}\b", _named_date),
    (rf"\b{_WHICH} {_MONTH}", _which_month),
    (rf"\b(?:in|since|by|until|of|during|early|mid|late) {_MONTH}", _named_date),
    (any_of(_NEAR_DAYS), nearby(_NEAR_DAYS)),
    (rf"\b{_WHICH} {_WEEKDAY}", _which_weekday),
    (rf"\b{_WHICH} (?P<unit>weekend|week|month|year)\b", _which_unit),
    (rf"\b{_COUNT} {_UNIT} (?:ago|back|earlier)\b", _ago),
    (rf"\bin {_COUNT} {_UNIT}\b", _from_now),
    (rf"\b{_FULL_WEEKDAY}", _bare_weekday),
    (any_of(_FEASTS), feast(_FEASTS)),
)
"""The most telling form first: what one rule has read, the later ones do not read again."""

YEAR: tuple[str, Resolve] = (rf"\b{_YEAR}\b", _year)
"""A number that looks like a year, when nothing else wants it."""
