"""Which days people mean, in English and in Chinese."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.nlp.dates import Days, days_in, without_days

MONDAY = date(2026, 11, 30)


def day(text: str) -> Days:
    first, _, last = text.partition("..")
    return Days(date.fromisoformat(first), date.fromisoformat(last or first))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what was on 7 May, 2023?", "2023-05-07"),
        ("on May 7th, 2023", "2023-05-07"),
        ("the 7th of May 2023", "2023-05-07"),
        ("2023-05-07", "2023-05-07"),
        ("in August 2023", "2023-08-01..2023-08-31"),
        ("yesterday I ran", "2026-11-29"),
        ("the day before yesterday", "2026-11-28"),
        ("what did I say last Tuesday", "2026-11-24"),
        ("last week", "2026-11-23..2026-11-29"),
        ("last month", "2026-10-01..2026-10-31"),
        ("last May", "2026-05-01..2026-05-31"),
        ("last December", "2025-12-01..2025-12-31"),
        ("three weeks ago", "2026-11-06..2026-11-12"),
        ("a couple of days ago", "2026-11-28"),
        ("back in 2022", "2022-01-01..2022-12-31"),
        ("next Friday", "2026-12-04"),
        ("上周二我说了什么", "2026-11-24"),
        ("上星期天", "2026-11-29"),
        ("前天", "2026-11-28"),
        ("大前天", "2026-11-27"),
        ("三天前", "2026-11-27"),
        ("两周前", "2026-11-13..2026-11-19"),
        ("上个月", "2026-10-01..2026-10-31"),
        ("去年五月", "2025-05-01..2025-05-31"),
        ("2025年3月16日", "2025-03-16"),
        ("二〇二五年", None),
        ("二零二五年", "2025-01-01..2025-12-31"),
        ("十二月二十五号", "2026-12-25"),
        ("下周六", "2026-12-12"),
        ("上周末", "2026-11-28..2026-11-29"),
    ],
)
def test_a_date_is_understood_from_the_day_on_which_it_is_said(text: str, expected: str | None) -> None:
    assert days_in(text, MONDAY) == ([day(expected)] if expected else [])


@pytest.mark.parametrize(
    "text", ["I may go", "march on", "it will sum up", "the second one", "call 2023123", "我可能去", "几月几号"]
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert days_in(text, MONDAY) == []


def test_a_month_without_a_year_means_that_month_in_every_year_asked_about() -> None:
    assert days_in("in May", MONDAY, [2022, 2023]) == [day("2022-05-01..2022-05-31"), day("2023-05-01..2023-05-31")]


def test_29_february_exists_in_leap_years_only() -> None:
    assert days_in("on 29 February", MONDAY, [2023, 2024]) == [day("2024-02-29")]


def test_a_bare_weekday_is_the_last_one_or_the_next() -> None:
    assert days_in("on Friday", MONDAY) == [day("2026-11-27"), day("2026-12-04")]


def test_the_words_of_a_date_can_be_taken_out() -> None:
    assert without_days("What did Ada bake on 7 May 2023?", MONDAY).split() == ["What", "did", "Ada", "bake", "on", "?"]
    assert without_days("上周二吃了什么", MONDAY).strip() == "吃了什么"


@given(
    st.text(alphabet="0123456789 年月日号周前后上下last agoinMayFri-/.二十零"),
    st.dates(date(2, 1, 1), date(9998, 12, 31)),
)
def test_no_text_is_too_odd(text: str, today: date) -> None:
    for days in days_in(text, today):
        assert days.first <= days.last
