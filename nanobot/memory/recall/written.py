"""What stands in the files that people edit, text by text, as it is to be found."""

import re
from collections.abc import Iterator
from datetime import UTC

from nanobot.memory.index import without_index
from nanobot.memory.markdown import statements, without_comments
from nanobot.memory.note import make_note
from nanobot.ports import Document, ReadFrontmatter
from nanobot.ports.recall import ReadWritten, Source, Written, WrittenText

_BULLET = re.compile(r"(?:[-*+]|\d+[.)])\s+")
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})\)?[.。]?\s*$")


def written_reader(read_frontmatter: ReadFrontmatter) -> ReadWritten:
    """Reads notes, and MEMORY.md and USER.md line by line."""

    def read(source: Source, name: str, text: str) -> Written:
        if source == "note":
            return _note(name, text, read_frontmatter)
        lines = without_comments(without_index(text)).split("\n")
        return Written([WrittenText(line, _day(line)) for line in filter(None, map(_bare, statements(lines)))])

    return read


def _note(name: str, text: str, read_frontmatter: ReadFrontmatter) -> Written:
    """First what the note is about, then its paragraphs; each heading is one, and each list item."""
    document = Document(text)
    note = make_note(name, document, read_frontmatter(text), UTC)
    head, *more = list(_paragraphs(without_comments(note.body))) or [note.summary]
    if not head.startswith(note.summary.rstrip("…")):  # the summary is not just how the note begins
        head, more = note.summary, [head, *more]
    day = note.updated if note.updated in text else ""
    texts = [f"{note.name}: {head}", *more]
    links = [(link.kind, link.to) for link in note.links]
    return Written([WrittenText(text, _day(text) or day) for text in texts], links)


def _paragraphs(body: str) -> Iterator[str]:
    gathered: list[str] = []
    for line in [*body.split("\n"), ""]:
        begins = not line.strip() or line.startswith("#") or _BULLET.match(line.strip())
        if gathered and (begins or gathered[0].startswith("#")):
            yield " ".join(gathered).lstrip("#").strip()
            gathered = []
        if bare := _bare(line):
            gathered.append(bare)


def _bare(line: str) -> str:
    return _BULLET.sub("", line.strip(), count=1)


def _day(text: str) -> str:
    """The date at the end of a line, where it says when it was learnt."""
    match = _DATE.search(text)
    return match[1] if match else ""
