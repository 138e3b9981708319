"""Days and stretches of days that a text names, in English and in Chinese."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

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


# Dates as they are said in Chinese.


_DIGITS = "零一二三四五六七八九"
_CHINESE_NUMBERS = {digit: value for value, digit in enumerate(_DIGITS)} | {"两": 2, "几": 3, "十": 10}
_CERTAIN = r"[0-9一二三四五六七八九十]{1,3}"
_NUMBER = r"[0-9一二三四五六七八九十两几]{1,3}"  # "几天前" is a few days ago
_WEEK = r"(?:周|星期|礼拜)"
_CHINESE_WEEKDAYS = "一二三四五六日"
_CHINESE_STEP = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_CHINESE_NEAR_DAYS = {
    "大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "昨日": -1, "今天": 0, "今早": 0, "今晚": 0, "今日": 0, "明天": 1,
    "明早": 1, "明晚": 1, "后天": 2, "大后天": 3,
}  # fmt: skip
_CHINESE_FEASTS = {
    "元旦": (1, 1),
    "情人节": (2, 14),
    "五一": (5, 1),
    "劳动节": (5, 1),
    "国庆": (10, 1),
    "圣诞": (12, 25),
}
_YEAR_STEP = {"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
_CHINESE_YEAR = rf"(?P<year>(?:19|20)\d\d年|[一二][{_DIGITS}]{{3}}年|[前去今明后]年)"
_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}


def _chinese_number(text: str) -> int:
    """12, "三", "十二", "二十": the number."""
    tens, ten, ones = text.partition("十")
    if ten:
        return (_digits(tens) if tens else 1) * 10 + (_digits(ones) if ones else 0)
    return _digits(text)


def _digits(text: str) -> int:
    return int("".join(str(_CHINESE_NUMBERS.get(char, char)) for char in text))


def _weekday(name: str) -> int:
    return _CHINESE_WEEKDAYS.index(name.replace("天", "日"))


def _date(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    written, month = match["year"], _chinese_number(match["month"])
    day = _chinese_number(match["day"]) if match["day"] else None
    if not written:
        yield from in_years(today, years, month, day)
    else:
        yield from in_years(today, [_year_number(written, today)], month, day)


def _year_number(written: str, today: date) -> int:
    if written in _YEAR_STEP:
        return today.year + _YEAR_STEP[written]
    digits = "".join(str(_DIGITS.find(char)) if char in _DIGITS else char for char in written[:-1])
    return int(digits)


def _chinese_year(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield whole_year(_year_number(match["year"], today))


def _month(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield month_from(today, _CHINESE_STEP[match["which"]])


def _week(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    week = week_from(today, _CHINESE_STEP[match["which"]])
    day = match["day"]
    if not day:
        yield week
    elif day == "末":
        yield Days(week.first + timedelta(5), week.last)
    else:
        yield Days.around(week.first + timedelta(_weekday(day)))


def _bare_chinese_weekday(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield from either_side(today, _weekday(match["day"]))


def _count(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    sign = -1 if match["side"] in ("前", "以前", "之前") else 1
    yield unit_from(today, _UNITS[match["unit"]], sign * _chinese_number(match["count"]))


CHINESE_RULES: Sequence[tuple[str, Resolve]] = (
    (any_of(_CHINESE_NEAR_DAYS), nearby(_CHINESE_NEAR_DAYS)),
    (any_of(_CHINESE_FEASTS), feast(_CHINESE_FEASTS)),
    (
        rf"(?:{_CHINESE_YEAR}的?)?(?P<month>{_CERTAIN})月(?:份|(?P<day>{_CERTAIN})[日号]?)?",
        _date,
    ),
    (_CHINESE_YEAR, _chinese_year),
    (r"(?P<which>上上|上|这|本|下下|下)个?月", _month),
    (rf"(?P<which>上上|上|这|本|下下|下)个?{_WEEK}(?P<day>[一二三四五六日天末])?", _week),
    (rf"{_WEEK}(?P<day>[一二三四五六日天])", _bare_chinese_weekday),
    (rf"(?P<count>{_NUMBER})个?多?(?P<unit>天|日|周|星期|礼拜|月|年)(?P<side>(?:以|之)?前|(?:以|之)?后)", _count),
)
"""The most telling form first: what one rule has read, the later ones do not read again."""


# Dates as they are said in English.


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ENGLISH_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ENGLISH_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_ENGLISH_NEAR_DAYS = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0,
    "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1,
    "the day after tomorrow": 2, "day after tomorrow": 2,
}  # fmt: skip
_ENGLISH_FEASTS = {
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
_ENGLISH_YEAR = r"(?P<year>(?:19|20)\d\d)"
_WHICH = r"(?P<which>last|past|previous|this|next|coming)"
_COUNT = r"(?P<count>\d{1,3}|a|an|one|two|three|four|five|six|seven|eight|nine|ten|(?:a )?few|(?:a )?couple(?: of)?)"
_UNIT = r"(?P<unit>day|night|week|month|year)s?"
_ENGLISH_STEP = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}


def _english_number(text: str) -> int:
    """12, "two", "a couple of": the number."""
    text = text.lower()
    return int(text) if text.isdigit() else _ENGLISH_NUMBERS[text.removeprefix("a ").split()[0]]


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _weekday_number(name: str) -> int:
    return _ENGLISH_WEEKDAYS.index(name[:3].lower())


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
    month, step = _month_number(match["month"]), _ENGLISH_STEP[match["which"].lower()]
    year = today.year
    if step < 0 and month >= today.month:
        year -= 1
    elif step > 0 and month <= today.month:
        year += 1
    yield whole_month(year, month)


def _english_year(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield whole_year(int(match["year"]))


def _which_weekday(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    weekday, step = _weekday_number(match["weekday"]), _ENGLISH_STEP[match["which"].lower()]
    ahead = (weekday - today.weekday()) % 7
    if step < 0:
        yield Days.around(today - timedelta((today.weekday() - weekday) % 7 or 7))
    else:
        yield Days.around(today + timedelta(ahead or 7 * step))


def _bare_english_weekday(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield from either_side(today, _weekday_number(match["weekday"]))


def _which_unit(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    step, unit = _ENGLISH_STEP[match["which"].lower()], match["unit"].lower()
    if unit == "weekend":
        monday = week_from(today, step).first
        yield Days.around(monday + timedelta(4), after=2)
    elif unit == "week":
        week = week_from(today, step)
        yield Days(min(week.first, today - timedelta(7)), week.last) if step < 0 else week
    else:
        yield unit_from(today, unit, step)


def _ago(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield unit_from(today, match["unit"].lower().replace("night", "day"), -_english_number(match["count"]))


def _from_now(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield unit_from(today, match["unit"].lower().replace("night", "day"), _english_number(match["count"]))


ENGLISH_RULES: Sequence[tuple[str, Resolve]] = (
    (rf"\b{_ENGLISH_YEAR}[-/.](?P<month>1[0-2]|0?[1-9])[-/.](?P<day>[12]\d|3[01]|0?[1-9])(?!\d)", _iso),
    (rf"\b{_DAY}(?: of)? {_MONTH},? {_ENGLISH_YEAR}\b", _named_date),
    (rf"\b{_MONTH} {_DAY}(?!\d),?(?: {_ENGLISH_YEAR}\b)?", _named_date),
    (rf"\b{_DAY}(?: of)? {_MONTH}", _named_date),
    (rf"\b{_MONTH},?(?: of)? {_ENGLISH_YEAR}\b", _named_date),
    (rf"\b{_WHICH} {_MONTH}", _which_month),
    (rf"\b(?:in|since|by|until|of|during|early|mid|late) {_MONTH}", _named_date),
    (any_of(_ENGLISH_NEAR_DAYS), nearby(_ENGLISH_NEAR_DAYS)),
    (rf"\b{_WHICH} {_WEEKDAY}", _which_weekday),
    (rf"\b{_WHICH} (?P<unit>weekend|week|month|year)\b", _which_unit),
    (rf"\b{_COUNT} {_UNIT} (?:ago|back|earlier)\b", _ago),
    (rf"\bin {_COUNT} {_UNIT}\b", _from_now),
    (rf"\b{_FULL_WEEKDAY}", _bare_english_weekday),
    (any_of(_ENGLISH_FEASTS), feast(_ENGLISH_FEASTS)),
)
"""The most telling form first: what one rule has read, the later ones do not read again."""

YEAR: tuple[str, Resolve] = (rf"\b{_ENGLISH_YEAR}\b", _english_year)
"""A number that looks like a year, when nothing else wants it."""


# The days that a text speaks of, in English and in Chinese.


_RULES = tuple(
    (re.compile(pattern, re.IGNORECASE), resolve) for pattern, resolve in (*ENGLISH_RULES, *CHINESE_RULES, YEAR)
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
