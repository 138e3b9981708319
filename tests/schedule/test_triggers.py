from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from nanobot.errors import ConfigError
from nanobot.ports import Cron, Every, When
from nanobot.schedule.scheduler import check, next_time

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")


def runs(when: When, start: datetime, end: datetime, step: timedelta = timedelta(minutes=10)) -> Iterator[datetime]:
    """When a job begins in a process that looks every ten minutes of real time."""
    zone = start.tzinfo
    assert zone is not None
    now, last = start.astimezone(UTC), start
    while now < end.astimezone(UTC):
        if next_time(when, last, now.astimezone(zone), zone) <= now:
            last = now.astimezone(zone)
            yield last
        now += step


@pytest.mark.parametrize(
    ("rule", "zone", "start"),
    [
        ("30 2 * * *", BERLIN, (2026, 10, 24)),
        ("30 2 * * *", BERLIN, (2026, 3, 27)),
        ("30 1 * * *", NEW_YORK, (2026, 10, 31)),
        ("0 9 * * *", NEW_YORK, (2026, 3, 7)),
        ("30 2 * * *", NEW_YORK, (2026, 3, 6)),
    ],
)
def test_a_daily_job_runs_once_each_local_day_also_when_the_clocks_change(
    rule: str, zone: ZoneInfo, start: tuple[int, int, int]
) -> None:
    began = datetime(*start, tzinfo=zone)

    days = [moment.date() for moment in runs(Cron(rule), began, began + timedelta(days=4))]

    assert days == [began.date() + timedelta(days=number) for number in range(4)]


def test_nine_in_the_morning_stays_nine_in_the_morning() -> None:
    began = datetime(2026, 3, 7, tzinfo=NEW_YORK)

    moments = list(runs(Cron("0 9 * * *"), began, began + timedelta(days=3)))

    assert [f"{moment.astimezone(UTC):%H:%M}" for moment in moments] == ["14:00", "13:00", "13:00"]


def test_weekdays_are_those_of_a_crontab() -> None:
    monday = datetime(2026, 11, 30, tzinfo=UTC)

    for rule in ("0 9 * * 1", "0 9 * * MON", "0 9 * * mon"):
        assert next_time(Cron(rule), monday, monday, UTC) == monday.replace(hour=9)
    for rule in ("0 9 * * 0", "0 9 * * 7", "@weekly"):
        assert next_time(Cron(rule), monday, monday, UTC).weekday() == 6


def test_what_was_missed_is_due_at_once_and_only_once() -> None:
    last = datetime(2026, 11, 1, 3, 30, tzinfo=UTC)
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)

    assert next_time(Cron("30 3 * * *"), last, now, UTC) <= now
    assert next_time(Cron("30 3 * * *"), now, now, UTC) == datetime(2026, 12, 1, 3, 30, tzinfo=UTC)
    assert next_time(Every(7200), last, now, UTC) <= now
    assert next_time(Every(7200), now, now, UTC) == now + timedelta(hours=2)


def test_what_never_ran_is_due_at_once_or_when_its_rule_says_so() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)

    assert next_time(Every(7200), None, now, UTC) == now
    assert next_time(Cron("30 3 * * *"), None, now, UTC) == datetime(2026, 12, 1, 3, 30, tzinfo=UTC)


def test_a_clock_that_was_set_back_silences_no_job() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    ahead = now + timedelta(days=400)

    assert next_time(Every(7200), ahead, now, UTC) == now
    assert next_time(Cron("@daily"), ahead, now, UTC) == datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize("rule", ["", "hourly", "61 * * * *", "* * * * * *", "0 9 * * 8", "0 0 31 2 *", "@often"])
def test_a_rule_that_cannot_be_kept_is_refused_with_its_text(rule: str) -> None:
    with pytest.raises(ConfigError, match=r"rule|crontab|never"):
        check(Cron(rule))
