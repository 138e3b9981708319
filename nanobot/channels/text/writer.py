"""Writes a Document: text line by line, with marks opened and closed on the way."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nanobot.channels.text.document import Document, Kind, Mark, trimmed

_BLOCKS = ("heading", "quote", "pre")


@dataclass(slots=True)
class _Open:
    """A mark that has no end yet. It starts where the next thing is written."""

    kind: Kind
    value: str
    start: int | None = None


@dataclass(slots=True)
class Writer:
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
        """Whether what is written next begins a line."""
        return self._gap > 0 or self.position == 0

    def line_end(self) -> None:
        """One line end more, but never two blank lines."""
        self._gap = min(self._gap + 1, 2)

    def keep(self, start: int) -> None:
        """What stands from here on should not be parted from what is written next."""
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

    def write_document(self, document: Document) -> None:
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
        """What is written from now on is this."""
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

    def document(self) -> Document:
        """All that was written."""
        text = "".join(self._pieces)
        found = (
            trimmed(mark, text, mark.start, mark.end) for *_, mark in sorted(self._marks, key=lambda entry: entry[:3])
        )
        return Document(text, tuple(_once(mark for mark in found if mark is not None)))

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
