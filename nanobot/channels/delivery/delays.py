"""What waits for a better time, and for how long."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nanobot.messages import Address
from nanobot.ports import Clock

FOREVER: Final = float("inf")

LONGEST_WAIT = 60.0
"""Seconds between two tries."""

MARGIN = 0.5
"""Seconds after its time in which the outbox hands out what was postponed."""


def back_off(attempts: int) -> float:
    """Seconds until the next try after so many: 1, 2, 4 … 60, and up to half less, so that chats do not throng."""
    longest = min(LONGEST_WAIT, 2.0 ** min(attempts, 10))
    return longest - random.uniform(0, longest / 2)  # noqa: S311 - spreads load, guards no secret


@dataclass(frozen=True, slots=True)
class Delay:
    """A chat whose next message could not be delivered so far: since when, why, and the seconds to the next try."""

    address: Address
    since: datetime
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _Wait:
    since: datetime
    reason: str
    until: float


class Delays:
    """The addresses to which a message is on its way, or waits for another try."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._underway: set[Address] = set()
        self._waits: dict[Address, _Wait] = {}

    def clear(self) -> None:
        """Nothing is on its way any more; what waited is handed out again when it is time."""
        self._underway.clear()

    def begin(self, address: Address) -> None:
        """A message is on its way there."""
        self._underway.add(address)

    def wait(self, address: Address, seconds: float, reason: str) -> None:
        """It did not arrive, and is tried again after this time."""
        earlier = self._waits.get(address)
        since = earlier.since if earlier else self._clock.now()
        self._waits[address] = _Wait(since, reason, self._clock.monotonic() + seconds)
        self._underway.discard(address)

    def end(self, address: Address) -> None:
        """It arrived, or never will."""
        self._underway.discard(address)
        self._waits.pop(address, None)

    def held(self, address: Address) -> float:
        """For how many seconds nothing else may come before it; 0 if nothing is on its way."""
        if address in self._underway:
            return FOREVER
        wait = self._waits.get(address)
        return max(0.0, wait.until + MARGIN - self._clock.monotonic()) if wait else 0.0

    def listed(self) -> Sequence[Delay]:
        """All that waits, the longest first."""
        now = self._clock.monotonic()
        waits = sorted(self._waits.items(), key=lambda item: item[1].since)
        return [Delay(at, wait.since, wait.reason, max(0.0, wait.until - now)) for at, wait in waits]
