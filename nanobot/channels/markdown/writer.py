"""The writer of a Document, and where a long one is cut into messages."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import regex

from nanobot.channels.markdown.parser import Kind, Mark, MarkedText, trimmed

_BLOCKS = ("heading", "quote", "pre")


@dataclass(slots=True)
class _Open:
    """A mark that has no end yet. It starts where the next thing is written."""

    kind: Kind
    value: str
    start: int | None = None


@dataclass(slots=True)
class MarkdownWriter:
    """Collects what is written. `prefix` stands before each line, `marker` once before the next one."""

    prefix: str = ""
    marker: str = ""
    position: int = 0
    last: str = ""
    _pieces: list[str] = field(default_factory=list)
    _open: list[_Open] = field(default_factory=list)
    _marks: list[tuple[int, int, int, Mark]] = field(default_factory=list)
    _gap: int = 0
    _keep: int | None = None

    def gap(self, newlines: int) -> None:
        """Before what is written next, at least so many line ends; none at the very beginning."""
        self._gap = max(self._gap, newlines)

    @property
    def at_line_start(self) -> bool:
        """True if what is written next begins a line."""
        return self._gap > 0 or self.position == 0

    def line_end(self) -> None:
        """One line end more, but never two blank lines."""
        self._gap = min(self._gap + 1, 2)

    def keep(self, start: int) -> None:
        """Keep the text from here on together with what is written next."""
        self._keep = start

    def item(self, marker: str, prefix: str) -> None:
        """A list item begins; its further lines get the prefix."""
        self.marker = f"{self.marker or self.prefix}{marker}"
        self.prefix = prefix

    def write(self, text: str) -> None:
        """Say this here. Line ends in it get the prefix behind them."""
        if self._gap or not self.position:
            text = text.lstrip(" \t")
        if not text:
            return
        self._begin_words()
        self._append(text.replace("\n", "\n" + self.prefix) if self.prefix else text)

    def write_lines(self, text: str, kind: Kind, value: str = "") -> None:
        """Say whole lines that are as they are, marked."""
        self.flush_marker()
        prefix, self.prefix = self.prefix, ""
        self._begin_line()
        start = self.position
        self._append(text)
        self._mark(kind, start, value)
        self.prefix = prefix
        self.gap(1)

    def write_document(self, document: MarkedText) -> None:
        """Say what another writer has written. Its further lines get the prefix."""
        if not document.text:
            return
        self._begin_words()
        start = self.position
        self._append(document.text.replace("\n", "\n" + self.prefix))

        def moved(position: int) -> int:
            return start + position + document.text.count("\n", 0, position) * len(self.prefix)

        for mark in document.marks:
            self._add(Mark(mark.kind, moved(mark.start), moved(mark.end), mark.value))

    def open(self, kind: Kind, value: str = "") -> None:
        """Open a mark for the text that follows."""
        self._open.append(_Open(kind, value))

    def close(self, kind: Kind) -> None:
        """Ends the innermost open mark of this kind; those within it go on behind it. None open: nothing happens."""
        found = next((number for number in reversed(range(len(self._open))) if self._open[number].kind == kind), None)
        if found is None:
            return
        inner = self._open[found + 1 :]
        while len(self._open) > found:
            self._close_last()
        self._open += [_Open(each.kind, each.value) for each in inner]

    def close_inline(self) -> None:
        """Ends what must not go on in the next block."""
        while self._open and self._open[-1].kind not in _BLOCKS:
            self._close_last()

    def flush_marker(self) -> None:
        """Write the marker of an item that has no text of its own."""
        if self.marker:
            self._begin_line()
            self.gap(1)

    def document(self) -> MarkedText:
        """All that was written."""
        text = "".join(self._pieces)
        found = (
            trimmed(mark, text, mark.start, mark.end) for *_, mark in sorted(self._marks, key=lambda entry: entry[:3])
        )
        return MarkedText(text, tuple(_once(mark for mark in found if mark is not None)))

    def _begin_words(self) -> None:
        self._begin_line()
        for opened in self._open:
            if opened.start is None:
                opened.start = self.position

    def _begin_line(self) -> None:
        if not (self._gap or self.marker or not self.position):
            return
        if self._gap and self.position:
            self._append("\n" * self._gap)
        for opened in self._open:
            if opened.start is None and opened.kind in _BLOCKS:
                opened.start = self.position
        start = self.position
        self._append(self.marker or self.prefix)
        if self.marker:
            self._mark("marker", start, "")
        if self._keep is not None:
            self._add(Mark("keep", self._keep, self.position + 1))
        self._gap, self.marker, self._keep = 0, "", None

    def _append(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self.position += len(text)
            self.last = text[-1]

    def _close_last(self) -> None:
        opened = self._open.pop()
        if opened.start is not None:
            self._mark(opened.kind, opened.start, opened.value)

    def _mark(self, kind: Kind, start: int, value: str) -> None:
        self._add(Mark(kind, start, self.position, value))

    def _add(self, mark: Mark) -> None:
        # Of two marks on the same text, the one that was closed later is the outer one.
        self._marks.append((mark.start, -mark.end, -len(self._marks), mark))


def _once(marks: Iterable[Mark]) -> Iterator[Mark]:
    """Without bold in bold and the like, which some platforms read as its end."""
    ends: dict[Kind, int] = {}
    for mark in marks:
        kind: Kind = "bold" if mark.kind == "heading" else mark.kind
        if mark.end > ends.get(kind, 0):
            ends[kind] = mark.end
            yield mark


# Cutting.


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
    """True if a person sees anything of it. Platforms refuse what has blanks and invisible characters only."""
    return _VISIBLE.search(text) is not None


def cut(
    document: MarkedText, limit: int, render: Callable[[MarkedText], Body], excess: Callable[[Body], int]
) -> list[Body]:
    """The messages that together say the document, in order; none is blank.

    `render` makes a message of a piece, `excess` tells by how many units it is above the platform's limit
    (0 or less: it fits).
    """
    return list(_Cutter(document, limit, render, excess).bodies())


@dataclass(slots=True)
class _Cutter(Generic[Body]):
    document: MarkedText
    limit: int
    render: Callable[[MarkedText], Body]
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
            self.document = MarkedText(self.document.text, rest)
            start = self._begin(end)

    def _fit(self, start: int) -> tuple[int, MarkedText, Body]:
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
        """Return the start of the next piece: without blank lines, indentation of text, and lines between sections."""
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

    def _piece(self, start: int, end: int) -> MarkedText:
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


def _weigh(document: MarkedText) -> bytearray:
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
