"""The spool's file: its tables, and how it is opened, whatever state it is in."""

import logging
import os
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from nanobot.bus import troubles
from nanobot.bus.rows import UnreadableError, decode
from nanobot.errors import StoreError
from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.ports import Trouble
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER

_log = logging.getLogger(__name__)

VERSION = 1
_BUSY_SECONDS = 5
_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_SUFFIXES = ("", "-wal", "-shm")
_DAMAGED = ".damaged-"

# Messages are JSON. Keys are hashes of ids (see rows.py). Times are seconds since 1970, by the clock on the wall.
_TABLES = """
CREATE TABLE known (  -- ids that came in or went out, for recognising repetitions
    number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, at REAL NOT NULL);
CREATE INDEX known_at ON known (at);
CREATE TABLE inbound (  -- what is not answered yet
    number INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, at REAL NOT NULL,
    begun INTEGER NOT NULL DEFAULT 0,     -- processes in which its turn began
    deaths INTEGER NOT NULL DEFAULT 0,    -- those of them that did not end in order
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
_NAMES = ("known", "inbound", "outbound", "part", "preview", "trouble", "mark")
_CONTENT: dict[str, type[InboundMessage] | type[OutboundMessage] | type[Trouble]] = {
    "inbound": InboundMessage,
    "outbound": OutboundMessage,
    "trouble": Trouble,
}
"""What the last column of these tables holds."""


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


def remove_damaged(path: Path) -> None:
    """Delete the damaged files that were set aside: what is to be forgotten cannot be looked for in them."""
    for aside in path.parent.glob(f"{path.name}{_DAMAGED}*"):
        aside.unlink(missing_ok=True)
        _log.warning("%s was deleted, so that nothing that is to be forgotten stays in it", aside)


def _open(path: Path) -> sqlite3.Connection:
    _make_private(path)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        _set_up(connection)
        _make_tables(connection, path)
        _check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """The files that SQLite puts beside it get the mode of this one."""
    for folder in (*reversed(path.parent.parents), path.parent):
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE))
    for suffix in _SUFFIXES:
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.chmod(PRIVATE_FILE)
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


def _make_tables(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer nanobot (version {version} of the file, this one knows {VERSION}). "
            "Install that one again; nothing was changed."
        )
    if version == 0:
        connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")


def _check(connection: sqlite3.Connection) -> None:
    """Raises UnreadableError or a sqlite3.Error for a damaged file. The remembered ids are most of it, and small."""
    problems = [problem for (problem,) in connection.execute("PRAGMA quick_check(3)")]
    if problems != ["ok"]:
        raise UnreadableError("; ".join(problems))
    for table, kind in _CONTENT.items():
        for row in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - our own names
            decode(row[-1], kind)


def _begin_anew(path: Path, now: datetime, problem: str) -> sqlite3.Connection:
    aside = path.with_name(f"{path.name}{_DAMAGED}{now:%Y%m%dT%H%M%S}")
    try:
        for suffix in _SUFFIXES:
            file = path.with_name(path.name + suffix)
            if file.exists():
                file.replace(aside.with_name(aside.name + suffix))
        connection = _open(path)
        saved = _salvage(aside, connection)
        troubles.add(connection, Trouble(kind="damaged", id=aside.name, at=now, reason=problem))
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path} is damaged ({problem}) and could not be set aside: {error}") from error
    _log.error("%s is damaged (%s); it was set aside as %s, and %s rows were taken over", path, problem, aside, saved)
    return connection


def _salvage(aside: Path, connection: sqlite3.Connection) -> int:
    """Take over each row that can be read; how many."""
    connection.execute("BEGIN")
    with closing(sqlite3.connect(f"{aside.absolute().as_uri()}?mode=ro", uri=True)) as old:
        count = sum(_salvage_table(old, connection, table) for table in _NAMES)
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
    if table in _CONTENT:
        try:
            decode(row[-1], _CONTENT[table])
        except UnreadableError:
            return False
    return True


def _is_broken(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)  # sqlite3 itself sets none on errors of its own
    return code is not None and code & 0xFF in _BROKEN
