"""The file of the spool: its tables, opened whatever state it is in, and the thread that works with it."""

import asyncio
import errno
import logging
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from nanobot.bus import rows
from nanobot.bus.rows import UnreadableError, decode
from nanobot.errors import StoreError
from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.ports import Alert
from nanobot.ports.bus import DiskObstacle, DiskTrouble
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, set_mode

# Tables.


VERSION = 1

# Messages are JSON. Keys are hashes of ids (see rows.py). Times are seconds since 1970, by the clock on the wall.
_TABLES = """
CREATE TABLE known (  -- ids that came in or went out, for recognising repetitions
    number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, at REAL NOT NULL);
CREATE INDEX known_at ON known (at);
CREATE TABLE inbound (  -- what is not answered yet
    number INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, at REAL NOT NULL,
    begun INTEGER NOT NULL DEFAULT 0,     -- processes in which its turn began
    deaths INTEGER NOT NULL DEFAULT 0,    -- of processes in which it was at work
    is_aside INTEGER NOT NULL DEFAULT 0,  -- it is not received any more
    message BLOB NOT NULL);
CREATE TABLE outbound (  -- what is not delivered yet
    number INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, at REAL NOT NULL, channel TEXT NOT NULL,
    is_attempting INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
    postponed_at REAL NOT NULL DEFAULT 0, postponed_for REAL NOT NULL DEFAULT 0,  -- seconds
    message BLOB NOT NULL);
CREATE TABLE part (  -- of an outbound message, that has arrived
    number INTEGER PRIMARY KEY, message BLOB NOT NULL, platform_id TEXT NOT NULL);
CREATE TABLE preview (  -- of a turn's answer; without platform_id it is not known whether it arrived
    number INTEGER PRIMARY KEY, turn BLOB NOT NULL, session TEXT NOT NULL, at REAL NOT NULL, platform_id TEXT);
CREATE TABLE trouble (number INTEGER PRIMARY KEY, at REAL NOT NULL, trouble BLOB NOT NULL);
CREATE TABLE mark (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_WORKING = """
CREATE TABLE IF NOT EXISTS working (  -- messages whose turns are at work; at a start, those that were at a death
    key BLOB PRIMARY KEY) WITHOUT ROWID;
"""
NAMES = ("known", "inbound", "outbound", "part", "preview", "trouble", "mark")
CONTENT: dict[str, type[InboundMessage] | type[OutboundMessage] | type[Alert]] = {
    "inbound": InboundMessage,
    "outbound": OutboundMessage,
    "trouble": Alert,
}
"""What the last column of these tables holds."""


def make_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Make those of a new file. Raises StoreError if a newer version made them."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer nanobot (version {version} of the file, this one knows {VERSION}). "
            "Install that one again; nothing was changed."
        )
    if version == 0:
        connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
    connection.execute(_WORKING)


# Damaged files.


_log = logging.getLogger(__name__)

SUFFIXES = ("", "-wal", "-shm")
"""Of the files that are one database."""

_DAMAGED = ".damaged-"


def set_aside(path: Path, now: datetime) -> Path:
    """Give it another name next to its own; that name. Raises OSError."""
    aside = _free(path.with_name(f"{path.name}{_DAMAGED}{now:%Y%m%dT%H%M%S}"))
    for suffix in reversed(SUFFIXES):  # without its file a log is deleted when a new file is made
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.replace(aside.with_name(aside.name + suffix))
    return aside


def _free(path: Path) -> Path:
    """This path, or with a number behind it the first that does not exist."""
    names = (path.name if number == 1 else f"{path.name}+{number}" for number in count(1))
    return next(file for name in names if not (file := path.with_name(name)).exists())


def remove_damaged(path: Path) -> None:
    """Delete the damaged files that were set aside: what is to be forgotten cannot be looked for in them."""
    for aside in path.parent.glob(f"{path.name}{_DAMAGED}*"):
        aside.unlink(missing_ok=True)
        _log.warning("%s was deleted, so that nothing that is to be forgotten stays in it", aside)


def salvage(aside: Path, connection: sqlite3.Connection) -> int:
    """Take over into a new spool each row that can be read; how many."""
    connection.execute("BEGIN")
    with closing(sqlite3.connect(f"{aside.absolute().as_uri()}?mode=ro", uri=True)) as old:
        count = sum(_salvage_table(old, connection, table) for table in NAMES)
    connection.execute("COMMIT")
    return count


def _salvage_table(old: sqlite3.Connection, connection: sqlite3.Connection, table: str) -> int:
    count = 0
    try:
        for row in old.execute(f"SELECT * FROM {table}"):  # noqa: S608 - our own names
            if _is_sound(row, table):
                places = ",".join("?" * len(row))
                connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", row)  # noqa: S608
                count += 1
    except sqlite3.Error as error:
        _log.warning("not every row of the damaged table %s could be read: %s", table, error)
    return count


def _is_sound(row: tuple[Any, ...], table: str) -> bool:
    if table in CONTENT:
        try:
            decode(row[-1], CONTENT[table])
        except UnreadableError:
            return False
    return True


# Opening.


_BUSY_SECONDS = 5
_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def open_file(path: Path, now: datetime) -> sqlite3.Connection:
    """A connection to a spool in order, in autocommit mode; it is for the thread that calls this.

    A damaged file is set aside next to it, and what can be read of it is taken over.
    Raises StoreError, also if a newer version wrote the file.
    """
    try:
        return _open(path)
    except (sqlite3.Error, UnreadableError) as error:
        if isinstance(error, sqlite3.Error) and not _is_broken(error):
            raise StoreError(f"{path} could not be opened: {error}") from error
        return _begin_anew(path, now, str(error))
    except OSError as error:
        raise StoreError(f"{path} could not be opened: {error.strerror or error}") from error


def _open(path: Path) -> sqlite3.Connection:
    _make_private(path)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        _set_up(connection)
        make_tables(connection, path)
        _check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """The files that SQLite puts beside it get the mode of this one."""
    for folder in (*reversed(path.parent.parents), path.parent):
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with suppress(FileExistsError):  # one that is there is not opened: closing it would drop the locks that SQLite has
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))
    for suffix in SUFFIXES:
        file = path.with_name(path.name + suffix)
        if file.exists():
            set_mode(file, PRIVATE_FILE)
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _set_up(connection: sqlite3.Connection) -> None:
    for setting in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "fullfsync = ON",  # on macOS fsync stops at the drive's cache
        "checkpoint_fullfsync = ON",
        "secure_delete = ON",
        "temp_store = MEMORY",  # VACUUM copies everything to a temporary file
    ):
        connection.execute(f"PRAGMA {setting}").fetchall()


def _check(connection: sqlite3.Connection) -> None:
    """Raises UnreadableError or a sqlite3.Error for a damaged file. The remembered ids are most of it, and small."""
    problems = [problem for (problem,) in connection.execute("PRAGMA quick_check(3)")]
    if problems != ["ok"]:
        raise UnreadableError("; ".join(problems))
    for table, kind in CONTENT.items():
        for row in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - our own names
            decode(row[-1], kind)


def _begin_anew(path: Path, now: datetime, problem: str) -> sqlite3.Connection:
    try:
        aside = set_aside(path, now)
        connection = _open(path)
        saved = salvage(aside, connection)
        rows.add_alert(connection, Alert(kind="damaged", id=aside.name, at=now, reason=problem))
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path} is damaged ({problem}), and no new one could be made: {error}") from error
    _log.error("%s is damaged (%s); it was set aside as %s, and %s rows were taken over", path, problem, aside, saved)
    return connection


def _is_broken(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)  # sqlite3 itself sets none on errors of its own
    return code is not None and code & 0xFF in _BROKEN


# Worker thread.


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


class SpoolDatabase:
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
        """Run work on the database and return its result once it is durable.

        Raises StoreError; then nothing was written.
        """
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
        """True if the disk is read-only, or so full that it may not take a message."""
        space = os.statvfs(self._path.parent)
        return bool(space.f_flag & os.ST_RDONLY) or space.f_bavail * space.f_frsize < _TIGHT

    def _kind(self, error: sqlite3.Error) -> DiskObstacle:
        """Return the reason that SQLite gives; if that is only a failed write, the one of the file system."""
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
