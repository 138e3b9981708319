"""Taking session files into the search index: what is new, what changed, what is gone."""

import contextlib
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

import msgspec

from nanobot.authority import Scope
from nanobot.store.recall.database import Database

Progress = Callable[[int, int], None]
"""Told now and then how many bytes of how many are done."""

_SOURCE = "session"
_PIECE = 4 << 20  # bytes that one transaction takes in; others may write between two
_SPOKEN = frozenset({"user", "assistant"})


class _Sender(msgspec.Struct):
    name: str = ""


class _Line(msgspec.Struct):
    """What of a session's line matters here."""

    type: str
    at: str = ""
    key: str = ""
    id: str = ""
    role: str = ""
    content: str | None = None
    sender: _Sender | None = None


_decode = msgspec.json.Decoder(_Line).decode


@dataclass(slots=True)
class _File:
    """The index's own record of a file, `id` 0 while it has none."""

    id: int = 0
    inode: int = 0
    size: int = 0
    mtime: int = 0
    read: int = 0
    checksum: int = 0
    texts: int = 0
    words: int = 0

    def is_as(self, stat: os.stat_result) -> bool:
        return (self.inode, self.size, self.mtime) == (stat.st_ino, stat.st_size, stat.st_mtime_ns)


def scope_by_key(key: str) -> str:
    """Whose memory a session belongs to as far as its key tells: the terminal is the owner's."""
    return Scope.owner().name if key.startswith("cli:") else f"session:{key}"


class SessionIndexer:
    """Keeps the index in step with the session files. Safe from any thread, and from a second process."""

    def __init__(
        self,
        database: Database,
        sessions: Path,
        words: Callable[[str], Sequence[str]],
        scope_of: Callable[[str], str] = scope_by_key,
    ) -> None:
        """Say where the sessions are.

        Args:
            database: the index to write.
            sessions: the folder with a folder for each channel.
            words: the words by which a text is found.
            scope_of: the scope of a session, from its key.
        """
        self._database, self._sessions, self._words, self._scope_of = database, sessions, words, scope_of

    def sync(self, progress: Progress | None = None) -> int:
        """Take in whatever appeared, grew, changed or vanished; returns how many files that were.

        A file that only grew is read from where it was left. Safe to interrupt: the next one goes on.
        """
        known = self._known()
        present = {self._name(path): path for path in sorted(self._sessions.glob("*/*.jsonl"))}
        changed = [path for name, path in present.items() if not known.get(name, _File()).is_as(path.stat())]
        gone = [record for name, record in known.items() if name not in present]
        for record in gone:
            with self._database.write() as connection:
                self._drop(connection, record)
        total, done = sum(path.stat().st_size for path in changed), 0
        for path in changed:
            for read in self._take_in(path, verify=True):
                if progress:
                    progress(done + read, total)
            done += path.stat().st_size
        return len(changed) + len(gone)

    def appended(self, path: Path) -> None:
        """Take in what was just appended to a session file by this program. Costs a fraction of a millisecond."""
        for _ in self._take_in(path, verify=False):
            pass

    def _name(self, path: Path) -> str:
        return path.relative_to(self._sessions).as_posix()

    def _known(self) -> dict[str, _File]:
        rows = self._database.rows(f"SELECT path, {_FIELDS} FROM file WHERE source = ?", (_SOURCE,))  # noqa: S608 - no value is in it
        return {path: _File(*rest) for path, *rest in rows}

    def _take_in(self, path: Path, *, verify: bool) -> Iterator[int]:
        """Read a file piece by piece, a transaction each; yields how many bytes are in the index after each."""
        finished = False
        while not finished:
            with self._database.write() as connection, path.open("rb") as file:
                stat = os.fstat(file.fileno())
                record = self._record(connection, path)
                if not _continues(record, stat, file, verify=verify):
                    self._drop(connection, record)
                    record = _File()
                file.seek(record.read)
                piece = _whole_lines(file)
                finished = record.read + len(piece) >= stat.st_size or not piece
                self._store(connection, path, record, piece, stat if finished else None)
            verify = False
            yield record.read

    def _record(self, connection: sqlite3.Connection, path: Path) -> _File:
        row = connection.execute(f"SELECT {_FIELDS} FROM file WHERE path = ?", (self._name(path),)).fetchone()  # noqa: S608 - no value is in it
        return _File(*row) if row else _File()

    def _drop(self, connection: sqlite3.Connection, record: _File) -> None:
        """Take a file's texts out of the index; a contentless table must be told the words that leave."""
        rows = connection.execute("SELECT key, text FROM said WHERE file = ?", (record.id,)).fetchall()
        connection.executemany(
            "INSERT INTO word (word, rowid, words) VALUES ('delete', ?, ?)",
            ((key, " ".join(self._words(text))) for key, text in rows),
        )
        connection.execute("DELETE FROM said WHERE file = ?", (record.id,))
        connection.execute("DELETE FROM file WHERE id = ?", (record.id,))
        connection.execute("DELETE FROM speaker WHERE id NOT IN (SELECT speaker FROM said)")

    def _store(
        self, connection: sqlite3.Connection, path: Path, record: _File, piece: bytes, stat: os.stat_result | None
    ) -> None:
        """Add a piece of a file, and note how far it has been read; `stat` when that is all of it."""
        lines = _lines(piece)
        if not record.id:
            key = next((line.key for line in lines if line.type == "session" and line.key), "") or key_of(path)
            record.id = (
                connection.execute(
                    "INSERT INTO file VALUES (NULL, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0)",
                    (self._name(path), _SOURCE, key, self._scope_of(key)),
                ).lastrowid
                or 0
            )
        for line in lines:
            if line.type == "message" and line.role in _SPOKEN and line.content:
                self._add(connection, record, line, line.content)
        record.read += len(piece)
        record.checksum = zlib.crc32(piece, record.checksum)
        seen = (stat.st_ino, stat.st_size, stat.st_mtime_ns) if stat else (0, 0, 0)
        connection.execute(
            "UPDATE file SET inode = ?, size = ?, mtime = ?, read = ?, checksum = ?, texts = ?, words = ? WHERE id = ?",
            (*seen, record.read, record.checksum, record.texts, record.words, record.id),
        )

    def _add(self, connection: sqlite3.Connection, record: _File, line: _Line, text: str) -> None:
        words = self._words(text)
        seconds, day = _moment(line.at)
        key = connection.execute(
            "INSERT INTO said VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (record.id, record.texts, line.id, line.at, seconds, day, line.role, _speaker(connection, line), text),
        ).lastrowid
        connection.execute("INSERT INTO word (rowid, words) VALUES (?, ?)", (key, " ".join(words)))
        record.texts += 1
        record.words += len(words)


_FIELDS = "id, inode, size, mtime, read, checksum, texts, words"


def key_of(path: Path) -> str:
    """A session's key as its file name has it: `channel/chat.topic.jsonl`, percent-encoded."""
    chat, *topic = path.name.removesuffix(".jsonl").split(".", 1)
    return ":".join(unquote(part) for part in (path.parent.name, chat, *topic))


def _continues(record: _File, stat: os.stat_result, file: BinaryIO, *, verify: bool) -> bool:
    """Whether the file still begins with what was read from it."""
    if not record.id or stat.st_size < record.read:
        return False
    if not verify:
        return record.inode in (0, stat.st_ino)
    checksum, left = 0, record.read
    while left:
        chunk = file.read(min(left, _PIECE))
        if not chunk:
            return False
        checksum, left = zlib.crc32(chunk, checksum), left - len(chunk)
    return checksum == record.checksum


def _whole_lines(file: BinaryIO) -> bytes:
    """The next piece up to the last line end in it; a line that is not ended yet is for another time."""
    piece = file.read(_PIECE)
    while b"\n" not in piece and (more := file.read(_PIECE)):
        piece += more
    return piece[: piece.rfind(b"\n") + 1]


def _lines(piece: bytes) -> list[_Line]:
    """The lines that can be read; what is wrong with the others is not for the index to say."""
    found = []
    for raw in piece.split(b"\n"):
        if raw:
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
                found.append(_decode(raw))
    return found


def _moment(at: str) -> tuple[float, int]:
    """Seconds since the epoch, and the local day there and then; zeros for what is not a time."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return 0.0, 0
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.timestamp(), moment.toordinal()


def _speaker(connection: sqlite3.Connection, line: _Line) -> int:
    """The number of who said it; 0 for someone without a name."""
    name = line.sender.name if line.sender else ""
    if not name:
        return 0
    connection.execute("INSERT OR IGNORE INTO speaker (name) VALUES (?)", (name,))
    (number,) = connection.execute("SELECT id FROM speaker WHERE name = ?", (name,)).fetchone()
    return int(number)
