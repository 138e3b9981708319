"""A text with marks on it: what Markdown says, before a platform's own way to write it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal[
    "bold", "italic", "underline", "strike", "spoiler", "code", "link",
    "math",     # LaTeX, as it was written
    "pre",      # whole lines of code; the value is the language
    "heading",  # a line; the value is its level
    "quote",    # whole lines
    "marker",   # what stands before a list item
    "rule",     # a line between two sections
    "keep",     # should stay in one message: a heading and the beginning of what follows it
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mark:
    """What `text[start:end]` is. Two marks either do not overlap, or one lies within the other."""

    kind: Kind
    start: int
    end: int
    value: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """Plain text, and its marks by their start, outer ones first. Positions count code points."""

    text: str
    marks: tuple[Mark, ...] = ()

    def slice(self, start: int, end: int) -> "Document":
        """A piece of it, without blank space at its end; marks that are cut begin and end with the piece."""
        text = self.text[start:end].rstrip()
        return Document(text, tuple(_clipped(self.marks, self.text, start, start + len(text))))


def _clipped(marks: tuple[Mark, ...], text: str, start: int, end: int) -> Iterator[Mark]:
    for mark in marks:
        if mark.start >= end:
            return
        if mark.end > start:
            first, last = max(mark.start, start), min(mark.end, end)
            if (found := trimmed(replace(mark, start=first, end=last), text)) is not None:
                yield replace(found, start=found.start - start, end=found.end - start)


def trimmed(mark: Mark, text: str) -> Mark | None:
    """The mark without the blank space at its edges (code keeps its indentation), or None if nothing is left."""
    covered = text[mark.start : mark.end]
    end = mark.end - (len(covered) - len(covered.rstrip()))
    if end <= mark.start:
        return None
    if mark.kind == "pre":
        return replace(mark, end=end)
    return replace(mark, start=mark.start + len(covered) - len(covered.lstrip()), end=end)
