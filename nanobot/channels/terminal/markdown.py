"""Markdown as it is shown in a terminal."""

from collections.abc import Iterable, Iterator

from markdown_it.token import Token
from rich import markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table

from nanobot.channels.terminal.blocks import parser
from nanobot.channels.terminal.clean import printable

_RULE_WIDTH = 24  # of the lines around code: short, so that a narrower window does not break them
_LEAST_WIDTH = 16  # what is nested deeper than fits runs over instead of failing


class _Heading(markdown.Heading):
    LEVEL_ALIGN = dict.fromkeys(markdown.Heading.LEVEL_ALIGN, "left")


class _Code(markdown.CodeBlock):
    """Between two thin lines, without a margin: it can be copied as it stands, and needs no colours."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(_RULE_WIDTH, options.max_width)
        title = "" if self.lexer_name == "text" else self.lexer_name
        yield from console.render(Rule(title, style="dim", align="left"), options.update(width=width))
        code = Syntax("", self.lexer_name, theme="ansi_dark", background_color="default").highlight(str(self.text))
        code.rstrip()
        code.overflow = "fold"
        yield code
        yield from console.render(Rule(style="dim"), options.update(width=width))


class _Table(markdown.TableElement):
    """Without blank lines around it, and with cells that are never cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                table.show_edge = False
                for column in table.columns:
                    column.overflow = "fold"
            yield table


class _Item(markdown.ListItem):
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
        "list_item_open": _Item,
    }

    def __init__(self, text: str) -> None:
        super().__init__("")
        self.parsed = list(_plain(parser().parse(printable(text))))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        options = options.update(width=max(options.max_width, _LEAST_WIDTH))
        segments = super().__rich_console__(console, options)
        lines = Segment.split_lines(segment for segment in segments if isinstance(segment, Segment))
        for line in _without_blank_ends([_without_margin(line) for line in lines]):
            yield from line
            yield Segment.line()


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
