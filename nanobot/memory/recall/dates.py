"""The days that a text speaks of, in English and in Chinese."""

import re
from collections.abc import Callable, Iterator, Sequence
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

    def overlaps(self, other: "Days") -> bool:
        return self.first <= other.last and other.first <= self.last


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
    for start, end, _ in reversed(_found(text, today, ())):
        text = f"{text[:start]} {text[end:]}"
    return text


def _found(text: str, today: date, years: Sequence[int]) -> list[tuple[int, int, Sequence[Days]]]:
    """Start, end and meaning of each expression, in the order of the text."""
    found: list[tuple[int, int, Sequence[Days]]] = []
    for pattern, resolve in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < other_end and other_start < end for other_start, other_end, _ in found):
                continue
            try:
                stretches = tuple(resolve(match, today, years))
            except (ValueError, OverflowError):  # 31 February, the year 0
                continue
            if stretches:
                found.append((start, end, stretches))
    return sorted(found)


_Resolve = Callable[[re.Match[str], date, Sequence[int]], Iterator[Days]]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBERS = {
    word: value
    for value, words in {
        1: "a an one 一", 2: "two couple 二 两", 3: "three few 三 几", 4: "four 四", 5: "five 五", 6: "six 六",
        7: "seven 七", 8: "eight 八", 9: "nine 九", 10: "ten 十",
    }.items()
    for word in words.split()
}  # fmt: skip
_CHINESE_DIGITS = "零一二三四五六七八九"

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
_ZH_NUMBER = r"[0-9一二三四五六七八九十两几]{1,3}"
_ZH_WEEK = r"(?:周|星期|礼拜)"
_STEP = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}
_ZH_STEP = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}


def _number(text: str) -> int:
    """12, "two", "a couple of", "十二": the number."""
    text = text.strip().lower()
    if text.isascii():
        return int(text) if text.isdigit() else _NUMBERS[text.removeprefix("a ").split()[0]]
    tens, ten, ones = text.partition("十")
    if ten:
        return (_NUMBERS.get(tens, 1)) * 10 + (_NUMBERS[ones] if ones else 0)
    return int("".join(str(_NUMBERS.get(char, char)) for char in text))


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _weekday_number(name: str) -> int:
    return _WEEKDAYS.index(name[:3].lower())


def _whole_month(year: int, month: int) -> Days:
    first = date(year, month, 1)
    following = date(year + month // 12, month % 12 + 1, 1)
    return Days(first, following - timedelta(1))


def _month_from(today: date, months: int) -> Days:
    index = today.year * 12 + today.month - 1 + months
    return _whole_month(index // 12, index % 12 + 1)


def _week_from(today: date, weeks: int) -> Days:
    monday = today - timedelta(today.weekday()) + timedelta(7 * weeks)
    return Days.around(monday, after=6)


def _unit_from(today: date, unit: str, count: int) -> Days:
    """The day, week, month or year so many units away; the further away, the less exact."""
    if abs(count) > _LONGEST_COUNT:
        raise ValueError(count)
    if unit == "day":
        return Days.around(today + timedelta(count))
    if unit == "week":
        return Days.around(today + timedelta(7 * count), before=3, after=3)
    if unit == "month":
        return _month_from(today, count)
    return Days(date(today.year + count, 1, 1), date(today.year + count, 12, 31))


def _in_years(today: date, years: Sequence[int], month: int, day: int | None) -> Iterator[Days]:
    """A date without its year: in each of the years, or in the one that brings it nearest to today."""
    made = []
    for year in years or (today.year - 1, today.year, today.year + 1):
        try:
            made.append(Days.around(date(year, month, day)) if day else _whole_month(year, month))
        except ValueError:  # 29 February in most years
            continue
    if years:
        yield from made
    elif made:
        yield min(made, key=lambda days: abs((days.first - today).days))


def _iso(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield Days.around(date(int(match["year"]), int(match["month"]), int(match["day"])))


def _named_date(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    parts = match.groupdict()
    month = _month_number(parts["month"])
    day = int(parts["day"]) if parts.get("day") else None
    if parts.get("year"):
        yield from _in_years(today, [int(parts["year"])], month, day)
    else:
        yield from _in_years(today, years, month, day)


def _which_month(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    month, step = _month_number(match["month"]), _STEP[match["which"].lower()]
    year = today.year
    if step < 0 and month >= today.month:
        year -= 1
    elif step > 0 and month <= today.month:
        year += 1
    yield _whole_month(year, month)


def _year(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    year = int(match["year"])
    yield Days(date(year, 1, 1), date(year, 12, 31))


_NEAR_DAYS = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0,
    "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1,
    "the day after tomorrow": 2, "day after tomorrow": 2,
    "大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "昨日": -1, "今天": 0, "今早": 0, "今晚": 0, "今日": 0,
    "明天": 1, "明早": 1, "明晚": 1, "后天": 2, "大后天": 3,
}  # fmt: skip


def _near_day(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield Days.around(today + timedelta(_NEAR_DAYS[match[0].lower()]))


def _which_weekday(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    weekday, step = _weekday_number(match["weekday"]), _STEP[match["which"].lower()]
    ahead = (weekday - today.weekday()) % 7
    if step < 0:
        yield Days.around(today - timedelta((today.weekday() - weekday) % 7 or 7))
    else:
        yield Days.around(today + timedelta(ahead or 7 * step))


def _bare_weekday(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    """ "On Friday" is the last one or the next."""
    back = (today.weekday() - _weekday_number(match["weekday"])) % 7
    yield Days.around(today - timedelta(back))
    yield Days.around(today - timedelta(back) + timedelta(7))


def _which_unit(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    step, unit = _STEP[match["which"].lower()], match["unit"].lower()
    if unit == "weekend":
        monday = _week_from(today, step).first
        yield Days.around(monday + timedelta(4), after=2)
    elif unit == "week":
        week = _week_from(today, step)
        yield Days(min(week.first, today - timedelta(7)), week.last) if step < 0 else week
    else:
        yield _unit_from(today, unit, step)


def _ago(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield _unit_from(today, match["unit"].lower().replace("night", "day"), -_number(match["count"]))


def _from_now(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield _unit_from(today, match["unit"].lower().replace("night", "day"), _number(match["count"]))


_ZH_YEAR_STEP = {"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}


def _zh_date(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    written, month = match["year"], _number(match["month"])
    day = _number(match["day"]) if match["day"] else None
    if not written:
        yield from _in_years(today, years, month, day)
    else:
        yield from _in_years(today, [_zh_year_number(written, today)], month, day)


def _zh_year_number(written: str, today: date) -> int:
    if written in _ZH_YEAR_STEP:
        return today.year + _ZH_YEAR_STEP[written]
    digits = "".join(str(_CHINESE_DIGITS.find(char)) if char in _CHINESE_DIGITS else char for char in written[:-1])
    return int(digits)


def _zh_year(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    year = _zh_year_number(match["year"], today)
    yield Days(date(year, 1, 1), date(year, 12, 31))


def _zh_month(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    yield _month_from(today, _ZH_STEP[match["which"]])


def _zh_week(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    week = _week_from(today, _ZH_STEP[match["which"]])
    day = match["day"]
    if not day:
        yield week
    elif day == "末":
        yield Days(week.first + timedelta(5), week.last)
    else:
        yield Days.around(week.first + timedelta("一二三四五六日天".index(day) - (day == "天")))


def _zh_weekday(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    day = match["day"]
    back = (today.weekday() - ("一二三四五六日天".index(day) - (day == "天"))) % 7
    yield Days.around(today - timedelta(back))
    yield Days.around(today - timedelta(back) + timedelta(7))


_ZH_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}


def _zh_count(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    sign = -1 if match["side"] in ("前", "以前", "之前") else 1
    yield _unit_from(today, _ZH_UNITS[match["unit"]], sign * _number(match["count"]))


_FEASTS = {
    "元旦": (1, 1), "new year's day": (1, 1), "valentine's day": (2, 14), "情人节": (2, 14), "五一": (5, 1),
    "劳动节": (5, 1), "halloween": (10, 31), "国庆": (10, 1), "圣诞": (12, 25), "christmas": (12, 25),
    "new year's eve": (12, 31),
}  # fmt: skip


def _feast(match: re.Match[str], today: date, years: Sequence[int]) -> Iterator[Days]:
    month, day = _FEASTS[match[0].lower()]
    for days in _in_years(today, years, month, day):
        yield Days.around(days.first, before=1, after=5)


def _any_of(words: Sequence[str]) -> str:
    """A pattern for any of the words, the longest first; Latin ones as whole words."""
    ordered = sorted(words, key=len, reverse=True)
    return "|".join(rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word) for word in ordered)


# The most telling form first: what one rule has read, the later ones do not read again.
_RULES: Sequence[tuple[re.Pattern[str], _Resolve]] = tuple(
    (re.compile(pattern, re.IGNORECASE | flags), resolve)
    for pattern, resolve, flags in (
        (rf"\b{_YEAR}[-/.](?P<month>1[0-2]|0?[1-9])[-/.](?P<day>[12]\d|3[01]|0?[1-9])(?!\d)", _iso, 0),
        (rf"\b{_DAY}(?: of)? {_MONTH},? {_YEAR}\b", _named_date, 0),
        (rf"\b{_MONTH} {_DAY}(?!\d),?(?: {_YEAR}\b)?", _named_date, 0),
        (rf"\b{_DAY}(?: of)? {_MONTH}", _named_date, 0),
        (rf"\b{_MONTH},?(?: of)? {_YEAR}\b", _named_date, 0),
        (rf"\b{_WHICH} {_MONTH}", _which_month, 0),
        (rf"\b(?:in|since|by|until|of|during|early|mid|late) {_MONTH}", _named_date, 0),
        (_any_of([*_NEAR_DAYS]), _near_day, 0),
        (rf"\b{_WHICH} {_WEEKDAY}", _which_weekday, 0),
        (rf"\b{_WHICH} (?P<unit>weekend|week|month|year)\b", _which_unit, 0),
        (rf"\b{_COUNT} {_UNIT} (?:ago|back|earlier)\b", _ago, 0),
        (rf"\bin {_COUNT} {_UNIT}\b", _from_now, 0),
        (rf"\b{_FULL_WEEKDAY}", _bare_weekday, 0),
        (_any_of([*_FEASTS]), _feast, 0),
        (rf"(?:(?P<year>(?:19|20)\d\d年|[一二][{_CHINESE_DIGITS}]{{3}}年|[前去今明后]年)的?)?"
         rf"(?P<month>{_ZH_NUMBER})月(?:份|(?P<day>{_ZH_NUMBER})[日号]?)?", _zh_date, 0),
        (rf"(?P<year>(?:19|20)\d\d年|[一二][{_CHINESE_DIGITS}]{{3}}年|[前去今明后]年)", _zh_year, 0),
        (r"(?P<which>上上|上|这|本|下下|下)个?月", _zh_month, 0),
        (rf"(?P<which>上上|上|这|本|下下|下)个?{_ZH_WEEK}(?P<day>[一二三四五六日天末])?", _zh_week, 0),
        (rf"{_ZH_WEEK}(?P<day>[一二三四五六日天])", _zh_weekday, 0),
        (rf"(?P<count>{_ZH_NUMBER})个?多?(?P<unit>天|日|周|星期|礼拜|月|年)(?P<side>(?:以|之)?前|(?:以|之)?后)",
         _zh_count, 0),
        (rf"\b{_YEAR}\b", _year, 0),
    )
)  # fmt: skip
