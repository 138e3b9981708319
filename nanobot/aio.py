"""Async helpers: the first of several, shielded work, work in order by key, a readers-writer lock."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar


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


# Uninterrupted work.


T = TypeVar("T")


async def shielded(work: Coroutine[Any, Any, T]) -> T:
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


# Locks by key.


Job = Callable[[], Awaitable[None]]


class Rows:
    """A row of jobs for each key, worked off by a task that ends when the row is empty."""

    def __init__(self) -> None:
        self._rows: dict[str, deque[Job]] = {}
        self._group: asyncio.TaskGroup | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Work while this is open; leaving it cancels what is left. A job that raises ends it all."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            working: set[asyncio.Task[None]] = set()
            self._working = working
            try:
                yield
            finally:
                self._group = None
                for task in working:
                    task.cancel()

    def put(self, key: str, job: Job) -> None:
        """Add a job; dropped when nobody works any more, as is all that the next start reads again."""
        if self._group is None:
            return
        row = self._rows.get(key)
        if row is not None:
            row.append(job)
            return
        self._rows[key] = deque([job])
        task = self._group.create_task(self._work(key), name=key)
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def _work(self, key: str) -> None:
        row = self._rows[key]
        try:
            while row:
                await row.popleft()()
        finally:
            del self._rows[key]


# Readers-writer lock.


class ReadersWriterLock:
    """Whoever wants to be alone waits for those who are in; meanwhile nobody else gets in."""

    def __init__(self) -> None:
        self._alone = asyncio.Lock()
        self._inside = 0
        self._empty = asyncio.Event()
        self._empty.set()

    @asynccontextmanager
    async def passing(self) -> AsyncIterator[None]:
        """With others."""
        async with self._alone:
            self._inside += 1
            self._empty.clear()
        try:
            yield
        finally:
            self._inside -= 1
            if not self._inside:
                self._empty.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Without anybody else."""
        async with self._alone:
            await self._empty.wait()
            yield
