"""A text with marks on it: what Markdown says, before a platform's own way to write it."""

from collections.abc import Iterator
from dataclasses import dataclass
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
            whole = mark.start >= start and mark.end <= end
            part = mark if whole else trimmed(mark, text, max(mark.start, start), min(mark.end, end))
            if part is not None:
                yield Mark(part.kind, part.start - start, part.end - start, part.value)


def trimmed(mark: Mark, text: str, start: int, end: int) -> Mark | None:
    """The mark, on this part of it without the blank space at its edges, or None if nothing is left.

    Code keeps its indentation, and so does a quote that begins with it.
    """
    covered = text[start:end]
    bare = covered.rstrip()
    if not bare:
        return None
    if mark.kind not in ("pre", "quote"):
        start += len(covered) - len(covered.lstrip())
    return Mark(mark.kind, start, end - len(covered) + len(bare), mark.value)
