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


def record(connection: sqlite3.Connection, path: str) -> File:
    """What the index knows of a file."""
    row = connection.execute(f"SELECT {FILE_FIELDS} FROM file WHERE path = ?", (path,)).fetchone()  # noqa: S608 - no value is in it
    return File(*row) if row else File()


def begin(connection: sqlite3.Connection, path: str, session: str) -> File:
    """A new record."""
    cursor = connection.execute(
        "INSERT INTO file (path, folded, session) VALUES (?, ?, ?)", (path, path.casefold(), session)
    )
    return File(id=cursor.lastrowid or 0, path=path, session=session)


def save(connection: sqlite3.Connection, file: File) -> None:
    connection.execute(
        "UPDATE file SET inode = ?, size = ?, mtime = ?, read = ?, checksum = ?, position = ?, turn = ?,"
        " begun = ?, scope = ?"
        " WHERE id = ?",
        (
            *(file.inode, file.size, file.mtime, file.read, file.checksum, file.position),
            *(file.turn, file.begun, file.scope, file.id),
        ),
    )


def drop(connection: sqlite3.Connection, file: File) -> None:
    """Take a file's texts out, and its record."""
    _take_out(connection, "file = ?", (file.id,))
    connection.execute("DELETE FROM link WHERE file = ?", (file.id,))
    connection.execute("DELETE FROM file WHERE id = ?", (file.id,))


def add(connection: sqlite3.Connection, file: File, entry: Entry, words: Words) -> None:
    """Take a text in, behind those of its file; a new wording stands where the old one stood."""
    position = _replaced(connection, file, entry) if entry.corrects else None
    if position is None:
        file.position += _APART if entry.apart else 0
        position = file.position
        file.position += 1
    scope = _scope(connection, entry.scope)
    split = words(entry.text)
    joined = " ".join(split)
    seconds, day = _moment(entry.at)
    key = _next_key(connection, scope)
    connection.execute(
        "INSERT INTO said VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(key, file.id, position, scope, day, seconds, _speaker(connection, scope, entry.speaker)),
            *(entry.source, entry.role, entry.origin.value, entry.session, entry.message, entry.inbound, entry.at),
            *(entry.text, joined),
        ),
    )
    connection.execute("INSERT INTO word (rowid, words) VALUES (?, ?)", (key, joined))
    connection.execute("UPDATE total SET texts = texts + 1, words = words + ?", (len(split),))


def _replaced(connection: sqlite3.Connection, file: File, entry: Entry) -> int | None:
    """Take out what this is the new wording of; returns where it stood."""
    where, values = "file = ? AND source = 'session' AND inbound = ?", (file.id, entry.inbound)
    row = connection.execute(f"SELECT min(position) FROM said WHERE {where}", values).fetchone()  # noqa: S608 - no value is in it
    _take_out(connection, where, values)
    return None if row[0] is None else int(row[0])


def _take_out(connection: sqlite3.Connection, where: str, values: Sequence[object]) -> None:
    """A contentless table must be told the words that leave."""
    rows = connection.execute(f"SELECT key, words, speaker FROM said WHERE {where}", values).fetchall()  # noqa: S608 - no value is in it
    connection.executemany(
        "INSERT INTO word (word, rowid, words) VALUES ('delete', ?, ?)", ((key, words) for key, words, _ in rows)
    )
    connection.execute(f"DELETE FROM said WHERE {where}", values)  # noqa: S608 - no value is in it
    gone = sum(len(words.split()) for _, words, _ in rows)
    connection.execute("UPDATE total SET texts = texts - ?, words = words - ?", (len(rows), gone))
    if any(speaker for *_, speaker in rows):
        connection.execute("DELETE FROM speaker WHERE id NOT IN (SELECT speaker FROM said)")


def _scope(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute("SELECT id FROM scope WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else connection.execute("INSERT INTO scope (name) VALUES (?)", (name,)).lastrowid or 0


def _next_key(connection: sqlite3.Connection, scope: int) -> int:
    first, end = scope << SCOPE_BITS, (scope + 1) << SCOPE_BITS
    (last,) = connection.execute("SELECT max(key) FROM said WHERE key >= ? AND key < ?", (first, end)).fetchone()
    return first if last is None else int(last) + 1


def _speaker(connection: sqlite3.Connection, scope: int, name: str) -> int:
    """The number of who said it; 0 for someone without a name."""
    if not name:
        return 0
    row = connection.execute("SELECT id FROM speaker WHERE scope = ? AND name = ?", (scope, name)).fetchone()
    if row:
        return int(row[0])
    return connection.execute("INSERT INTO speaker (scope, name) VALUES (?, ?)", (scope, name)).lastrowid or 0


def _moment(at: str) -> tuple[float, int]:
    """Seconds since the epoch, and the local day there and then; zeros for what is not a time."""
    try:
        moment = datetime.fromisoformat(at)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.timestamp(), moment.toordinal()
    except (ValueError, OverflowError):
        return 0.0, 0
