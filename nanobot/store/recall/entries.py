"""Texts on their way into the search index, and how they get in and out."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from nanobot.authority import Origin
from nanobot.ports.recall import Source

SCOPE_BITS = 40
"""A key is the number of its scope, then so many bits: a scope's texts lie side by side, and FTS5 reads no others."""

NOBODY = ""
"""The scope of what was said before anybody wrote down whose it is: only the shell finds it."""

Words = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A text to be found.

    `session` is left empty where it is that of the file. `inbound` is the id on the bus of what a person said;
    with `corrects`, of what they said first. `apart`: it has nothing to do with the one before it.
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
    """The index's own record of a file, `id` 0 while it has none.

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
        """What the index knows of a file."""
        row = self._connection.execute(f"SELECT {FILE_FIELDS} FROM file WHERE path = ?", (path,)).fetchone()  # noqa: S608 - no value is in it
        return File(*row) if row else File()

    def begin(self, path: str, session: str) -> File:
        """A new record."""
        cursor = self._connection.execute(
            "INSERT INTO file (path, folded, session) VALUES (?, ?, ?)", (path, path.casefold(), session)
        )
        return File(id=cursor.lastrowid or 0, path=path, session=session)

    def save(self, file: File) -> None:
        """Keep what is known of a file, and how much the index holds."""
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
        """Take a file's texts out, and its record."""
        self._take_out("file = ?", (file.id,))
        self._connection.execute("DELETE FROM link WHERE file = ?", (file.id,))
        self._connection.execute("DELETE FROM file WHERE id = ?", (file.id,))
        self._count()

    def add(self, file: File, entry: Entry) -> None:
        """Take a text in, behind those of its file; a new wording stands where the old one stood. `save` ends it."""
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
        """A note leads to another one beside it."""
        folder = file.path.rpartition("/")[0]
        other = f"{folder}/{name.strip().removesuffix('.md')}.md"
        self._connection.execute("INSERT INTO link VALUES (?, ?, ?)", (file.id, kind, other.casefold()))

    def _replaced(self, file: File, entry: Entry) -> int | None:
        """Take out what this is the new wording of; returns where it stood."""
        where, values = "file = ? AND source = 'session' AND inbound = ?", (file.id, entry.inbound)
        row = self._connection.execute(f"SELECT min(position) FROM said WHERE {where}", values).fetchone()  # noqa: S608 - no value is in it
        self._take_out(where, values)
        return None if row[0] is None else int(row[0])

    def _take_out(self, where: str, values: Sequence[object]) -> None:
        """A contentless table must be told the words that leave."""
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
        """The number of who said it; 0 for someone without a name."""
        if not name:
            return 0
        if (scope, name) not in self._speakers:
            self._speakers[scope, name] = self._number("speaker", scope=scope, name=name)
        return self._speakers[scope, name]

    def _number(self, table: str, **values: object) -> int:
        """The id of a row with these values, a new one if need be."""
        where = " AND ".join(f"{column} = ?" for column in values)
        row = self._connection.execute(f"SELECT id FROM {table} WHERE {where}", tuple(values.values())).fetchone()  # noqa: S608 - names of ours
        if row:
            return int(row[0])
        marks = ", ".join("?" * len(values))
        added = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"  # noqa: S608 - names of ours
        return self._connection.execute(added, tuple(values.values())).lastrowid or 0


def _moment(at: str) -> tuple[float, int]:
    """Seconds since the epoch, and the local day there and then; zeros for what is not a time."""
    try:
        moment = datetime.fromisoformat(at)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.timestamp(), moment.toordinal()
    except (ValueError, OverflowError):
        return 0.0, 0
