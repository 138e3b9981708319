"""The files that people edit, and the notes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A text file as it was read; the same object comes back for as long as the file does not change.

    `text` has plain newlines. It is None if there is no such file, or none that can be read; then `problem`
    says why, in the system's words.
    `modified` is in seconds since 1970.
    """

    text: str | None
    modified: float = 0.0
    problem: str = ""


class Documents(Protocol):
    """The text files that people edit, re-read when they change."""

    def look(self, path: Path) -> Document:
        """The file as it is now. Costs one stat if it has not changed; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What stands between `---` lines at the head of a file, and the text below.

    Values are text, true and false, None, lists and mappings of these; numbers and dates stay text.
    `problem` says what keeps the head from being read; then there are no fields.
    """

    fields: Mapping[str, object]
    body: str
    problem: str = ""


ReadFrontmatter = Callable[[str], Frontmatter]


class MemoryStore(Protocol):
    """MEMORY.md, and the notes in the same folder."""

    @property
    def path(self) -> Path:
        """Where MEMORY.md is, or will be."""
        ...

    def memory(self) -> Document:
        """MEMORY.md as it is now."""
        ...

    def notes(self) -> Mapping[str, Document]:
        """All other Markdown files in the folder, by file name, as they are now. A stat for each that is unchanged."""
        ...

    def change(self, edit: Callable[[str], str]) -> None:
        """Put what `edit` makes of MEMORY.md in its place, in one step; nothing happens if that is the same.

        The text goes in and out as it stands in the file: byte order mark, line ends and broken bytes
        (as surrogates) included. `edit` is called again if somebody else changed the file meanwhile.
        Blocks. Raises StoreError; then nothing has changed.
        """
        ...
