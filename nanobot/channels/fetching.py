"""Limits on fetching the files that people send: seconds, and how many at once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from nanobot.channels.platform import UnreachableError
from nanobot.errors import NanobotError
from nanobot.ports import Clock

T = TypeVar("T")

LONGEST = 600.0
"""Seconds for all files of a message, waiting for a place included: what is said in the chat meanwhile waits behind it.

A self-hosted Bot API server gives out files of 2 GB; one that comes from the same house takes a minute or two.
"""

PLACES = 8
"""Messages whose files are fetched at the same time. Within a chat one message follows on the other, so that no chat
takes more than one place."""

SIDE_BY_SIDE = 3
"""Files of a message that are fetched at the same time."""

_LEAST = 60.0
_SLOWEST = 100_000  # bytes a second


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


class Fetcher:
    """Fetches the files of messages: some messages at a time, some files of each side by side."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._places = asyncio.Semaphore(PLACES)

    async def fetch(self, size: int, files: Sequence[Callable[[], Awaitable[T]]]) -> Sequence[T | NanobotError]:
        """Fetch the files of a message, `size` bytes together; what came of each, in their order.

        A minute, and ten seconds for each MB, from the moment when there is a place; LONGEST in any case. What has
        not come by then is an UnreachableError, and the others are kept.
        """
        if not files:
            return []
        until = self._clock.monotonic() + LONGEST
        try:
            async with at_most(self._clock, LONGEST):
                await self._places.acquire()
        except TimeoutError:
            return [_late() for _ in files]
        try:
            until = min(until, self._clock.monotonic() + _LEAST + size / _SLOWEST)
            beside = asyncio.Semaphore(SIDE_BY_SIDE)
            async with asyncio.TaskGroup() as group:
                fetches = [group.create_task(self._one(file, beside, until)) for file in files]
            return [fetch.result() for fetch in fetches]
        finally:
            self._places.release()

    async def _one(self, file: Callable[[], Awaitable[T]], beside: asyncio.Semaphore, until: float) -> T | NanobotError:
        try:
            async with at_most(self._clock, until - self._clock.monotonic()), beside:
                return await file()
        except TimeoutError:
            return _late()
        except NanobotError as error:
            return error


def _late() -> UnreachableError:
    return UnreachableError("it did not come in time", may_have_arrived=False)
