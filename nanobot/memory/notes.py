"""Notes: one topic a file in memory/, and the notebook of a memory folder."""

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from pathlib import Path, PurePath
from typing import Literal

from nanobot.errors import StoreError
from nanobot.memory.markdown import index_line, with_index, without_comments
from nanobot.memory.prompt import CutText, memory_section, shown_facts
from nanobot.memory_files import NOTES_FOLDER, USER
from nanobot.ports import Clock, DocumentText, Frontmatter, MemoryStore, ReadFrontmatter
from nanobot.text import cleaned, truncate

# Notes.


ProblemKind = Literal["frontmatter", "updated", "relations", "unreadable", "unwritable", "name", "link"]

_LINK = re.compile(r"\[\[([^\[\]|#\n]+)(?:[|#][^\[\]\n]*)?\]\]")
_MOST_OF_SUMMARY = 160


@dataclass(frozen=True, slots=True)
class NoteProblem:
    """Problem of a file, for its owner; `detail` says where or why."""

    file: str
    kind: ProblemKind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class NoteLink:
    """Link from a note to another, by name; the kind is empty where the text just names it as [[name]]."""

    to: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Note as it is known. `updated` is a date as 2026-11-02; a broken head costs all but name, date and body."""

    file: str
    type: str
    summary: str
    updated: str
    body: str
    links: Sequence[NoteLink] = ()
    problems: Sequence[NoteProblem] = ()

    @property
    def name(self) -> str:
        return PurePath(self.file).stem


def make_note(file: str, document: DocumentText, head: Frontmatter, zone: tzinfo | None) -> Note:
    """Read a note. A file that is no UTF-8 text has no note; `zone` is where a day begins."""
    name = PurePath(file).stem
    links, bad_relations = _relations(head.fields.get("relations"))
    updated, bad_date = _updated(head.fields.get("updated"), document.modified, zone)
    summary = _word(head.fields, "summary") or _word(head.fields, "description")
    problems = (
        NoteProblem(file, "frontmatter", head.problem),
        NoteProblem(file, "updated", bad_date),
        NoteProblem(file, "relations", bad_relations),
    )
    return Note(
        file=file,
        type=_word(head.fields, "type") or "note",
        summary=truncate(summary or (name if head.problem else _first_words(head.body)) or name, _MOST_OF_SUMMARY),
        updated=updated,
        body=head.body,
        links=tuple(dict.fromkeys([*links, *(NoteLink(to.strip()) for to in _LINK.findall(head.body) if to.strip())])),
        problems=tuple(problem for problem in problems if problem.detail),
    )


def is_safe_name(file: str) -> bool:
    """True if a file can be named in the index: one line, nothing invisible, nothing that ends the name."""
    return "`" not in file and file.isprintable() and cleaned(file) == file


def same_name(one: str, other: str) -> bool:
    """True if two names mean the same note: case does not count, nor does the ending."""
    return _key(one) == _key(other)


def _key(name: str) -> str:
    return name.strip().casefold().removesuffix(".md")


def _word(fields: Mapping[str, object], key: str) -> str:
    """A field as one line; whatever is no text counts as not given."""
    value = fields.get(key)
    return " ".join(cleaned(value).split()) if isinstance(value, str) else ""


def _first_words(body: str) -> str:
    lines = (line.strip().lstrip("#").strip() for line in without_comments(body).split("\n"))
    return " ".join(cleaned(next(filter(None, lines), "")).split())


def _updated(value: object, modified: float, zone: tzinfo | None) -> tuple[str, str]:
    """The day of the last change, as the head says or else as the disk does; and what is wrong with the head's."""
    on_disk = datetime.fromtimestamp(modified, zone).date().isoformat()
    if value is None:
        return on_disk, ""
    try:
        return date.fromisoformat(str(value).strip()[:10]).isoformat(), ""
    except ValueError:
        return on_disk, str(value)[:40] or "?"


def _relations(value: object) -> tuple[list[NoteLink], str]:
    """The links of a head, and what is wrong with them."""
    if value is None:
        return [], ""
    rows: list[object] = value if isinstance(value, list) else [value]
    links = [_link(row) for row in rows]
    bad = next((str(row)[:80] for row, link in zip(rows, links, strict=True) if link is None), "")
    return [link for link in links if link], bad


def _link(row: object) -> NoteLink | None:
    if not isinstance(row, dict) or not (to := _word(row, "to")):
        return None
    return NoteLink(to, _word(row, "kind"))


# Notebook: the facts in MEMORY.md, the notes, their index.


log = logging.getLogger(__name__)

_UNKNOWN = DocumentText(None)


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
        folder: str = NOTES_FOLDER,
        user: str = USER,
    ) -> None:
        """`folder` and `user`: where the notes and USER.md lie, relative to the workspace."""
        self._store = store
        self._read_frontmatter = read_frontmatter
        self._clock = clock
        self.folder = folder
        self._user = user
        self._one_at_a_time = threading.Lock()
        self._memory = _UNKNOWN
        self._documents: Mapping[str, DocumentText] = {}
        self._notes: Mapping[str, Note] = {}
        self._problems: Sequence[NoteProblem] = ()
        self._shown: dict[tuple[str, int], tuple[DocumentText, Sequence[str], CutText]] = {}
        self.all: Sequence[Note] = ()
        self.index: Sequence[str] = ()

    @property
    def path(self) -> Path:
        """Path of MEMORY.md, which may not exist yet."""
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

    def section(self, budget: int) -> CutText:
        """Return the memory section of the prompt, with at most `budget` bytes of facts and index."""

        def make(text: str | None) -> CutText:
            return memory_section(text, self.index, budget, folder=self.folder, user=self._user)

        return self._cached("section", budget, make)

    def facts(self, budget: int) -> CutText:
        """Facts in MEMORY.md alone, for a small model."""
        return self._cached("facts", budget, lambda text: shown_facts(text, budget))

    def find(self, name: str) -> Note | None:
        """The note with this name, with or without its ending, in any case."""
        return next((note for note in self.all if same_name(note.file, name)), None)

    @property
    def problems(self) -> Sequence[NoteProblem]:
        """Problems of the files, links that lead nowhere included."""
        broken = [
            NoteProblem(note.file, "link", link.to)
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
                self._problems = (*self._problems, NoteProblem(self._store.path.name, "unwritable", str(error)))
                memory = _UNKNOWN  # tried again at the next turn
            self._memory, self._documents = memory, documents

    def _has_changed(self) -> bool:
        documents = self._store.notes()
        return (
            self._store.memory() is not self._memory
            or documents.keys() != self._documents.keys()
            or any(document is not self._documents[file] for file, document in documents.items())
        )

    def _cached(self, name: str, budget: int, make: Callable[[str | None], CutText]) -> CutText:
        memory = self._store.memory()
        known = self._shown.get((name, budget))
        if known is None or known[0] is not memory or known[1] is not self.index:
            known = self._shown[name, budget] = memory, self.index, make(memory.text)
        return known[2]

    def _take_in(self, documents: Mapping[str, DocumentText]) -> None:
        readable = {file: found for file, found in documents.items() if found.text is not None and is_safe_name(file)}
        self._notes = {file: self._note(file, document) for file, document in readable.items()}
        ordered = sorted(self._notes.values(), key=lambda note: note.file)
        self.all = tuple(sorted(ordered, key=lambda note: note.updated, reverse=True))
        self.index = tuple(map(_line, self.all))
        self._problems = (
            *(NoteProblem(file, "unreadable", found.problem) for file, found in documents.items() if found.problem),
            *(NoteProblem(_printable(file), "name") for file in documents if not is_safe_name(file)),
            *(problem for note in self.all for problem in note.problems),
        )

    def _note(self, file: str, document: DocumentText) -> Note:
        if self._documents.get(file) is document:
            return self._notes[file]
        head: Frontmatter = self._read_frontmatter(document.text or "")
        return make_note(file, document, head, self._clock.now().tzinfo)


def _line(note: Note) -> str:
    return index_line(note.type, note.summary, note.file, note.updated)


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name)
