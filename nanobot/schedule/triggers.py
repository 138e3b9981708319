"""When a job begins next."""

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from nanobot.errors import ConfigError
from nanobot.ports import Cron, Every, When

_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def check(when: When) -> None:
    """Raises ConfigError for a rule that cannot be read, or never comes true."""
    if isinstance(when, Cron):
        _after(when.rule, datetime(2026, 1, 1, tzinfo=UTC))


def next_time(when: When, last: datetime | None, now: datetime, zone: tzinfo) -> datetime:
    """When a job begins next, given when it last began; a moment that is past means at once.

    One that never ran begins at once if it runs every so often, and at the next moment of its rule otherwise.
    """
    now = now.astimezone(UTC)  # in one zone Python compares what the clocks show, and they show one hour twice
    last = last.astimezone(UTC) if last is not None else None
    if isinstance(when, Every):
        if last is None or last > now:  # a clock that was set back must not silence a job
            return now
        return last + timedelta(seconds=when.seconds)
    begun = last if last is not None and last <= now else now
    return _after(when.rule, begun.astimezone(zone)).astimezone(UTC)


@lru_cache(maxsize=64)
def _after(rule: str, moment: datetime) -> datetime:
    from cronsim import CronSim, CronSimError  # 5 ms to import: only who has a rule pays for it

    fields = _NAMED.get(rule.strip().lower(), rule)
    if len(fields.split()) != 5:  # it knows seconds as a sixth; people would take them for minutes
        raise ConfigError(f'"{rule}" is no rule of five fields, such as "30 3 * * *".')
    try:
        return next(CronSim(fields, moment))
    except CronSimError as error:
        raise ConfigError(f'"{rule}" cannot be read as in a crontab: {error}.') from error
    except StopIteration:
        raise ConfigError(f'"{rule}" never comes true.') from None
