"""What is remembered, as pages that people read: USER.md, MEMORY.md, and each note."""

from collections.abc import Sequence
from dataclasses import dataclass

from nanobot.memory.markdown import headings, without_comments
from nanobot.memory.note import Note, same_name
from nanobot.memory.section import shown_facts
from nanobot.memory.shelves import Shelf
from nanobot.ports import Documents

_ALL = 1 << 40  # bytes; more than any file has


@dataclass(frozen=True, slots=True)
class Page:
    """One file. `text` is without comments, index and title, "" if it says nothing; the two files are no `note`."""

    file: str
    text: str
    note: Note | None = None

    def beginning(self, most: int) -> tuple[str, int]:
        """Its first lines, at most about so many characters, and how many lines that say something are left out."""
        lines = self.text.split("\n")
        room = most
        kept = 0
        while kept < len(lines) and (room := room - len(lines[kept]) - 1) >= 0:
            kept += 1
        kept = max(kept, 1)
        shown = "\n".join([_cut(line, most) for line in lines[:kept]]).rstrip()
        return shown, sum(bool(line.strip()) for line in lines[kept:])


def pages_of(shelf: Shelf, documents: Documents) -> Sequence[Page]:
    """All pages of a shelf: the two files first, even if they say nothing, then the notes as they are numbered."""
    notebook = shelf.notebook
    return [
        Page(shelf.user.name, _plain(documents.look(shelf.user).text)),
        Page(notebook.path.name, _plain(notebook.facts(_ALL).text)),
        *(Page(note.file, without_comments(note.body).strip(), note) for note in notebook.all),
    ]


def page_named(pages: Sequence[Page], name: str) -> Page | None:
    """The page with this name, with or without its ending, in any case; or the note with this number, from 1 on."""
    for page in pages:
        if same_name(page.file, name):
            return page
    notes = [page for page in pages if page.note]
    number = int(name) if name.isdecimal() and len(name) <= len(str(len(notes))) else 0
    return notes[number - 1] if 0 < number <= len(notes) else None


def _plain(text: str | None) -> str:
    """What a person reads of MEMORY.md or USER.md, without the title that repeats its name."""
    lines = shown_facts(text, _ALL).text.strip().split("\n")
    first = headings(lines)[0]
    return "\n".join(lines[1:] if first and first.level == 1 else lines).strip()


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[: most - 1]}…"
