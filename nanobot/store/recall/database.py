"""The SQLite file of the search index: one connection that writes, one that reads."""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from nanobot.errors import StoreError
from nanobot.store.private import private_folder
from nanobot.workspace import PRIVATE_FILE

# Of the tables, and of the words in them: a change of either needs a new number, and builds the index anew.
_VERSION = 3
_BUSY_SECONDS = 10
_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_TABLES = """
CREATE TABLE scope (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE file (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE, folded TEXT NOT NULL, session TEXT NOT NULL,
    inode INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0, mtime INTEGER NOT NULL DEFAULT 0,
    read INTEGER NOT NULL DEFAULT 0, checksum INTEGER NOT NULL DEFAULT 0, position INTEGER NOT NULL DEFAULT 0,
    turn TEXT NOT NULL DEFAULT '', begun INTEGER NOT NULL DEFAULT 0, scope TEXT NOT NULL DEFAULT '');
CREATE INDEX file_folded ON file (folded);
CREATE TABLE said (
    key INTEGER PRIMARY KEY,  -- the number of the scope in its upper bits
    file INTEGER NOT NULL, position INTEGER NOT NULL, scope INTEGER NOT NULL, day INTEGER NOT NULL,
    seconds REAL NOT NULL, speaker INTEGER NOT NULL, source TEXT NOT NULL, role TEXT NOT NULL, origin TEXT NOT NULL,
    session TEXT NOT NULL, message TEXT NOT NULL, inbound TEXT NOT NULL, at TEXT NOT NULL, text TEXT NOT NULL,
    words TEXT NOT NULL);  -- as the table of words has them: only they can take them out again
CREATE UNIQUE INDEX said_place ON said (file, position);
CREATE INDEX said_day ON said (scope, day);
CREATE INDEX said_inbound ON said (inbound) WHERE inbound <> '';
CREATE TABLE speaker (id INTEGER PRIMARY KEY, scope INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE (scope, name));
CREATE TABLE link (file INTEGER NOT NULL, kind TEXT NOT NULL, folded TEXT NOT NULL);
CREATE INDEX link_file ON link (file);
CREATE TABLE total (texts INTEGER NOT NULL, words INTEGER NOT NULL);
INSERT INTO total VALUES (0, 0);
CREATE TABLE model (name TEXT NOT NULL, gone INTEGER NOT NULL);  -- that made the vectors; how many are gone again
INSERT INTO model VALUES ('', 0);
CREATE TABLE vector (key INTEGER PRIMARY KEY, vector BLOB NOT NULL);  -- of all texts of a scope up to some key
CREATE VIRTUAL TABLE word USING fts5(words, content='', tokenize="unicode61 remove_diacritics 0");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(word, row);
"""

_T = TypeVar("_T")


class Database:
    """Opens the index, and throws it away when it cannot be read: everything in it can be read again elsewhere.

    Reading and writing do not wait for each other (WAL); two threads that read do.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writing, self._reading = threading.RLock(), threading.RLock()
        self._writer = self._reader = self._open()
        self._reader = self._connect()

    def read(self, query: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run a query. A broken file gives the answer of an empty index."""
        with self._reading:
            try:
                return query(self._reader)
            except sqlite3.DatabaseError as error:
                if not _is_broken(error):
                    raise StoreError(f"{self.path}: {error}") from error
            self.begin_anew()
            return query(self._reader)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows that a query gives."""
        return self.read(lambda connection: connection.execute(sql, values).fetchall())

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction, all or nothing. A broken file is replaced by an empty index before StoreError is raised."""
        with self._writing:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.execute("COMMIT")
            except sqlite3.DatabaseError as error:
                if _is_broken(error):
                    self.begin_anew()
                elif self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise StoreError(f"{self.path}: {error}") from error
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def begin_anew(self) -> None:
        """Throw everything away."""
        with self._writing, self._reading:
            self.close()
            self._remove()
            self._writer = self._open()
            self._reader = self._connect()

    def replace_with(self, other: Path) -> None:
        """Put another index, which is closed, in the place of this one, and leave nothing of this one behind."""
        with self._writing, self._reading:
            self.close()
            self._remove()
            other.replace(self.path)
            self._writer = self._open()
            self._reader = self._connect()

    def close(self) -> None:
        self._reader.close()
        self._writer.close()

    def _open(self) -> sqlite3.Connection:
        """A connection to an index of this version, an empty one if need be."""
        private_folder(self.path.parent)
        with suppress(FileExistsError):
            self._make()
        connection = self._connect()
        try:
            if _is_ours(connection):
                return connection
        except sqlite3.DatabaseError as error:
            if not _is_broken(error):
                raise
        connection.close()
        self._remove()
        self._make()
        connection = self._connect()
        connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {_VERSION}; COMMIT;")
        return connection

    def _make(self) -> None:
        """Put an empty file there. One that is there is not opened: closing it would drop the locks that SQLite has."""
        self.path.touch(mode=PRIVATE_FILE, exist_ok=False)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.DatabaseError as error:
            if not _is_broken(error):
                raise
        return connection

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)


def _is_ours(connection: sqlite3.Connection) -> bool:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return bool(version == _VERSION and connection.execute("SELECT count(*) FROM total").fetchone())


def _is_broken(error: sqlite3.DatabaseError) -> bool:
    code = getattr(error, "sqlite_errorcode", None)  # sqlite3 itself sets none on errors of its own
    return code is not None and code & 0xFF in _BROKEN
