"""Keeping the search index in step with everything that it is made of."""

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from nanobot.errors import StoreError
from nanobot.ports.recall import Embedder, Progress, ReadWritten
from nanobot.store import lines
from nanobot.store.recall.database import Database
from nanobot.store.recall.documents import DocumentIndexer
from nanobot.store.recall.entries import FILE_FIELDS, File, Texts, Words
from nanobot.store.recall.episodes import entries_of_history
from nanobot.store.recall.index import SqliteRecallIndex
from nanobot.store.recall.logs import Log, stamp
from nanobot.store.recall.sessions import entries_of_sessions
from nanobot.store.recall.vectors import Vectors
from nanobot.store.session_files import SessionFiles
from nanobot.workspace import Workspace

_log = logging.getLogger(__name__)

_LONGEST_HEADER = 64 * 1024  # bytes
_NEW = ".new"


class Indexer:
    """Takes in conversations, episodes, notes and memory files.

    Safe beside a second process that does the same.
    """

    def __init__(
        self,
        database: Database,
        workspace: Workspace,
        words: Words,
        read_written: ReadWritten,
        vectors: Vectors | None = None,
    ) -> None:
        """Say what is read, and how.

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
        self._sessions = Log(database, words, entries_of_sessions)
        self._history = Log(database, words, entries_of_history)
        self._documents = DocumentIndexer(database, workspace, words, read_written)
        self._unreadable: set[str] = set()  # files that were warned of

    def sync(self, progress: Progress | None = None) -> int:
        """Take in whatever appeared, grew, changed or vanished; returns how many files that were.

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
        """Take in what this program just appended to a session. Costs a fraction of a millisecond."""
        path = self._files.path(key)
        for _ in self._sessions.take_in(path, self._name(path), key, verify=False):
            pass

    def look(self, scope: str) -> None:
        """Take in what changed in the notes and memory files of a scope, and new episodes. Cheap if nothing did."""
        self._documents.look(scope)
        path = self._workspace.history
        if path.is_file() and not _is_as(self._known("path = ?", self._name(path)).get(self._name(path)), path):
            for _ in self._history.take_in(path, self._name(path), "", verify=True):
                pass

    def embed(self) -> bool:
        """Have the model read a few more texts; whether some are left."""
        return self._vectors.embed() if self._vectors else False

    def rebuild(self, progress: Progress | None = None) -> None:
        """Build the index anew beside this one, and put it in its place: nothing is left of what is not in the files.

        What this one holds is found until then. Interrupted, it leaves this one as it is.
        """
        beside = self._database.path.with_name(self._database.path.name + _NEW)
        database = Database(beside)
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

    def _logs(self) -> Iterator[tuple[str, tuple[str, Path, Log]]]:
        """Every session by its name, also from outside, whose names are not the ones we would give them; episodes."""
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
    """The index of a workspace, and what keeps it. Raises StoreError."""
    try:
        index = SqliteRecallIndex(workspace.recall_index, embedder)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{workspace.recall_index} cannot be opened: {error}") from error
    return index, Indexer(index.database, workspace, words, read_written, index.vectors)


def _is_as(known: File | None, path: Path) -> bool:
    """Whether a file is as it was when it was last taken in."""
    return known is not None and (known.inode, known.size, known.mtime) == stamp(path.stat())


def _key_in(path: Path) -> str | None:
    """The key that a file's first line names."""
    with path.open("rb") as file:
        return lines.header_key(file.readline(_LONGEST_HEADER))
