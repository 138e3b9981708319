"""Waiting for the first of several things."""

import asyncio
from collections.abc import Awaitable


async def first_of(*works: Awaitable[object]) -> None:
    """Return when the first of these is over; by then the others are cancelled, and have ended.

    What goes wrong in any of them is raised.
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()
