"""The thread that works with the spool's file."""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from nanobot.bus.damage import remove_damaged
from nanobot.bus.opening import open_file
from nanobot.bus.rows import UnreadableError
from nanobot.errors import StoreError
from nanobot.ports.bus import DiskObstacle, DiskTrouble

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


_TIGHT = 1 << 20
"""Bytes: where fewer are free, a message may not be taken."""

_KINDS: dict[int, DiskObstacle] = {
    sqlite3.SQLITE_FULL: "disk_full",
    sqlite3.SQLITE_READONLY: "disk_read_only",
    sqlite3.SQLITE_PERM: "disk_denied",
    sqlite3.SQLITE_CANTOPEN: "disk_denied",
    sqlite3.SQLITE_BUSY: "disk_busy",
    sqlite3.SQLITE_LOCKED: "disk_busy",
}


class Database:
    """Does one piece of work after the other, in the order in which they were asked for."""

    def __init__(self, path: Path, now: Callable[[], datetime]) -> None:
        self.trouble: DiskTrouble | None = None
        """Why nothing can be written; whoever finds that it can be again takes it away."""
        self._path = path
        self._now = now
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="spool")
        self._connection: sqlite3.Connection

    async def open(self, now: datetime) -> None:
        """Open the file. Raises StoreError."""
        await self._in_thread(lambda: self._open(now))

    async def run(self, work: Work[T]) -> T:
        """What the work returns, once everything it wrote is on the disk. Raises StoreError; then it wrote nothing."""
        return await self._in_thread(lambda: self._transact(work))

    async def scrub(self) -> None:
        """Leave no trace of what was deleted: not in free pages, not in the log. Raises StoreError."""
        await self._in_thread(self._scrub)

    async def close(self) -> None:
        """Close the file."""
        await self._in_thread(self._close)
        self._thread.shutdown(wait=False)  # nothing is left to do

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _open(self, now: datetime) -> None:
        self._connection = open_file(self._path, now)

    def _transact(self, work: Work[T]) -> T:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            result = work(connection)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self.trouble = self.trouble or DiskTrouble(self._kind(error), self._now())
            raise self._failure(error) from error
        except UnreadableError as error:
            raise self._failure(error) from error
        else:
            return result
        finally:
            if connection.in_transaction:
                with suppress(sqlite3.Error):  # the first error is the one to tell
                    connection.execute("ROLLBACK")

    def is_tight(self) -> bool:
        """Whether the disk is read-only, or so full that it may not take a message."""
        space = os.statvfs(self._path.parent)
        return bool(space.f_flag & os.ST_RDONLY) or space.f_bavail * space.f_frsize < _TIGHT

    def _kind(self, error: sqlite3.Error) -> DiskObstacle:
        """What SQLite says; where that is only that it could not be written, what the file system says."""
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None and (kind := _KINDS.get(code & 0xFF)):
            return kind
        with suppress(OSError):
            if os.statvfs(self._path.parent).f_flag & os.ST_RDONLY:
                return "disk_read_only"
            if self.is_tight():
                return "disk_full"
            if not os.access(self._path, os.W_OK):
                return "disk_denied"
        return "disk_error"

    def _scrub(self) -> None:
        try:
            self._connection.execute("VACUUM")
            ((is_busy, _, _),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            remove_damaged(self._path)
        except (sqlite3.Error, OSError) as error:
            raise self._failure(error) from error
        if is_busy:
            raise StoreError(f"{self._path} is being read by another program, so that deleted text stays in its log.")

    def _close(self) -> None:
        self._connection.close()

    def _failure(self, error: Exception) -> StoreError:
        return StoreError(f"{self._path}: {error}")
