"""The indexer: keeps the search index in step with sessions, episodes and the files that people edit."""

import contextlib
import logging
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from nanobot.authority import Origin, Scope
from nanobot.errors import StoreError
from nanobot.memory.episodes import history_file
from nanobot.memory.recall.index.database import FILE_FIELDS, NOBODY, File, IndexDatabase, IndexEntry, Texts, Words
from nanobot.memory.recall.index.reader import SqliteRecallIndex
from nanobot.memory.recall.index.vectors import Vectors
from nanobot.memory.recall.ports import Embedder, Progress, ReadWritten, Source, Written
from nanobot.memory_files import FILES
from nanobot.ports import DocumentText, Episode
from nanobot.sessions import lines
from nanobot.sessions.store import SessionFiles
from nanobot.store.documents import CachedDocuments, MemoryFolder
from nanobot.transcript import Message
from nanobot.workspace import Workspace, scope_of

# Append-only logs: sessions and episodes.


PIECE = 256 * 1024
"""Bytes read in one transaction; others may write between two."""

ReadLine = Callable[[bytes, File], Iterator[IndexEntry]]


class LogFollower:
    """Indexes one kind of log, whose lines one function reads."""

    def __init__(self, database: IndexDatabase, words: Words, read: ReadLine) -> None:
        self._database, self._words, self._read = database, words, read

    def take_in(self, path: Path, name: str, session: str, *, verify: bool) -> Iterator[int]:
        """Index a file from where it was left, a transaction for each piece; yields the bytes read after each.

        With `verify` the part read before is compared by its checksum: if it changed, the file is read anew.
        """
        finished = False
        while not finished:
            with self._database.write() as connection, path.open("rb") as opened:
                stat = os.fstat(opened.fileno())
                texts = Texts(connection, self._words)
                file = texts.file(name)
                if not _continues(file, stat, opened, verify=verify):
                    texts.drop(file)
                    file = texts.begin(name, session)
                opened.seek(file.read)
                piece = _whole_lines(opened)
                finished = file.read + len(piece) >= stat.st_size or not piece
                for raw in filter(None, piece.split(b"\n")):
                    for entry in self._read(raw, file):
                        texts.add(file, entry)
                file.read += len(piece)
                file.checksum = zlib.crc32(piece, file.checksum)
                file.inode, file.size, file.mtime = stamp(stat) if finished else (0, 0, 0)
                texts.save(file)
            verify = False
            yield file.read


def stamp(stat: os.stat_result) -> tuple[int, int, int]:
    """Return inode, size and time of change: the state of a file."""
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _continues(file: File, stat: os.stat_result, opened: BinaryIO, *, verify: bool) -> bool:
    """True if the file still begins with what was read from it."""
    if not file.id or stat.st_size < file.read:
        return False
    if not verify:
        return file.inode in (0, stat.st_ino)
    checksum, left = 0, file.read
    while left:
        chunk = opened.read(min(left, PIECE))
        if not chunk:
            return False
        checksum, left = zlib.crc32(chunk, checksum), left - len(chunk)
    return checksum == file.checksum


def _whole_lines(opened: BinaryIO) -> bytes:
    """Return the next piece up to its last line end; an unfinished line is left for another time."""
    piece = opened.read(PIECE)
    while b"\n" not in piece and (more := opened.read(PIECE)):
        piece += more
    return piece[: piece.rfind(b"\n") + 1]


# Lines of sessions.


_SPOKEN = frozenset({"user", "assistant"})


def entries_of_sessions(raw: bytes, file: File) -> Iterator[IndexEntry]:
    """Return index entries for the words of people and bot; faulty lines are reported by the doctor.

    Neither what a model was shown in front of a person's words nor what tools reported is what anybody said. What
    they passed on from others is found as that; what they replied to or marked stands elsewhere already.
    """
    with contextlib.suppress(ValueError):
        line = lines.decode(raw)
        if isinstance(line, Message) and line.role in _SPOKEN:
            yield from _entries(line, file, _scope(line, file))


def _entries(line: Message, file: File, scope: str) -> Iterator[IndexEntry]:
    for quote in line.quotes:
        if quote.how in ("forward", "via", "card") and quote.text:
            yield IndexEntry(
                source="quote",
                scope=scope,
                text=quote.text,
                at=line.at,
                role="other",
                origin=Origin.QUOTED,
                message=line.id,
                speaker=quote.by,
            )
    if line.content:
        yield IndexEntry(
            source="session",
            scope=scope,
            text=line.content,
            at=line.at,
            role=line.role,
            origin=Origin.QUOTED if line.has_pasted else line.origin or Origin.PERSON,
            message=line.id,
            speaker=line.sender.name if line.sender else "",
            inbound=line.corrects or line.inbound or "",
            corrects=line.corrects is not None,
        )


def _scope(line: Message, file: File) -> str:
    """Return the scope of a line: that of a person's words holds for the rest of their turn, too."""
    if line.role == "user" and line.scope is not None:
        if line.turn != file.turn:
            file.begun = file.position
        file.turn, file.scope = line.turn, line.scope
        return line.scope
    if line.turn and line.turn == file.turn:
        return file.scope
    return Scope.OWNER_NAME if file.session.startswith("cli:") else NOBODY


# Lines of history.jsonl.


def entries_of_history(raw: bytes, _: File) -> Iterator[IndexEntry]:
    """Return index entries for the lines of a summary, and for the facts that no line has.

    Raw episodes are left out: their messages are indexed in their session.
    """
    try:
        episode = history_file.decode(raw)
    except ValueError:
        return
    for number, text in enumerate([] if episode.raw else _texts(episode)):
        yield IndexEntry(
            source="episode",
            scope=episode.scope.name,
            text=text,
            at=episode.timestamp,
            role="episode",
            origin=episode.origin,
            session=episode.session,
            message=str(episode.cursor),
            apart=number == 0,
        )


def _texts(episode: Episode) -> list[str]:
    told = [line.strip().lstrip("-*").strip() for line in episode.content.splitlines()]
    told = [line for line in told if line]
    return [*told, *(fact.text for fact in episode.facts if not any(fact.text in line for line in told))]


# Notes, MEMORY.md and USER.md.


class DocumentIndexer:
    """Keeps the index in step with the files that people edit. One thread at a time."""

    def __init__(self, database: IndexDatabase, workspace: Workspace, words: Words, read: ReadWritten) -> None:
        self._database, self._workspace, self._words, self._read = database, workspace, words, read
        self._documents = CachedDocuments()
        self._seen: dict[str, dict[str, DocumentText]] = {}  # as they are in the index, scope by scope

    def sync(self) -> int:
        """Index the changed files of every scope; returns their number."""
        known = {path for (path,) in self._database.rows("SELECT path FROM file WHERE path LIKE '%.md'")}
        changed = sum(self.look(scope) for scope in {*self._scopes(), *self._seen})
        gone = known - {path for seen in self._seen.values() for path in seen}
        for path in gone:
            self._drop(path)
        return changed + len(gone)

    def look(self, scope: str) -> int:
        """Index the changed files of one scope; returns their number. Costs a stat for each file."""
        found = {path: found for path, found in self._of(scope) if found[1].text is not None}
        seen = self._seen.setdefault(scope, {})
        changed = [path for path, (_, document) in found.items() if seen.get(path) is not document]
        gone = seen.keys() - found.keys()
        for path in changed:
            self._replace(path, scope, *found[path])
            seen[path] = found[path][1]
        for path in gone:
            self._drop(path)
            del seen[path]
        return len(changed) + len(gone)

    def look_anew(self) -> None:
        """Forget what was indexed, after the index was replaced."""
        self._seen = {}

    def _scopes(self) -> Iterator[str]:
        yield Scope.OWNER_NAME
        for kind in ("people", "groups"):
            for path in self._workspace.root.glob(f"{kind}/*/"):
                yield scope_of(PurePosixPath(kind, path.name, self._workspace.user.name))

    def _of(self, scope: str) -> Iterator[tuple[str, tuple[Source, DocumentText]]]:
        """Return the files of a scope, by their path relative to the workspace."""
        folder = MemoryFolder(self._workspace.memory_of(scope), self._documents)
        for path in (self._workspace.file(file.name, scope) for file in FILES if file.is_of_scope):
            yield self._name(path), ("memory", self._documents.look(path))
        for name, document in folder.notes().items():
            yield self._name(folder.path.with_name(name)), ("note", document)

    def _name(self, path: Path) -> str:
        return path.relative_to(self._workspace.root).as_posix()

    def _drop(self, path: str) -> None:
        with self._database.write() as connection:
            texts = Texts(connection, self._words)
            texts.drop(texts.file(path))

    def _replace(self, path: str, scope: str, source: Source, document: DocumentText) -> None:
        text = document.text or ""
        checksum = zlib.crc32(text.encode("utf-8", "surrogatepass"))
        with self._database.write() as connection:
            texts = Texts(connection, self._words)
            file = texts.file(path)
            if file.id and file.checksum == checksum:
                return
            texts.drop(file)
            file = texts.begin(path, path)
            written = self._read(source, path.rpartition("/")[2], text)
            day = datetime.fromtimestamp(document.modified).astimezone().date().isoformat()
            for entry in _document_entries(source, scope, written, day):
                texts.add(file, entry)
            for kind, name in written.links:
                texts.link(file, kind, name)
            file.checksum = checksum
            texts.save(file)


def _document_entries(source: Source, scope: str, written: Written, day: str) -> Iterator[IndexEntry]:
    for found in written.texts:
        yield IndexEntry(
            source=source,
            scope=scope,
            text=found.text,
            at=found.at or day,
            role=source,
            origin=Origin.TOOL,  # as when the file is read: who wrote which line of it, only its history knows
        )


# All of it.


_log = logging.getLogger(__name__)

_LONGEST_HEADER = 64 * 1024  # bytes
_NEW = ".new"


class Indexer:
    """RecallKeeper that indexes conversations, episodes, notes and memory files.

    Safe beside a second process that does the same.
    """

    def __init__(
        self,
        database: IndexDatabase,
        workspace: Workspace,
        words: Words,
        read_written: ReadWritten,
        vectors: Vectors | None = None,
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            database: the index to write.
            workspace: its files are read.
            words: the words by which a text is found.
            read_written: the texts and links in a file that people edit.
            vectors: has a model read what the texts mean.
        """
        self._database, self._workspace, self._vectors = database, workspace, vectors
        self._words, self._read_written = words, read_written
        self._files = SessionFiles(workspace)
        self._sessions = LogFollower(database, words, entries_of_sessions)
        self._history = LogFollower(database, words, entries_of_history)
        self._documents = DocumentIndexer(database, workspace, words, read_written)
        self._unreadable: set[str] = set()  # files that were warned of

    def sync(self, progress: Progress | None = None) -> int:
        """Index whatever appeared, grew, changed or vanished; returns the number of files.

        A log that only grew is read from where it was left. Safe to interrupt: the next one goes on.
        """
        changed = self._documents.sync()
        known, present = self._known(), dict(self._logs())
        for name in known.keys() - present.keys():
            with self._database.write() as connection:
                Texts(connection, self._words).drop(known[name])
        grown = {name: log for name, log in present.items() if not _is_as(known.get(name), log[1])}
        total, done = sum(path.stat().st_size for _, path, _ in grown.values()), 0
        for name, (session, path, log) in grown.items():
            read = 0
            try:
                for read in log.take_in(path, name, session, verify=True):
                    if progress:
                        progress(done + read, total)
            except OSError as error:
                self._warn(name, error)
            done += read
        return changed + len(grown) + len(known.keys() - present.keys())

    def appended(self, key: str) -> None:
        """Index what this program just appended to a session. Costs a fraction of a millisecond."""
        path = self._files.path(key)
        for _ in self._sessions.take_in(path, self._name(path), key, verify=False):
            pass

    def look(self, scope: str) -> None:
        """Index changes of the notes and memory files of a scope, and new episodes. Cheap if there are none."""
        self._documents.look(scope)
        path = self._workspace.history
        if path.is_file() and not _is_as(self._known("path = ?", self._name(path)).get(self._name(path)), path):
            for _ in self._history.take_in(path, self._name(path), "", verify=True):
                pass

    def embed(self) -> bool:
        """Have the model read a few more texts; returns True if some are left."""
        return self._vectors.embed() if self._vectors else False

    def rebuild(self, progress: Progress | None = None) -> None:
        """Build the index anew beside this one, and put it in its place: it holds nothing that no file holds.

        This one serves until then, and stays as it is if the work is interrupted.
        """
        beside = self._database.path.with_name(self._database.path.name + _NEW)
        database = IndexDatabase(beside)
        try:
            database.begin_anew()
            Indexer(database, self._workspace, self._words, self._read_written).sync(progress)
        finally:
            database.close()
        self._database.replace_with(beside)
        self._documents.look_anew()
        self.sync()

    def close(self) -> None:
        self._database.close()

    def _logs(self) -> Iterator[tuple[str, tuple[str, Path, LogFollower]]]:
        """Return key, path and follower of every session, however its file is named, and of the episodes."""
        found = dict(self._files.all())
        ours = set(found.values())
        for path in self._files.paths():
            if path not in ours and (key := _key_in(path)):
                found.setdefault(key, path)
        for key, path in sorted(found.items()):
            yield self._name(path), (key, path, self._sessions)
        if self._workspace.history.is_file():
            yield self._name(self._workspace.history), ("", self._workspace.history, self._history)

    def _warn(self, name: str, error: OSError) -> None:
        if name not in self._unreadable:
            self._unreadable.add(name)
            _log.warning("%s cannot be searched: %s", name, error.strerror or error)

    def _name(self, path: Path) -> str:
        return path.relative_to(self._workspace.root).as_posix()

    def _known(self, where: str = "path LIKE ?", value: str = "%.jsonl") -> dict[str, File]:
        rows = self._database.rows(f"SELECT {FILE_FIELDS} FROM file WHERE {where}", (value,))  # noqa: S608 - no value is in it
        files = [File(*row) for row in rows]
        return {file.path: file for file in files}


def open_recall(
    workspace: Workspace, words: Words, read_written: ReadWritten, embedder: Embedder | None = None
) -> tuple[SqliteRecallIndex, Indexer]:
    """Open the index of a workspace, and its keeper. Raises StoreError."""
    try:
        index = SqliteRecallIndex(workspace.recall_index, embedder)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{workspace.recall_index} cannot be opened: {error}") from error
    return index, Indexer(index.database, workspace, words, read_written, index.vectors)


def _is_as(known: File | None, path: Path) -> bool:
    """True if a file is as it was when it was last indexed."""
    return known is not None and (known.inode, known.size, known.mtime) == stamp(path.stat())


def _key_in(path: Path) -> str | None:
    """Return the session key in the first line of a file."""
    with path.open("rb") as file:
        return lines.header_key(file.readline(_LONGEST_HEADER))
