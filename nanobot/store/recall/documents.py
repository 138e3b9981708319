"""Taking notes, MEMORY.md and USER.md into the search index."""

import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path, PurePosixPath

from nanobot.authority import Origin, Scope
from nanobot.ports import Document
from nanobot.ports.recall import ReadWritten, Source, Written
from nanobot.store.documents import CachedDocuments
from nanobot.store.memory_folder import MemoryFolder
from nanobot.store.recall.database import Database
from nanobot.store.recall.entries import Entry, Texts, Words
from nanobot.workspace import Workspace, scope_of


class DocumentIndexer:
    """Keeps the index in step with the files that people edit. One thread at a time."""

    def __init__(self, database: Database, workspace: Workspace, words: Words, read: ReadWritten) -> None:
        self._database, self._workspace, self._words, self._read = database, workspace, words, read
        self._documents = CachedDocuments()
        self._seen: dict[str, dict[str, Document]] = {}  # as they are in the index, scope by scope

    def sync(self) -> int:
        """Take in what changed in the files of every scope; returns how many files that were."""
        known = {path for (path,) in self._database.rows("SELECT path FROM file WHERE path LIKE '%.md'")}
        changed = sum(self.look(scope) for scope in {*self._scopes(), *self._seen})
        gone = known - {path for seen in self._seen.values() for path in seen}
        for path in gone:
            self._drop(path)
        return changed + len(gone)

    def look(self, scope: str) -> int:
        """The same for the files of one scope. Where nothing changed, this costs a stat for each."""
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
        """The index is another one: nothing is known to be in it."""
        self._seen = {}

    def _scopes(self) -> Iterator[str]:
        yield Scope.OWNER_NAME
        for kind in ("people", "groups"):
            for path in self._workspace.root.glob(f"{kind}/*/"):
                yield scope_of(PurePosixPath(kind, path.name, self._workspace.user.name))

    def _of(self, scope: str) -> Iterator[tuple[str, tuple[Source, Document]]]:
        """The files of a scope, by their path relative to the workspace."""
        folder = MemoryFolder(self._workspace.memory_of(scope), self._documents)
        for path in (self._workspace.user_of(scope), folder.path):
            yield self._name(path), ("memory", self._documents.look(path))
        for name, document in folder.notes().items():
            yield self._name(folder.path.with_name(name)), ("note", document)

    def _name(self, path: Path) -> str:
        return path.relative_to(self._workspace.root).as_posix()

    def _drop(self, path: str) -> None:
        with self._database.write() as connection:
            texts = Texts(connection, self._words)
            texts.drop(texts.file(path))

    def _replace(self, path: str, scope: str, source: Source, document: Document) -> None:
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
            for entry in _entries(source, scope, written, day):
                texts.add(file, entry)
            for kind, name in written.links:
                texts.link(file, kind, name)
            file.checksum = checksum
            texts.save(file)


def _entries(source: Source, scope: str, written: Written, day: str) -> Iterator[Entry]:
    for found in written.texts:
        yield Entry(
            source=source,
            scope=scope,
            text=found.text,
            at=found.at or day,
            role=source,
            origin=Origin.TOOL,  # as when the file is read: who wrote which line of it, only its history knows
        )
