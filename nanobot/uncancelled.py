"""Work that must not be left half done."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Await the work even when cancelled meanwhile; the cancellation goes on once it is done.

    A thread cannot be stopped: whoever let go of a lock while it writes would let others write between.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # seen; the cancellation is what the caller must hear of
        raise
