"""Dates as they are said in Chinese."""

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
    month_from,
    nearby,
    unit_from,
    week_from,
    whole_year,
)

_DIGITS = "零一二三四五六七八九"
_NUMBERS = {digit: value for value, digit in enumerate(_DIGITS)} | {"两": 2, "几": 3, "十": 10}
_CERTAIN = r"[0-9一二三四五六七八九十]{1,3}"
_NUMBER = r"[0-9一二三四五六七八九十两几]{1,3}"  # "几天前" is a few days ago
_WEEK = r"(?:周|星期|礼拜)"
_WEEKDAYS = "一二三四五六日"
_STEP = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_NEAR_DAYS = {
    "大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "昨日": -1, "今天": 0, "今早": 0, "今晚": 0, "今日": 0, "明天": 1,
    "明早": 1, "明晚": 1, "后天": 2, "大后天": 3,
}  # fmt: skip
_FEASTS = {"元旦": (1, 1), "情人节": (2, 14), "五一": (5, 1), "劳动节": (5, 1), "国庆": (10, 1), "圣诞": (12, 25)}
_YEAR_STEP = {"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
_YEAR = rf"(?P<year>(?:19|20)\d\d年|[一二][{_DIGITS}]{{3}}年|[前去今明后]年)"
_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}


def _number(text: str) -> int:
    """12, "三", "十二", "二十": the number."""
    tens, ten, ones = text.partition("十")
    if ten:
        return (_digits(tens) if tens else 1) * 10 + (_digits(ones) if ones else 0)
    return _digits(text)


def _digits(text: str) -> int:
    return int("".join(str(_NUMBERS.get(char, char)) for char in text))


def _weekday(name: str) -> int:
    return _WEEKDAYS.index(name.replace("天", "日"))


def _date(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    written, month = match["year"], _number(match["month"])
    day = _number(match["day"]) if match["day"] else None
    if not written:
        yield from in_years(today, years, month, day)
    else:
        yield from in_years(today, [_year_number(written, today)], month, day)


def _year_number(written: str, today: date) -> int:
    if written in _YEAR_STEP:
        return today.year + _YEAR_STEP[written]
    digits = "".join(str(_DIGITS.find(char)) if char in _DIGITS else char for char in written[:-1])
    return int(digits)


def _year(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield whole_year(_year_number(match["year"], today))


def _month(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield month_from(today, _STEP[match["which"]])


def _week(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    week = week_from(today, _STEP[match["which"]])
    day = match["day"]
    if not day:
        yield week
    elif day == "末":
        yield Days(week.first + timedelta(5), week.last)
    else:
        yield Days.around(week.first + timedelta(_weekday(day)))


def _bare_weekday(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield from either_side(today, _weekday(match["day"]))


def _count(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    sign = -1 if match["side"] in ("前", "以前", "之前") else 1
    yield unit_from(today, _UNITS[match["unit"]], sign * _number(match["count"]))


RULES: Sequence[tuple[str, Resolve]] = (
    (any_of(_NEAR_DAYS), nearby(_NEAR_DAYS)),
    (any_of(_FEASTS), feast(_FEASTS)),
    (
        rf"(?:{_YEAR}的?)?(?P<month>{_CERTAIN})月(?:份|(?P<day>{_CERTAIN})[日号]?)?",
        _date,
    ),
    (_YEAR, _year),
    (r"(?P<which>上上|上|这|本|下下|下)个?月", _month),
    (rf"(?P<which>上上|上|这|本|下下|下)个?{_WEEK}(?P<day>[一二三四五六日天末])?", _week),
    (rf"{_WEEK}(?P<day>[一二三四五六日天])", _bare_weekday),
    (rf"(?P<count>{_NUMBER})个?多?(?P<unit>天|日|周|星期|礼拜|月|年)(?P<side>(?:以|之)?前|(?:以|之)?后)", _count),
)
"""The most telling form first: what one rule has read, the later ones do not read again."""
