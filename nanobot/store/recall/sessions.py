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

from nanobot.authority import Scope
from nanobot.store import lines
from nanobot.store.recall.database import Database
from nanobot.store.session_files import SessionFiles
from nanobot.transcript import Message
from nanobot.workspace import Workspace

Progress = Callable[[int, int], None]
"""Told now and then how many bytes of how many are done."""

_SOURCE = "session"
_PIECE = 4 << 20  # bytes that one transaction takes in; others may write between two
_LONGEST_HEADER = 64 * 1024  # bytes
_SPOKEN = frozenset({"user", "assistant"})


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
        workspace: Workspace,
        words: Callable[[str], Sequence[str]],
        scope_of: Callable[[str], str] = scope_by_key,
    ) -> None:
        """Say what is read, and how.

        Args:
            database: the index to write.
            workspace: its session files are read.
            words: the words by which a text is found.
            scope_of: the scope of a session, from its key.
        """
        self._database, self._words, self._scope_of = database, words, scope_of
        self._files, self._folder = SessionFiles(workspace), workspace.sessions

    def sync(self, progress: Progress | None = None) -> int:
        """Take in whatever appeared, grew, changed or vanished; returns how many files that were.

        A file that only grew is read from where it was left. Safe to interrupt: the next one goes on.
        """
        known = self._known()
        present = {self._name(path): (key, path) for key, path in self._sessions()}
        for name in known.keys() - present.keys():
            with self._database.write() as connection:
                self._drop(connection, known[name])
        changed = [entry for name, entry in present.items() if not known.get(name, _File()).is_as(entry[1].stat())]
        total, done = sum(path.stat().st_size for _, path in changed), 0
        for key, path in changed:
            for read in self._take_in(key, path, verify=True):
                if progress:
                    progress(done + read, total)
            done += path.stat().st_size
        return len(changed) + len(known.keys() - present.keys())

    def appended(self, key: str) -> None:
        """Take in what this program just appended to a session. Costs a fraction of a millisecond."""
        for _ in self._take_in(key, self._files.path(key), verify=False):
            pass

    def _sessions(self) -> list[tuple[str, Path]]:
        """Every session by its name; also files from outside whose name is not the one that we would give them."""
        found = dict(self._files.all())
        ours = set(found.values())
        for path in self._files.paths():
            if path not in ours and (key := _key_in(path)):
                found.setdefault(key, path)
        return sorted(found.items())

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()

    def _known(self) -> dict[str, _File]:
        rows = self._database.rows(f"SELECT path, {_FIELDS} FROM file WHERE source = ?", (_SOURCE,))  # noqa: S608 - no value is in it
        return {path: _File(*rest) for path, *rest in rows}

    def _take_in(self, key: str, path: Path, *, verify: bool) -> Iterator[int]:
        """Read a file piece by piece, a transaction each; yields how many bytes are in the index after each."""
        finished = False
        while not finished:
            with self._database.write() as connection, path.open("rb") as file:
                stat = os.fstat(file.fileno())
                record = self._record(connection, path)
                if not _continues(record, stat, file, verify=verify):
                    self._drop(connection, record)
                    record = self._begin(connection, key, path)
                file.seek(record.read)
                piece = _whole_lines(file)
                finished = record.read + len(piece) >= stat.st_size or not piece
                self._store(connection, record, piece, stat if finished else None)
            verify = False
            yield record.read

    def _record(self, connection: sqlite3.Connection, path: Path) -> _File:
        row = connection.execute(f"SELECT {_FIELDS} FROM file WHERE path = ?", (self._name(path),)).fetchone()  # noqa: S608 - no value is in it
        return _File(*row) if row else _File()

    def _begin(self, connection: sqlite3.Connection, key: str, path: Path) -> _File:
        cursor = connection.execute(
            "INSERT INTO file VALUES (NULL, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0)",
            (self._name(path), _SOURCE, key, self._scope_of(key)),
        )
        return _File(id=cursor.lastrowid or 0)

    def _drop(self, connection: sqlite3.Connection, record: _File) -> None:
        """Take a file's texts out of the index; a contentless table must be told the words that leave."""
        rows = connection.execute("SELECT key, words FROM said WHERE file = ?", (record.id,)).fetchall()
        connection.executemany(
            "INSERT INTO word (word, rowid, words) VALUES ('delete', ?, ?)",
            rows,
        )
        connection.execute("DELETE FROM said WHERE file = ?", (record.id,))
        connection.execute("DELETE FROM file WHERE id = ?", (record.id,))
        if rows:
            connection.execute("DELETE FROM speaker WHERE id NOT IN (SELECT speaker FROM said)")

    def _store(self, connection: sqlite3.Connection, record: _File, piece: bytes, stat: os.stat_result | None) -> None:
        """Add a piece of a file, and note how far it has been read; `stat` when that is all of it."""
        for message in _messages(piece):
            self._add(connection, record, message, message.content or "")
        record.read += len(piece)
        record.checksum = zlib.crc32(piece, record.checksum)
        seen = (stat.st_ino, stat.st_size, stat.st_mtime_ns) if stat else (0, 0, 0)
        connection.execute(
            "UPDATE file SET inode = ?, size = ?, mtime = ?, read = ?, checksum = ?, texts = ?, words = ? WHERE id = ?",
            (*seen, record.read, record.checksum, record.texts, record.words, record.id),
        )

    def _add(self, connection: sqlite3.Connection, record: _File, message: Message, text: str) -> None:
        words = self._words(text)
        joined = " ".join(words)
        seconds, day = _moment(message.at)
        speaker = _speaker(connection, message.sender.name if message.sender else "")
        key = connection.execute(
            "INSERT INTO said VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (record.id, record.texts, message.id, message.at, seconds, day, message.role, speaker, text, joined),
        ).lastrowid
        connection.execute("INSERT INTO word (rowid, words) VALUES (?, ?)", (key, joined))
        record.texts += 1
        record.words += len(words)


_FIELDS = "id, inode, size, mtime, read, checksum, texts, words"


def _key_in(path: Path) -> str | None:
    """The key that a file's first line names."""
    with path.open("rb") as file:
        return lines.header_key(file.readline(_LONGEST_HEADER))


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


def _messages(piece: bytes) -> Iterator[Message]:
    """What people said and the bot answered. What is wrong with a line is for the doctor to say, not for the index."""
    for raw in piece.split(b"\n"):
        if raw:
            with contextlib.suppress(ValueError):
                line = lines.decode(raw)
                if isinstance(line, Message) and line.role in _SPOKEN and line.content:
                    yield line


def _moment(at: str) -> tuple[float, int]:
    """Seconds since the epoch, and the local day there and then; zeros for what is not a time."""
    try:
        moment = datetime.fromisoformat(at)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.timestamp(), moment.toordinal()
    except (ValueError, OverflowError):
        return 0.0, 0


def _speaker(connection: sqlite3.Connection, name: str) -> int:
    """The number of who said it; 0 for someone without a name."""
    if not name:
        return 0
    row = connection.execute("SELECT id FROM speaker WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else connection.execute("INSERT INTO speaker (name) VALUES (?)", (name,)).lastrowid or 0
