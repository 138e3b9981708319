"""Markdown as it is shown in a terminal."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from markdown_it.token import Token
from rich import markdown
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.rule import Rule
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Column, Table
from rich.text import Text

from nanobot.channels.terminal.blocks import DEEPEST, parser
from nanobot.channels.terminal.clean import printable

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
    """Where to break a line so that no part is wider; before blanks, since those at the end of a row are not seen."""
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


class Question(Rendered):
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
