"""What the terminal prints, piece by piece."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from rich.console import Console, ConsoleDimensions, RenderableType
from rich.text import Text
from rich.theme import Theme

from nanobot.channels.terminal.clean import printable

_THEME = Theme(  # colours that can be read on dark and on light
    {"markdown.code": "cyan", "markdown.block_quote": "italic", "markdown.item.bullet": "none", "markdown.hr": "dim"}
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Something to print: Markdown, with something to agree to in it, lines as they are, a quiet one, one below."""

    text: str
    kind: Literal["markdown", "question", "plain", "quiet", "footer"] = "markdown"


class Screen:
    """Prints pieces, with a blank line between them; quiet lines stay together."""

    def __init__(self, file: TextIO) -> None:
        self._console = _console(file)
        self._last: str | None = None

    def print(self, pieces: Iterable[Piece]) -> None:
        _fit(self._console)
        for piece in pieces:
            if (self._last, piece.kind) != ("quiet", "quiet"):
                self._console.print()
            self._console.print(_renderable(piece), crop=False)
            self._last = piece.kind

    def turn_page(self) -> None:
        """The person has said something: what comes next stands apart."""
        self._last = None

    def tail(self, text: str, height: int) -> Sequence[str]:
        """The last lines of a text, wrapped to the width of the screen."""
        if not text.strip():
            return []
        _fit(self._console)
        width = max(self._console.width - 1, 1)
        wrapped = Text(printable(text[-4 * width * height :])).wrap(self._console, width)
        return [line.plain.rstrip() for line in wrapped][-height:]


def print_markdown(text: str, file: TextIO) -> None:
    """Print a text by itself."""
    page = _console(file)
    _fit(page)
    page.print(_renderable(Piece(text)), crop=False)


def _console(file: TextIO) -> Console:
    return Console(file=file, theme=_THEME, highlight=False)


def _fit(page: Console) -> None:
    """Measure the window anew: it is resized, and COLUMNS, which rich would believe, may be of another one."""
    if page.file.isatty():
        columns, lines = os.get_terminal_size(page.file.fileno())
        if columns:  # some pseudo-terminals do not know
            page.size = ConsoleDimensions(columns, lines)


def _renderable(piece: Piece) -> RenderableType:
    if piece.kind in ("markdown", "question"):
        from nanobot.channels.terminal.markdown import Question, Rendered  # the prompt is there before they are needed

        return (Question if piece.kind == "question" else Rendered)(piece.text)
    return Text(printable(piece.text), style="" if piece.kind == "plain" else "dim", overflow="fold")
