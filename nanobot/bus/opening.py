"""Opening the file of the spool, whatever state it is in."""

import errno
import logging
import os
import sqlite3
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from nanobot.bus import troubles
from nanobot.bus.damage import SUFFIXES, salvage, set_aside
from nanobot.bus.rows import UnreadableError, decode
from nanobot.bus.schema import CONTENT, make_tables
from nanobot.errors import StoreError
from nanobot.ports import Trouble
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, set_mode

_log = logging.getLogger(__name__)

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
        troubles.add(connection, Trouble(kind="damaged", id=aside.name, at=now, reason=problem))
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path} is damaged ({problem}), and no new one could be made: {error}") from error
    _log.error("%s is damaged (%s); it was set aside as %s, and %s rows were taken over", path, problem, aside, saved)
    return connection


def _is_broken(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)  # sqlite3 itself sets none on errors of its own
    return code is not None and code & 0xFF in _BROKEN
