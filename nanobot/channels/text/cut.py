"""Where a long text is cut into messages."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import regex

from nanobot.channels.text.document import Document, Kind

Body = TypeVar("Body")

_PARAGRAPH = re.compile(r"\n\n+")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"[.!?][\"')\]”’]*\s+|[。！？…；][”’」』）》]*")
_WORD = re.compile(r"\s+|[，、：]")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+")
_VISIBLE = regex.compile(r"[^\p{Z}\p{Cc}\p{Cf}\p{Cs}\u115f\u1160\u2800\u3164\uffa0\ufe0e\ufe0f]")
_CHARACTER = regex.compile(r"\X")
_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_CLUSTER = 64  # code points: longer ones (letters under a heap of accents) may be cut

_WEIGHTS: dict[Kind, int] = {"marker": 0, "quote": 1, "pre": 2}
_INSIDE: Final = 3  # a word of the text is marked as one thing

_LEVELS = (  # what to cut behind, how much of a message to fill at least, and what may be cut by it
    (_PARAGRAPH, 0.25, 0),
    (_LINE, 0.5, 0),
    (_LINE, 0.5, 1),
    (_LINE, 0.5, 2),
    (_SENTENCE, 0.75, 1),
    (_WORD, 0.75, 1),
    (_WORD, 0.75, _INSIDE),
)
_SPARE = 8  # messages that may be wasted in all on nicer cuts
_LAST_WORDS = 64


def visible(text: str) -> bool:
    """Whether a person sees anything of it. Platforms refuse what has blanks and invisible characters only."""
    return _VISIBLE.search(text) is not None


def cut(
    document: Document, limit: int, render: Callable[[Document], Body], excess: Callable[[Body], int]
) -> list[Body]:
    """The messages that together say the document, in order; none is blank.

    `render` makes a message of a piece, `excess` tells by how many units it is above the platform's limit
    (0 or less: it fits).
    """
    return list(_Cutter(document, limit, render, excess).bodies())


@dataclass(slots=True)
class _Cutter(Generic[Body]):
    document: Document
    limit: int
    render: Callable[[Document], Body]
    excess: Callable[[Body], int]
    weights: bytearray = field(init=False)
    spare: float = _SPARE

    def __post_init__(self) -> None:
        self.weights = _weigh(self.document)

    def bodies(self) -> Iterator[Body]:
        start = self._begin(0)
        while start < len(self.document.text):
            end, piece, body = self._fit(start)
            if visible(piece.text):
                yield body
            rest = tuple(mark for mark in self.document.marks if mark.end > end)
            self.document = Document(self.document.text, rest)
            start = self._begin(end)

    def _fit(self, start: int) -> tuple[int, Document, Body]:
        """The piece that begins here: where it ends, itself, and its message."""
        most = start + self.limit
        while True:
            end = self._place(start, most)
            piece = self._piece(start, end)
            body = self.render(piece)
            over = self.excess(body)
            if over <= 0 or most <= start + 1:
                self.spare -= max(most - end, 0) / (most - start)
                return end, piece, body
            shorter = (end - start) * self.limit // (self.limit + over)
            most = max(start + 1, min(start + shorter, most - 1))

    def _begin(self, position: int) -> int:
        """Where the next piece begins: without blank lines, indentation of text, and lines between sections."""
        if (blank := _BLANK_LINES.match(self.document.text, position)) is not None:
            position = blank.end()
        for mark in self.document.marks:
            if mark.start <= position < mark.end and mark.kind == "rule":
                return self._begin(mark.end)
            if mark.start <= position < mark.end and mark.kind == "pre":
                return position
        while self.document.text[position : position + 1] in (" ", "\t"):
            position += 1
        return position

    def _piece(self, start: int, end: int) -> Document:
        piece = self.document.slice(start, end)
        while (last := next((mark for mark in piece.marks if mark.end == len(piece.text)), None)) is not None:
            if last.kind != "rule":
                break
            piece = piece.slice(0, last.start)
        return piece

    def _place(self, start: int, most: int) -> int:
        """The best place to end, at `most` or before."""
        text, full = self.document.text, most - start
        if most >= len(text):
            return len(text)
        latest = most - int(full * max(self.spare, 0) / 3)
        for pattern, fill, weight in _LEVELS:
            least = max(start + int(full * fill), latest)
            if pattern is _WORD:
                least = min(least, max(most - _LAST_WORDS, start + 1))
            for found in reversed(list(pattern.finditer(text, least, most + 2))):
                end = found.end()
                if self.weights[end] <= weight and (end <= most or text[most:end].isspace()):
                    return end
        return _cluster_end(text, start, most)


def _weigh(document: Document) -> bytearray:
    """For each position, what a cut right before it would cut."""
    weights = bytearray(len(document.text) + 1)
    for weight in sorted({*_WEIGHTS.values(), _INSIDE}):
        for mark in document.marks:
            if _WEIGHTS.get(mark.kind, _INSIDE) == weight:
                inside = max(mark.end - mark.start - 1, 0)
                weights[mark.start + 1 : mark.start + 1 + inside] = bytes((weight,)) * inside
    return weights


def _cluster_end(text: str, start: int, most: int) -> int:
    """The last place that does not cut what a person sees as one character: a flag, a family, an accented letter."""
    probe = max(start, most - _CLUSTER)
    flags = probe - len(text[start:probe].rstrip(_FLAGS)) - start
    probe -= flags % 2  # they are pairs: count from the first
    ends = [probe + found.end() for found in _CHARACTER.finditer(text[probe : most + _CLUSTER])]
    return max((end for end in ends if start < end <= most), default=most)
