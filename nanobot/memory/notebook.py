"""A memory folder as the bot knows it: the facts in MEMORY.md, the notes, their index."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nanobot.errors import StoreError
from nanobot.memory.cut import Shown
from nanobot.memory.index import index_line, with_index
from nanobot.memory.note import Note, Problem, is_safe_name, make_note, same_name
from nanobot.memory.section import memory_section, shown_facts
from nanobot.ports import Clock, Document, Frontmatter, MemoryStore, ReadFrontmatter

log = logging.getLogger(__name__)

_UNKNOWN = Document(None)


class Notebook:
    """Knows facts and notes as they are on disk, and keeps the index in MEMORY.md true.

    Files change by whatever hand; `refresh` at the start of a turn notices. The newest note comes first,
    so that an index too long for the prompt loses what was not touched for longest; names break ties.
    """

    def __init__(
        self,
        store: MemoryStore,
        read_frontmatter: ReadFrontmatter,
        clock: Clock,
        *,
        folder: str = "memory",
        user: str = "USER.md",
    ) -> None:
        """`folder` and `user`: where the notes and USER.md lie, relative to the workspace."""
        self._store = store
        self._read_frontmatter = read_frontmatter
        self._clock = clock
        self.folder = folder
        self._user = user
        self._one_at_a_time = threading.Lock()
        self._memory = _UNKNOWN
        self._documents: Mapping[str, Document] = {}
        self._notes: Mapping[str, Note] = {}
        self._problems: Sequence[Problem] = ()
        self._shown: dict[tuple[str, int], tuple[Document, Sequence[str], Shown]] = {}
        self.all: Sequence[Note] = ()
        self.index: Sequence[str] = ()

    @property
    def path(self) -> Path:
        """Where MEMORY.md is, or will be."""
        return self._store.path

    @property
    def size(self) -> int:
        """Bytes of the text of MEMORY.md."""
        return len((self._store.memory().text or "").encode())

    async def refresh(self) -> None:
        """Take in what changed. Where nothing did, this costs a stat for each file, in place."""
        if self._has_changed():
            await asyncio.to_thread(self.update)

    def written(self, path: Path) -> str:
        """Take in that a file was written; returns its line in the index, "" if it is no note. Blocks."""
        self.update()
        if path.parent != self._store.path.parent or path.name not in self._notes:
            return ""
        return _line(self._notes[path.name])

    def section(self, budget: int) -> Shown:
        """What the prompt says about memory, with at most `budget` bytes of facts and index."""

        def make(text: str | None) -> Shown:
            return memory_section(text, self.index, budget, folder=self.folder, user=self._user)

        return self._cached("section", budget, make)

    def facts(self, budget: int) -> Shown:
        """Just the facts in MEMORY.md, for a small model."""
        return self._cached("facts", budget, lambda text: shown_facts(text, budget))

    def find(self, name: str) -> Note | None:
        """The note with this name, with or without its ending, in any case."""
        return next((note for note in self.all if same_name(note.file, name)), None)

    @property
    def problems(self) -> Sequence[Problem]:
        """What is wrong with the files, links that lead nowhere included."""
        broken = [
            Problem(note.file, "link", link.to)
            for note in self.all
            for link in note.links
            if self.find(link.to) is None
        ]
        return (*self._problems, *broken)

    def linking_to(self, note: Note) -> Sequence[Note]:
        """The notes that link to this one."""
        return [other for other in self.all if any(same_name(link.to, note.name) for link in other.links)]

    def update(self) -> None:
        """Read what changed, and bring the index in MEMORY.md up to it. Blocks; never raises for a bad file."""
        with self._one_at_a_time:
            memory, documents = self._store.memory(), self._store.notes()
            self._take_in(documents)
            try:
                self._store.change(lambda text: with_index(text, self.index))
            except StoreError as error:
                log.warning("the index of notes was not saved: %s", error)
                self._problems = (*self._problems, Problem(self._store.path.name, "unwritable", str(error)))
                memory = _UNKNOWN  # tried again at the next turn
            self._memory, self._documents = memory, documents

    def _has_changed(self) -> bool:
        documents = self._store.notes()
        return (
            self._store.memory() is not self._memory
            or documents.keys() != self._documents.keys()
            or any(document is not self._documents[file] for file, document in documents.items())
        )

    def _cached(self, name: str, budget: int, make: Callable[[str | None], Shown]) -> Shown:
        memory = self._store.memory()
        known = self._shown.get((name, budget))
        if known is None or known[0] is not memory or known[1] is not self.index:
            known = self._shown[name, budget] = memory, self.index, make(memory.text)
        return known[2]

    def _take_in(self, documents: Mapping[str, Document]) -> None:
        readable = {file: found for file, found in documents.items() if found.text is not None and is_safe_name(file)}
        self._notes = {file: self._note(file, document) for file, document in readable.items()}
        ordered = sorted(self._notes.values(), key=lambda note: note.file)
        self.all = tuple(sorted(ordered, key=lambda note: note.updated, reverse=True))
        self.index = tuple(map(_line, self.all))
        self._problems = (
            *(Problem(file, "unreadable", found.problem) for file, found in documents.items() if found.problem),
            *(Problem(_printable(file), "name") for file in documents if not is_safe_name(file)),
            *(problem for note in self.all for problem in note.problems),
        )

    def _note(self, file: str, document: Document) -> Note:
        if self._documents.get(file) is document:
            return self._notes[file]
        head: Frontmatter = self._read_frontmatter(document.text or "")
        return make_note(file, document, head, self._clock.now().tzinfo)


def _line(note: Note) -> str:
    return index_line(note.type, note.summary, note.file, note.updated)


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name)
