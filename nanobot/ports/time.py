"""Time."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time, so that tests can own it."""

    def now(self) -> datetime:
        """The local time, with its zone."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever grow."""
        ...

    async def sleep(self, seconds: float) -> None: ...
