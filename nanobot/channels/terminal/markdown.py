"""Markdown on the screen of a terminal: safe, in finished blocks, piece by piece."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, zip_longest
from typing import Literal, TextIO

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions, ConsoleOptions, RenderableType, RenderResult
from rich.rule import Rule
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Column, Table
from rich.text import Text
from rich.theme import Theme

from nanobot.text import printable


def typed(text: str) -> str:
    """Return typed text as valid Unicode: bytes that the console could not decode are read as UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        return text.encode("utf-8", "replace").decode("utf-8")


# Growing answers.


_LIST_MARKER = re.compile(r" {0,3}([-+*]|\d{1,9}[.)])(\s|$)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_LISTS = ("bullet_list_open", "ordered_list_open")

DEEPEST = 40
"""Levels of quotes and lists in each other, a list counting twice; the parser says nothing of what is deeper."""


@cache
def parser() -> MarkdownIt:
    """The Markdown that answers are written in.

    HTML and link definitions are text like any other: nothing that a model wrote may vanish.
    """
    return (
        MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
        .enable(["table", "strikethrough"])
        .disable("reference")
    )


class Blocks:
    """Takes a text in pieces, and gives its blocks as soon as nothing that follows can change them.

    A block is what stands at the top level of a document: a paragraph, a whole list, a fence, a table.
    In CommonMark a block is finished once the next one has begun, some already at a blank line. Where
    blocks begin is asked of the real parser, but only at lines where one may have ended, so that the
    work does not grow with the square of the text.
    """

    def __init__(self) -> None:
        self._rest = ""
        self._line = 0  # where the first line that has not been looked at begins in the rest
        self._blank = False  # the line before that one was blank
        self._last = ""  # the kind of the unfinished block, as the parser calls it, where it matters
        self._closing: re.Pattern[str] | None = None  # what ends the open fence

    @property
    def rest(self) -> str:
        """Text that is not finished yet."""
        return self._rest

    def feed(self, text: str) -> list[str]:
        """Take the next piece. Returns the blocks that it finished, each with the blank lines behind it."""
        self._rest += text
        finished: list[str] = []
        while (end := self._rest.find("\n", self._line)) >= 0:
            line = self._rest[self._line : end]
            self._line = end + 1
            if self._may_end(line):
                finished += self._cut()
            self._blank = not line.strip()
        return finished

    def _may_end(self, line: str) -> bool:
        """True if a block may have ended with this line, or before it."""
        if self._closing:
            return self._closing.fullmatch(line) is not None
        if self._last in _LISTS:
            return self._blank and line[:1] not in ("", " ", "\t") and not _LIST_MARKER.match(line)
        if self._last == "code_block":
            return line[:4].strip() != "" and line[:1] != "\t"
        return bool(_FENCE.match(line)) or not (line.strip() or self._blank)

    def _cut(self) -> list[str]:
        """Take the finished blocks off the lines that have been looked at."""
        lines = self._rest[: self._line].split("\n")
        begun = _top_level(self._rest[: self._line])
        if not begun:
            return []
        self._closing = _open_fence(begun[-1], lines)
        self._last = begun[-1].type
        starts = [_start(token) for token in begun[1:]]
        if self._is_closed(lines[-2]):
            starts.append(len(lines) - 1)
        blocks = ["\n".join([*lines[a:b], ""]) for a, b in pairwise([0, *starts])]
        cut = sum(map(len, blocks))
        self._rest = self._rest[cut:]
        self._line -= cut
        return blocks

    def _is_closed(self, line: str) -> bool:
        """True if the last block is finished, seen from this line, the newest."""
        if self._last == "fence":
            return self._closing is None
        return not line.strip() and self._last not in (*_LISTS, "code_block")


class PrintedAnswer:
    """Takes the pieces of an answer, and says what of it can be printed."""

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._printed = ""
        self._complete = False  # what is printed was ended by a step; it may be a remark, or all of the answer

    @property
    def unfinished(self) -> str:
        """Text that has come and is not printed yet."""
        return self._blocks.rest

    def grow(self, piece: str) -> list[str]:
        """Returns the blocks that this piece finished."""
        if self._complete:
            self.forget()
        finished = self._blocks.feed(piece)
        self._printed += "".join(finished)
        return finished

    def step(self) -> list[str]:
        """Complete the text so far. Returns the part that remains unprinted."""
        rest, self._blocks = self._blocks.rest, Blocks()
        self._printed += rest
        self._complete = self._complete or bool(self._printed)
        return _if_any(rest)

    def restart(self) -> bool:
        """Discard the text since the last step. Returns True if some of it is on the screen."""
        was_seen = bool(self._printed.strip()) and not self._complete
        self.forget()
        return was_seen

    def forget(self) -> None:
        """Forget the printed text: it is no part of what comes."""
        self._blocks, self._printed, self._complete = Blocks(), "", False

    def finish(self, text: str) -> tuple[list[str], bool]:
        """The whole answer is there. Returns what is not on the screen yet, and whether it contradicts what is."""
        seen, whole = self._printed.strip(), text.strip()
        contradicts = not whole.startswith(seen) and not self._complete
        missing = whole.removeprefix(seen)
        self.forget()
        return _if_any(missing), contradicts


def _if_any(text: str) -> list[str]:
    return [text] if text.strip() else []


def _top_level(text: str) -> list[Token]:
    tokens: list[Token] = []
    parser().block.parse(text, parser(), {}, tokens)
    return [token for token in tokens if token.level == 0 and token.nesting >= 0]


def _start(token: Token) -> int:
    return token.map[0] if token.map else 0


def _open_fence(token: Token, lines: list[str]) -> re.Pattern[str] | None:
    """Return the line that will end an open fence, if the block is one."""
    if token.type != "fence" or token.map is None:
        return None
    closing = re.compile(rf" {{0,3}}{re.escape(token.markup)}{re.escape(token.markup[0])}*[ \t]*")
    first, end = token.map
    return None if end - first > 1 and closing.fullmatch(lines[end - 1]) else closing


# Rendering.


_RULE_WIDTH = 24  # of the lines around code: short, so that a narrower window does not break them
_GOES_ON = "↪ "
_TAB = 8
_QUOTE = 4  # cells that one takes
_WORD = 12  # cells: no shorter word of a table is cut
_LEAST_WIDTH = 16  # what is nested deeper than fits runs over instead of failing


class _Heading(markdown.Heading):
    LEVEL_ALIGN = dict.fromkeys(markdown.Heading.LEVEL_ALIGN, "left")


class _Code(markdown.CodeBlock):
    """Between two thin lines, without a margin: it can be copied as it stands, and needs no colours.

    A line that is wider than the window goes on in the next one; where nothing stands beside it, the terminal itself
    breaks it, so that it is copied as one line.
    """

    def on_enter(self, context: markdown.MarkdownContext) -> None:
        super().on_enter(context)
        self._is_alone = len(context.stack) == 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(_RULE_WIDTH, options.max_width)
        title = "" if self.lexer_name == "text" else self.lexer_name
        yield from console.render(Rule(title, style="dim", align="left"), options.update(width=width))
        code = Syntax("", self.lexer_name, theme="ansi_dark", background_color="default").highlight(str(self.text))
        code.rstrip()
        code.expand_tabs(_TAB)
        for line in code.split("\n", allow_blank=True):
            for part in self._parts(line, options.max_width):
                part.no_wrap, part.overflow = True, "ignore"
                yield part
        yield from console.render(Rule(style="dim"), options.update(width=width))

    def _parts(self, line: Text, width: int) -> Iterable[Text]:
        return [line] if self._is_alone else line.divide(_breaks(line.plain, width))


class _MarkedCode(_Code):
    """Code that somebody is to agree to: a row that goes on from the one above has a mark, which no line imitates."""

    def _parts(self, line: Text, width: int) -> Iterable[Text]:
        if line.plain.startswith(_GOES_ON[0]):
            line = Text(f"\\u{ord(_GOES_ON[0]):x}").append_text(line[1:])
        ends = _breaks(line.plain, width)
        if not ends:
            return [line]
        first, rest = line.divide(ends[:1])
        more = rest.divide(_breaks(rest.plain, max(width - len(_GOES_ON), 1)))
        return [first, *(Text(_GOES_ON, style="dim").append_text(part) for part in more)]


def _breaks(line: str, width: int) -> list[int]:
    """Return the positions at which to break a line; before blanks, since those at the end of a row are not seen."""
    breaks, start, used = [], 0, 0
    for place, character in enumerate(line):
        cells = cell_len(character)
        while used + cells > width and used:
            end = start + len(line[start:place].rstrip(" "))
            start = end if end > start else place
            breaks.append(start)
            used = cell_len(line[start:place])
        used += cells
    return breaks


class _Table(markdown.TableElement):
    """Without blank lines around it. Cells fold; where that would cut words into slices, each row becomes a list."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                table.show_edge = False
                for column in table.columns:
                    column.overflow = "fold"
                if sum(_least(column) for column in table.columns) + 2 * len(table.columns) > options.max_width:
                    yield from self._rows()
                    continue
            yield table

    def _rows(self) -> Iterator[RenderableType]:
        heads = [cell.content for cell in self.header.row.cells] if self.header and self.header.row else []
        for number, row in enumerate(self.body.rows if self.body else []):
            if number:
                yield Text()
            for head, cell in zip_longest(heads, [cell.content for cell in row.cells], fillvalue=Text()):
                line = Text(overflow="fold").append_text(head)
                line.stylize("bold")
                yield (line.append(": ") if head.plain else line).append_text(cell)
        if self.body is None:
            yield Text(" · ", overflow="fold").join(heads)


def _least(column: Column) -> int:
    """The width that a column needs at least: that of its longest word, if that is not too long a one."""
    texts = [cell for cell in (column.header, *column.cells) if isinstance(cell, Text)]
    return min(max((cell_len(word) for text in texts for word in text.plain.split()), default=1), _WORD)


class _List(markdown.ListElement):
    """With the numbers that were written, as long as they go up."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.list_type == "bullet_list_open":
            yield from super().__rich_console__(console, options)
            return
        numbers: list[int] = []
        for item in self.items:
            written = item.number if isinstance(item, _Item) else 0
            numbers.append(max(written, numbers[-1] + 1) if numbers else written)
        for number, item in zip(numbers, self.items, strict=True):
            yield from item.render_number(console, options, number, numbers[-1])


class _Item(markdown.ListItem):
    def __init__(self, number: int = 0) -> None:
        super().__init__()
        self.number = number

    @classmethod
    def create(cls, _: markdown.Markdown, token: Token) -> "_Item":
        return cls(int(token.info) if token.info.isdecimal() else 0)

    def render_number(self, console: Console, options: ConsoleOptions, number: int, last_number: int) -> RenderResult:
        """With the point behind the number, which a list of amounts would be misread without."""
        width = len(str(last_number)) + 3
        lines = console.render_lines(self.elements, options.update(width=options.max_width - width), style=self.style)
        for index, line in enumerate(lines):
            yield Segment(f"{number}. ".rjust(width) if index == 0 else " " * width)
            yield from line
            yield Segment.line()


class Rendered(markdown.Markdown):
    """A Markdown text to print. Whatever it holds is shown, and nothing in it drives the terminal."""

    elements = {  # noqa: RUF012 - as its base declares it
        **markdown.Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
        "bullet_list_open": _List,
        "ordered_list_open": _List,
        "list_item_open": _Item,
    }

    def __init__(self, text: str) -> None:
        super().__init__("")
        tokens = parser().parse(printable(text))
        if any(token.level >= DEEPEST - 1 for token in tokens):  # as it was written: nothing is lost
            tokens = [Token("code_block", "code", 0, content=text, block=True)]
        self.parsed = list(_plain(tokens))
        self._margin = _widest_margin(self.parsed)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        options = options.update(width=max(options.max_width, self._margin + _LEAST_WIDTH))
        segments = super().__rich_console__(console, options)
        lines = Segment.split_lines(segment for segment in segments if isinstance(segment, Segment))
        for line in _without_blank_ends([_without_margin(line) for line in lines]):
            yield from line
            yield Segment.line()


class MarkdownQuestion(Rendered):
    """A Markdown text with something to agree to."""

    elements = {**Rendered.elements, "fence": _MarkedCode, "code_block": _MarkedCode}  # noqa: RUF012


def _widest_margin(tokens: Iterable[Token]) -> int:
    """The cells that stand before what is nested deepest."""
    widest, margins = 0, [0]
    for token in tokens:
        if token.type in ("blockquote_open", "list_item_open"):
            margins.append(margins[-1] + max(_QUOTE, len(token.info) + 4))
            widest = max(widest, margins[-1])
        elif token.type in ("blockquote_close", "list_item_close"):
            margins.pop()
    return widest


def _without_blank_ends(lines: list[list[Segment]]) -> list[list[Segment]]:
    filled = [index for index, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _without_margin(line: list[Segment]) -> list[Segment]:
    """The line without the blanks that fill it up."""
    while line and not line[-1].text.strip():
        line.pop()
    if line:
        line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
    return line


def _plain(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens, as a chat needs them: lines stay lines, names stay names, addresses are seen.

    The text in them is cleaned here: entities and addresses have been decoded by now.
    """
    for token in tokens:
        token.content, token.info = printable(token.content), printable(token.info)
        if token.type == "inline":
            token.children = list(_inline(token.children or []))
        yield token


def _inline(tokens: Iterable[Token]) -> Iterator[Token]:
    address = shown = ""
    for token in tokens:
        token.content = printable(token.content)
        shown += token.content
        if token.type == "softbreak":
            yield Token("hardbreak", "br", 0)
        elif token.type in ("strong_open", "strong_close") and token.markup == "__":
            yield _text("__")  # __init__.py is a name
        elif token.type == "link_open":
            address, shown = str(token.attrs.get("href", "")), ""
        elif token.type == "link_close":
            if address not in (shown, f"mailto:{shown}"):
                yield _text(f" ({address})")
        elif token.type == "image":
            yield _text(f"{token.content} ({token.attrs.get('src', '')})".lstrip())
        else:
            yield token


def _text(content: str) -> Token:
    return Token("text", "", 0, content=printable(content))


# Printing.


_THEME = Theme(  # colours that can be read on dark and on light
    {"markdown.code": "cyan", "markdown.block_quote": "italic", "markdown.item.bullet": "none", "markdown.hr": "dim"}
)


@dataclass(frozen=True, slots=True)
class ScreenPiece:
    """Something to print: Markdown, with something to agree to in it, lines as they are, a quiet one, one below."""

    text: str
    kind: Literal["markdown", "question", "plain", "quiet", "footer"] = "markdown"


class Screen:
    """Prints pieces, with a blank line between them; quiet lines stay together."""

    def __init__(self, file: TextIO) -> None:
        self._console = _console(file)
        self._last: str | None = None

    def print(self, pieces: Iterable[ScreenPiece]) -> None:
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
    page.print(_renderable(ScreenPiece(text)), crop=False)


def _console(file: TextIO) -> Console:
    return Console(file=file, theme=_THEME, highlight=False)


def _fit(page: Console) -> None:
    """Measure the window anew: it is resized, and COLUMNS, which rich would believe, may be of another one."""
    if page.file.isatty():
        columns, lines = os.get_terminal_size(page.file.fileno())
        if columns:  # some pseudo-terminals do not know
            page.size = ConsoleDimensions(columns, lines)


def _renderable(piece: ScreenPiece) -> RenderableType:
    if piece.kind in ("markdown", "question"):
        return (MarkdownQuestion if piece.kind == "question" else Rendered)(piece.text)
    return Text(printable(piece.text), style="" if piece.kind == "plain" else "dim", overflow="fold")
