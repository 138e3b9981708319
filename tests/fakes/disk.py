"""A disk that takes what is written at once.

No test can cut the power, and what a process has written outlives it whatever kills it. To wait for the real disk,
thousands of times, would show nothing and take a good part of a run.
"""

import os
import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike


def nothing_is_flushed() -> None:
    """From now on neither the program nor its databases wait for the disk in this process."""
    os.fsync = _flush
    sqlite3.connect = partial(sqlite3.connect, factory=_Connection)  # type: ignore[assignment]


def _flush(fd: "FileDescriptorLike") -> None:
    """As there, a descriptor that is not open is refused."""
    os.fstat(fd if isinstance(fd, int) else fd.fileno())


class _Connection(sqlite3.Connection):
    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        return super().execute("PRAGMA synchronous = OFF" if "synchronous =" in sql else sql, *parameters)
