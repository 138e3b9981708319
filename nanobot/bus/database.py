"""The thread that works with the spool's file."""

import asyncio
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

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


class Database:
    """Does one piece of work after the other, in the order in which they were asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
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
        except (sqlite3.Error, UnreadableError) as error:
            raise self._failure(error) from error
        else:
            return result
        finally:
            if connection.in_transaction:
                with suppress(sqlite3.Error):  # the first error is the one to tell
                    connection.execute("ROLLBACK")

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
