"""Waiting with the clock: for an event, or for the end of what was begun."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from nanobot.first import first_of
from nanobot.ports import Clock

T = TypeVar("T")


async def happened(event: asyncio.Event, clock: Clock, seconds: float | None) -> None:
    """Return when the event happens, or after so many seconds; None waits for the event alone."""
    if seconds is None:
        await event.wait()
    else:
        await first_of(event.wait(), clock.sleep(seconds))


async def with_grace(work: Coroutine[Any, Any, T], clock: Clock, seconds: float) -> T:
    """Await the work; when cancelled meanwhile, it still gets so many seconds to come to its end."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            grace = asyncio.ensure_future(clock.sleep(seconds))
            try:
                await asyncio.wait([task, grace], return_when=asyncio.FIRST_COMPLETED)
            finally:
                grace.cancel()
                task.cancel()
                await asyncio.wait([task, grace])
        if not task.cancelled():
            task.exception()  # seen; the cancellation is what the caller must hear of
        raise
