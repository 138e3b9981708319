"""Where many may pass side by side, or one who wants to be alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Passage:
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
