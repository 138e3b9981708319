"""Know-how in skills/<name>/SKILL.md: its index is always in the prompt, its body on demand."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nanobot.memory.cut import Shown, cut
from nanobot.ports import Document, Documents, ReadFrontmatter

BUDGET = 4096
"""Bytes of the index."""

HOW = "Know-how for tasks. Before you do one of these, read its file with read_file."


class BrokenSkill(NamedTuple):
    """A skill whose file, or whose head, cannot be read: its description is lost."""

    file: str
    problem: str


class Skills:
    """The skills in a folder, one line each."""

    def __init__(self, folder: Path, documents: Documents, frontmatter: ReadFrontmatter) -> None:
        self._folder = folder
        self._documents = documents
        self._frontmatter = frontmatter
        self._lines: dict[Path, tuple[Document, str, str]] = {}

    def section(self) -> Shown:
        """The index, with how to use it; empty without skills. A skill without a description is named only."""
        lines = [self._read(path)[1] for path in self._paths()]
        return cut("\n".join([HOW, *lines]) if lines else "", BUDGET, "the index of skills")

    def broken(self) -> Sequence[BrokenSkill]:
        """The skills whose description is lost, and why."""
        return [BrokenSkill(self._file(path), problem) for path in self._paths() if (problem := self._read(path)[2])]

    def _paths(self) -> Sequence[Path]:
        return sorted(self._folder.glob("*/SKILL.md"))

    def _file(self, path: Path) -> str:
        return path.relative_to(self._folder.parent).as_posix()

    def _read(self, path: Path) -> tuple[Document, str, str]:
        """The file, its line in the index, and why there is no description in it."""
        document = self._documents.look(path)
        known = self._lines.get(path)
        if known is None or known[0] is not document:
            head = self._frontmatter(document.text or "")
            fields, name = head.fields, path.parent.name
            description = " ".join(str(fields.get("description") or fields.get("summary") or "").split())
            line = f"- {name}{': ' if description else ''}{description} (`{self._file(path)}`)"
            known = self._lines[path] = document, line, document.problem or head.problem
        return known
