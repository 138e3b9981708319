"""Know-how in skills/<name>/SKILL.md: its index is always in the prompt, its body on demand."""

from pathlib import Path

from nanobot.memory.cut import Shown, cut
from nanobot.ports import Documents, ReadFrontmatter

BUDGET = 4096
"""Bytes of the index."""

HOW = "Know-how for tasks. Before you do one of these, read its file with read_file."


class Skills:
    """The skills in a folder, one line each."""

    def __init__(self, folder: Path, documents: Documents, frontmatter: ReadFrontmatter) -> None:
        self._folder = folder
        self._documents = documents
        self._frontmatter = frontmatter

    def section(self) -> Shown:
        """The index, with how to use it; empty without skills. A skill without a description is named only."""
        lines = [self._line(path) for path in sorted(self._folder.glob("*/SKILL.md"))]
        return cut("\n".join([HOW, *lines]) if lines else "", BUDGET, "the index of skills")

    def _line(self, path: Path) -> str:
        fields = self._frontmatter(self._documents.read(path) or "").fields
        description = " ".join(str(fields.get("description") or fields.get("summary") or "").split())
        file = path.relative_to(self._folder.parent).as_posix()
        return f"- {path.parent.name}: {description} (`{file}`)" if description else f"- {path.parent.name} (`{file}`)"
