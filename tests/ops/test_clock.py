"""The machine's clock tells time in a zone that knows its summers."""

import os
import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta

import pytest
import tzlocal

from nanobot.forgetting.request import ForgetRequest
from nanobot.schedule.scheduler import SystemClock


@pytest.fixture(params=["Europe/Berlin", "America/New_York"])
def zone(request: pytest.FixtureRequest) -> Iterator[str]:
    name: str = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "TZ", name)
        time.tzset()
        tzlocal.reload_localzone()
        yield name
    time.tzset()
    tzlocal.reload_localzone()


@pytest.mark.usefixtures("zone")
def test_it_tells_what_the_machine_tells() -> None:
    now = SystemClock().now()

    assert now.utcoffset() == datetime.now().astimezone().utcoffset()
    assert abs(now - datetime.now().astimezone()) < timedelta(minutes=1)


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("day", [date(2026, 1, 15), date(2026, 7, 15)])
def test_a_day_of_another_season_begins_at_its_own_midnight(day: date) -> None:
    moment = ForgetRequest("since", day.isoformat()).moment(SystemClock().now().tzinfo)

    assert datetime.fromisoformat(moment) == datetime(day.year, day.month, day.day).astimezone()


def test_a_zone_without_a_name_is_told_by_its_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> None:
        raise KeyError("EST5EDT4")

    monkeypatch.setattr(tzlocal, "get_localzone", unknown)

    assert SystemClock().now().utcoffset() == datetime.now().astimezone().utcoffset()


@pytest.mark.parametrize(("variable", "zone"), [("Nonsense", "UTC"), ("EST5EDT4,M3.2.0,M11.1.0", "E")])
def test_a_variable_that_is_no_zone_gives_utc_and_a_rule_counts(variable: str, zone: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", variable)
        patch.setattr("tzlocal.unix._cache_tz", None)
        time.tzset()
        now = SystemClock().now()
        assert str(now.tzinfo).startswith(zone)
        assert now.utcoffset() == datetime.now().astimezone().utcoffset()
    time.tzset()
