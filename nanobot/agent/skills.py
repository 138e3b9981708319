"""Know-how in skills/<name>/SKILL.md: its index is always in the prompt, its body on demand."""

from pathlib import Path

from nanobot.memory.cut import Shown, cut
from nanobot.ports import Document, Documents, ReadFrontmatter

BUDGET = 4096
"""Bytes of the index."""

HOW = "Know-how for tasks. Before you do one of these, read its file with read_file."


class Skills:
    """The skills in a folder, one line each."""

    def __init__(self, folder: Path, documents: Documents, frontmatter: ReadFrontmatter) -> None:
        self._folder = folder
        self._documents = documents
        self._frontmatter = frontmatter
        self._lines: dict[Path, tuple[Document, str]] = {}

    def section(self) -> Shown:
        """The index, with how to use it; empty without skills. A skill without a description is named only."""
        lines = [self._line(path) for path in sorted(self._folder.glob("*/SKILL.md"))]
        return cut("\n".join([HOW, *lines]) if lines else "", BUDGET, "the index of skills")

    def _line(self, path: Path) -> str:
        document = self._documents.look(path)
        known = self._lines.get(path)
        if known is None or known[0] is not document:
            known = self._lines[path] = document, self._described(path, document.text or "")
        return known[1]

    def _described(self, path: Path, text: str) -> str:
        fields = self._frontmatter(text).fields
        description = " ".join(str(fields.get("description") or fields.get("summary") or "").split())
        file = path.relative_to(self._folder.parent).as_posix()
        return f"- {path.parent.name}: {description} (`{file}`)" if description else f"- {path.parent.name} (`{file}`)"
