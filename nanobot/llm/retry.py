"""The patience with an endpoint: how long one attempt may take, and whether and when another is worth it."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nanobot.errors import LLMError, LLMErrorKind
from nanobot.ports import Clock

MAX_WAIT = 60.0
"""Seconds. An endpoint that asks for more is not waited for within a turn: the person is told."""

_FIRST_WAIT = 1.0
_LONGEST_WAIT = 20.0

_REPEATS: dict[LLMErrorKind, int | None] = {
    "rate_limit": None,
    "server": None,
    "network": None,
    "proxy": None,
    "cut": None,
    "timeout": 1,
    "empty": 1,
    "protocol": 1,
}
"""How often an attempt that failed so is repeated; None: as often as attempts are allowed. What is not here: never."""


class OutOfTimeError(LLMError):
    """The whole time for an attempt is used up: another one would only take as long again."""


class Retries:
    """The attempts of one request."""

    def __init__(self, attempts: int) -> None:
        self._left = attempts
        self._failed: dict[LLMErrorKind, int] = {}

    def wait(self, error: LLMError) -> float | None:
        """Seconds until the next attempt; None if there is to be none."""
        self._left -= 1
        failed = self._failed[error.kind] = self._failed.get(error.kind, 0) + 1
        allowed = _REPEATS.get(error.kind, 0)
        if self._left <= 0 or isinstance(error, OutOfTimeError) or (allowed is not None and failed > allowed):
            return None
        if not error.retry_after:
            return self._back_off()
        if error.retry_after > MAX_WAIT:
            return None
        return error.retry_after + _jitter(min(1.0, error.retry_after / 10))

    def _back_off(self) -> float:
        """Twice as long each time; a random half keeps many clients from coming back at the same moment."""
        longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (sum(self._failed.values()) - 1))
        return longest / 2 + _jitter(longest / 2)


def _jitter(most: float) -> float:
    return random.uniform(0, most)  # noqa: S311 - spreads load, guards no secret


class TooLongError(Exception):
    """The work was cancelled. `stalled` tells a lack of progress from the end of all patience."""

    def __init__(self, *, stalled: bool) -> None:
        super().__init__("no progress" if stalled else "not done in time")
        self.stalled = stalled


class Limit:
    """Two deadlines: one for the whole, one that each sign of progress moves on. In seconds.

    Until the work has begun, the second one is `first` after the last sign.
    """

    def __init__(self, clock: Clock, overall: float, idle: float, first: float) -> None:
        self._clock = clock
        self._idle = first
        self._idle_later = idle
        self._last = clock.monotonic()
        self._end = self._last + overall
        self.exceeded: TooLongError | None = None

    def progress(self, *, has_begun: bool = True) -> None:
        """The work moved on."""
        self._last = self._clock.monotonic()
        if has_begun:
            self._idle = self._idle_later

    async def watch(self, scope: asyncio.Timeout) -> None:
        """Sleep from deadline to deadline; when one passes, end the work inside the scope."""
        while (left := min(self._end, self._last + self._idle) - self._clock.monotonic()) > 0:
            await self._clock.sleep(min(left, self._idle_later))  # meanwhile the work may begin
        self.exceeded = TooLongError(stalled=self._clock.monotonic() < self._end)
        scope.reschedule(asyncio.get_running_loop().time())


@asynccontextmanager
async def time_limit(
    clock: Clock, overall: float, idle: float | None = None, first: float | None = None
) -> AsyncIterator[Limit]:
    """Cancel what stands inside when it takes too long, and raise TooLongError in its place.

    The timeouts of HTTP clients start again with every byte, so a server that sends
    keep-alive comments would defeat them.
    """
    idle = overall if idle is None else idle
    limit = Limit(clock, overall, idle, idle if first is None else first)
    try:
        async with asyncio.timeout(None) as scope:
            watcher = asyncio.create_task(limit.watch(scope))
            try:
                yield limit
            finally:
                watcher.cancel()
                await asyncio.wait([watcher])
    except TimeoutError:
        if limit.exceeded is None:
            raise
        raise limit.exceeded from None
