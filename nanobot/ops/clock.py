"""The machine's clock."""

import asyncio
import logging
import time
from datetime import UTC, datetime, tzinfo
from functools import cached_property

log = logging.getLogger(__name__)


class SystemClock:
    """Real time, told in one zone. `now().tzinfo` is that zone, not what it is off by today: other days differ."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        """`zone` is the person's time zone; without one the machine's is used."""
        self._told = zone

    def now(self) -> datetime:
        return datetime.now().astimezone(self._zone)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    @cached_property
    def _zone(self) -> tzinfo | None:
        if self._told is not None:
            return self._told
        from tzlocal import get_localzone

        try:
            return get_localzone()
        except (KeyError, ValueError, OSError) as error:  # a TZ such as EST5EDT4, a broken /etc/localtime
            log.warning("The machine's time zone has no name that is known: %s; set `timezone` in config.yaml", error)
            return None if time.timezone or time.daylight else UTC  # what the C library does not know, it tells so
