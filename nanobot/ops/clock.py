"""The machine's clock."""

import asyncio
import time
from datetime import datetime, tzinfo


class SystemClock:
    """Real time, told in one zone."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        """`zone` is the person's time zone; without one the machine's is used."""
        self._zone = zone

    def now(self) -> datetime:
        return datetime.now().astimezone(self._zone)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
