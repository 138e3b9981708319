"""What happened, and when, on disk."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from nanobot.authority import Scope
from nanobot.errors import StoreError
from nanobot.ports import Episode
from nanobot.store import episode_lines
from nanobot.store.history_file import HistoryFile
from nanobot.uncancelled import to_the_end
from nanobot.workspace import Workspace

T = TypeVar("T")


class History:
    """The Episodes on disk; one process writes them.

    A number is never given twice, also when the last line was erased: `.cursor` remembers the highest one.
    A line that cannot be read is left out, with a warning, and stays where it is.
    """

    def __init__(self, workspace: Workspace, *, fsync: bool = True) -> None:
        """`fsync`: whether an append returns only when its bytes are on the disk itself."""
        self._path = workspace.history
        self._file = HistoryFile(workspace.history, workspace.history_cursor, fsync=fsync)
        self._lock = asyncio.Lock()

    async def append(self, episode: Episode) -> Episode:
        return await self._in_order(lambda: self._file.append(episode))

    async def last(self) -> int:
        return await self._in_order(self._file.last)

    async def after(self, cursor: int, limit: int) -> Sequence[Episode]:
        return await self._in_order(lambda: self._file.after(cursor, limit))

    async def newest(self, scope: Scope, limit: int, through: int | None = None) -> Sequence[Episode]:
        return await self._in_order(lambda: self._file.newest("scope", scope.name, limit, through))

    async def get(self, cursor: int) -> Episode | None:
        found = await self.after(cursor - 1, 1)
        return found[0] if found and found[0].cursor == cursor else None

    async def of_session(self, session: str, limit: int, through: int | None = None) -> Sequence[Episode]:
        return await self._in_order(lambda: self._file.newest("session", session, limit, through))

    async def revise(self, work: Callable[[Path], T]) -> T:
        """Have the file written anew while nobody adds to it. Raises StoreError."""
        return await self._in_order(lambda: self._file.revise(work))

    async def _in_order(self, work: Callable[[], T]) -> T:
        """In a thread, one after the other, and to its end."""
        async with self._lock:
            return await to_the_end(self._in_thread(work))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise StoreError(f"{self._path} could not be read or written: {error.strerror or error}") from error


async def bad_lines(workspace: Workspace) -> int:
    """How many lines cannot be read. Raises StoreError."""
    return await asyncio.to_thread(_bad_lines, workspace.history)


def _bad_lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(bool(line.strip()) and not episode_lines.is_readable(line) for line in file)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreError(f"{path} could not be read: {error.strerror or error}") from error
