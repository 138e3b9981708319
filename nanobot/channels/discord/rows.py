"""Work that waits its turn: in order for each key, keys side by side."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

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
        task = self._group.create_task(self._work(key), name=f"discord {key}")
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def _work(self, key: str) -> None:
        row = self._rows[key]
        try:
            while row:
                await row.popleft()()
        finally:
            del self._rows[key]
