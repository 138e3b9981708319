"""The search index on disk: its SQLite file and tables, and how texts get in and out."""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from nanobot.authority import Origin
from nanobot.errors import StoreError
from nanobot.memory.recall.ports import Source
from nanobot.store.private import private_folder
from nanobot.workspace import PRIVATE_FILE

# The SQLite file.


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


class IndexDatabase:
    """SQLite file of the index; an unreadable one is replaced by an empty one, to be filled again.

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
        """Return all rows of a query."""
        return self.read(lambda connection: connection.execute(sql, values).fetchall())

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction, all or nothing. A broken file is replaced by an empty index before StoreError."""
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
        """Return a connection to an index of this version, an empty one if need be."""
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


# Texts, in and out.


SCOPE_BITS = 40
"""Bits of a key below the number of its scope: the texts of a scope lie side by side, and FTS5 reads no others."""

NOBODY = ""
"""Scope of messages from before scopes were recorded: only the shell finds them."""

Words = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """Text on its way into the index.

    `session` is left empty where it is that of the file. `inbound` is the id on the bus of what a person said;
    with `corrects`, of what they said first. `apart`: it is no neighbour of the one before it.
    """

    source: Source
    scope: str
    text: str
    at: str
    role: str
    origin: Origin
    session: str = ""
    message: str = ""
    speaker: str = ""
    inbound: str = ""
    corrects: bool = False
    apart: bool = False


@dataclass(slots=True)
class File:
    """Record of a file in the index; `id` is 0 while it has none.

    `read` is how many bytes were taken in, with their CRC-32. `turn` and `scope` are of the last line that says
    whose its turn is, which begins at the position `begun`.
    """

    id: int = 0
    path: str = ""
    session: str = ""
    inode: int = 0
    size: int = 0
    mtime: int = 0
    read: int = 0
    checksum: int = 0
    position: int = 0
    turn: str = ""
    begun: int = 0
    scope: str = ""


FILE_FIELDS = "id, path, session, inode, size, mtime, read, checksum, position, turn, begun, scope"

_APART = 8  # further than neighbours reach


class Texts:
    """Puts texts into the index and takes them out, within one transaction."""

    def __init__(self, connection: sqlite3.Connection, words: Words) -> None:
        self._connection, self._words = connection, words
        self._scopes: dict[str, int] = {}
        self._next_keys: dict[int, int] = {}
        self._speakers: dict[tuple[int, str], int] = {}
        self._more_texts = self._more_words = 0

    def file(self, path: str) -> File:
        """Return the record of a file."""
        row = self._connection.execute(f"SELECT {FILE_FIELDS} FROM file WHERE path = ?", (path,)).fetchone()  # noqa: S608 - no value is in it
        return File(*row) if row else File()

    def begin(self, path: str, session: str) -> File:
        """Insert a new record of a file."""
        cursor = self._connection.execute(
            "INSERT INTO file (path, folded, session) VALUES (?, ?, ?)", (path, path.casefold(), session)
        )
        return File(id=cursor.lastrowid or 0, path=path, session=session)

    def save(self, file: File) -> None:
        """Write the record of a file, and the totals of the index."""
        self._connection.execute(
            "UPDATE file SET inode = ?, size = ?, mtime = ?, read = ?, checksum = ?, position = ?, turn = ?,"
            " begun = ?, scope = ? WHERE id = ?",
            (
                *(file.inode, file.size, file.mtime, file.read, file.checksum, file.position),
                *(file.turn, file.begun, file.scope, file.id),
            ),
        )
        self._count()

    def drop(self, file: File) -> None:
        """Remove the texts of a file, its links and its record."""
        self._take_out("file = ?", (file.id,))
        self._connection.execute("DELETE FROM link WHERE file = ?", (file.id,))
        self._connection.execute("DELETE FROM file WHERE id = ?", (file.id,))
        self._count()

    def add(self, file: File, entry: IndexEntry) -> None:
        """Add a text behind those of its file; a new wording takes the place of the old one. `save` ends it."""
        position = self._replaced(file, entry) if entry.corrects else None
        if position is None:
            file.position += _APART if entry.apart else 0
            position = file.position
            file.position += 1
        scope = self._scope(entry.scope)
        words = self._words(entry.text)
        joined = " ".join(words)
        seconds, day = _moment(entry.at)
        key = self._next_key(scope)
        self._connection.execute(
            "INSERT INTO said VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(key, file.id, position, scope, day, seconds, self._speaker(scope, entry.speaker)),
                *(entry.source, entry.role, entry.origin.value, entry.session, entry.message, entry.inbound, entry.at),
                *(entry.text, joined),
            ),
        )
        self._connection.execute("INSERT INTO word (rowid, words) VALUES (?, ?)", (key, joined))
        self._more_texts += 1
        self._more_words += len(words)

    def link(self, file: File, kind: str, name: str) -> None:
        """Add a link from a note to another one beside it."""
        folder = file.path.rpartition("/")[0]
        other = f"{folder}/{name.strip().removesuffix('.md')}.md"
        self._connection.execute("INSERT INTO link VALUES (?, ?, ?)", (file.id, kind, other.casefold()))

    def _replaced(self, file: File, entry: IndexEntry) -> int | None:
        """Remove the text that this is the new wording of; returns its position."""
        where, values = "file = ? AND source = 'session' AND inbound = ?", (file.id, entry.inbound)
        row = self._connection.execute(f"SELECT min(position) FROM said WHERE {where}", values).fetchone()  # noqa: S608 - no value is in it
        self._take_out(where, values)
        return None if row[0] is None else int(row[0])

    def _take_out(self, where: str, values: Sequence[object]) -> None:
        """Remove texts; the words of each are named to FTS5, whose contentless table does not keep them."""
        rows = self._connection.execute(f"SELECT key, words, speaker FROM said WHERE {where}", values).fetchall()  # noqa: S608 - no value is in it
        self._connection.executemany(
            "INSERT INTO word (word, rowid, words) VALUES ('delete', ?, ?)", ((key, words) for key, words, _ in rows)
        )
        self._connection.execute(f"DELETE FROM said WHERE {where}", values)  # noqa: S608 - no value is in it
        self._connection.executemany("DELETE FROM vector WHERE key = ?", ((key,) for key, *_ in rows))
        self._connection.execute("UPDATE model SET gone = gone + ?", (len(rows),))
        self._more_texts -= len(rows)
        self._more_words -= sum(len(words.split()) for _, words, _ in rows)
        if any(speaker for *_, speaker in rows):
            self._connection.execute("DELETE FROM speaker WHERE id NOT IN (SELECT speaker FROM said)")
            self._speakers.clear()

    def _count(self) -> None:
        self._connection.execute(
            "UPDATE total SET texts = texts + ?, words = words + ?", (self._more_texts, self._more_words)
        )
        self._more_texts = self._more_words = 0

    def _scope(self, name: str) -> int:
        if name not in self._scopes:
            self._scopes[name] = self._number("scope", name=name)
        return self._scopes[name]

    def _next_key(self, scope: int) -> int:
        key = self._next_keys.get(scope)
        if key is None:
            first, end = scope << SCOPE_BITS, (scope + 1) << SCOPE_BITS
            where = "SELECT max(key) FROM said WHERE key >= ? AND key < ?"
            (last,) = self._connection.execute(where, (first, end)).fetchone()
            key = first if last is None else int(last) + 1
        self._next_keys[scope] = key + 1
        return key

    def _speaker(self, scope: int, name: str) -> int:
        """Return the number of a speaker; 0 for one without a name."""
        if not name:
            return 0
        if (scope, name) not in self._speakers:
            self._speakers[scope, name] = self._number("speaker", scope=scope, name=name)
        return self._speakers[scope, name]

    def _number(self, table: str, **values: object) -> int:
        """Return the id of a row with these values, a new one if need be."""
        where = " AND ".join(f"{column} = ?" for column in values)
        row = self._connection.execute(f"SELECT id FROM {table} WHERE {where}", tuple(values.values())).fetchone()  # noqa: S608 - names of ours
        if row:
            return int(row[0])
        marks = ", ".join("?" * len(values))
        added = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"  # noqa: S608 - names of ours
        return self._connection.execute(added, tuple(values.values())).lastrowid or 0


def _moment(at: str) -> tuple[float, int]:
    """Return seconds since the epoch, and the local day then and there; zeros for what is not a time."""
    try:
        moment = datetime.fromisoformat(at)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.timestamp(), moment.toordinal()
    except (ValueError, OverflowError):
        return 0.0, 0
