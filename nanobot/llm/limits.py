"""How long an attempt may take, measured with our own clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nanobot.ports import Clock


class TooLongError(Exception):
    """The work was cancelled. `stalled` tells a lack of progress from the end of all patience."""

    def __init__(self, *, stalled: bool) -> None:
        super().__init__("no progress" if stalled else "not done in time")
        self.stalled = stalled


class Limit:
    """Two deadlines: one for the whole, one that each sign of progress moves on. In seconds."""

    def __init__(self, clock: Clock, overall: float, idle: float) -> None:
        self._clock = clock
        self._idle = idle
        self._last = clock.monotonic()
        self._end = self._last + overall
        self.exceeded: TooLongError | None = None

    def progress(self) -> None:
        """The work moved on."""
        self._last = self._clock.monotonic()

    async def watch(self, scope: asyncio.Timeout) -> None:
        """Sleep from deadline to deadline; when one passes, end the work inside the scope."""
        while (left := min(self._end, self._last + self._idle) - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        self.exceeded = TooLongError(stalled=self._clock.monotonic() < self._end)
        scope.reschedule(asyncio.get_running_loop().time())


@asynccontextmanager
async def time_limit(clock: Clock, overall: float, idle: float | None = None) -> AsyncIterator[Limit]:
    """Cancel what stands inside when it takes too long, and raise TooLongError in its place.

    The timeouts of HTTP clients start again with every byte, so a server that sends
    keep-alive comments would defeat them.
    """
    limit = Limit(clock, overall, overall if idle is None else idle)
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
