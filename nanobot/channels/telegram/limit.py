"""How long something may take by the clock on the wall, and how long to wait before it is tried again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nanobot.ports import Clock

LONGEST_PAUSE = 30.0


def back_off(failed: int) -> float:
    """Seconds after so many failures in a row: 1, 2, 4, and so on to half a minute."""
    return min(LONGEST_PAUSE, 2.0 ** min(failed - 1, 10))


@asynccontextmanager
async def at_most(clock: Clock, seconds: float) -> AsyncIterator[None]:
    """End what stands inside after this time, and raise TimeoutError.

    The timeouts of HTTP clients start again with every byte.
    """
    async with asyncio.timeout(None) as scope:
        watcher = asyncio.create_task(_expire(clock, seconds, scope))
        try:
            yield
        finally:
            watcher.cancel()
            await asyncio.wait([watcher])


async def _expire(clock: Clock, seconds: float, scope: asyncio.Timeout) -> None:
    await clock.sleep(seconds)
    scope.reschedule(asyncio.get_running_loop().time())
