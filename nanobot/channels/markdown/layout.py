"""Layout: parsed Markdown becomes a Document, blocks, lists and tables in lines, as chat messages are read."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile, zip_longest

from markdown_it.token import Token
from rich.cells import cell_len

from nanobot.channels.markdown import parser
from nanobot.channels.markdown.parser import Kind, MarkedText, cleaned, closed, parse
from nanobot.channels.markdown.writer import MarkdownWriter

# Tables.


_WIDEST = 38  # columns of a monospaced line that a phone shows without breaking it
_BETWEEN = "  "
_NOTHING = MarkedText("–")


@dataclass(slots=True)
class MarkdownTable:
    """The first row is the header. `right` tells of each column whether it is aligned to the right."""

    rows: list[list[MarkedText]] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)


def write_table(table: MarkdownTable, out: MarkdownWriter, bullet: str) -> None:
    """Write it in the form that can be read on a phone."""
    widths = [max(_width(cell.text) for cell in column) for column in zip(*table.rows, strict=True)]
    linked = any(mark.kind == "link" for row in table.rows for cell in row for mark in cell.marks)
    if not linked and sum(widths) + len(_BETWEEN) * (len(widths) - 1) <= _WIDEST:
        out.write_lines("\n".join(_aligned(table, widths)), "pre")
    elif len(table.rows) > 1:
        for row in table.rows[1:]:
            _write_row(table.rows[0], row, out, bullet)
    else:
        _write_joined(table.rows[0], out)


def _width(text: str) -> int:
    return max((cell_len(line) for line in text.split("\n")), default=0)


def _aligned(table: MarkdownTable, widths: list[int]) -> list[str]:
    lines = [line for row in table.rows[:1] for line in _row_lines(row, widths, table.right)]
    lines.append(_BETWEEN.join("─" * max(width, 1) for width in widths))
    lines += [line for row in table.rows[1:] for line in _row_lines(row, widths, table.right)]
    return [line.rstrip() for line in lines]


def _row_lines(row: list[MarkedText], widths: list[int], right: list[bool]) -> list[str]:
    """A row takes several lines if a cell of it does."""
    cells = [cell.text.split("\n") for cell in row]
    return [
        _BETWEEN.join(_padded(*each) for each in zip(line, widths, right, strict=True))
        for line in zip_longest(*cells, fillvalue="")
    ]


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def _write_row(header: list[MarkedText], row: list[MarkedText], out: MarkdownWriter, bullet: str) -> None:
    """The first cell is the title, the others follow with what their column is called."""
    out.gap(2)
    prefix = out.prefix
    out.open("bold")
    _write_cell(header[0], row[0], out)
    out.close("bold")
    for name, cell in zip(header[1:], row[1:], strict=True):
        if name.text or cell.text:
            out.gap(1)
            out.item(bullet, prefix + " " * len(bullet))
            _write_cell(name, cell, out)
            out.prefix = prefix


def _write_cell(name: MarkedText, cell: MarkedText, out: MarkdownWriter) -> None:
    if name.text:
        out.write_document(name)
        out.write("：" if cell_len(name.text[-1]) > 1 else ": ")
    out.write_document(cell if cell.text or not name.text else _NOTHING)


def _write_joined(row: list[MarkedText], out: MarkdownWriter) -> None:
    """A header whose rows are still to come."""
    out.open("bold")
    for number, cell in enumerate(row):
        out.write(" · " if number else "")
        out.write_document(cell)
    out.close("bold")


# Inline.


Clickable = Callable[[str, str], bool]
"""Whether a platform shows this label as a link to this URL; if not, the URL is written behind it."""

_STYLES: dict[str, Kind] = {"strong": "bold", "em": "italic", "s": "strike", "spoiler": "spoiler"}
_PICTURE = "🖼 "
_LONGEST_SHOWN = 1000  # of a URL that is written out; longer ones hold the data themselves


def write_inline(tokens: list[Token], out: MarkdownWriter, clickable: Clickable) -> None:
    """Write the children of one block."""
    _Inline(out, clickable).write(tokens)


class _Inline:
    def __init__(self, out: MarkdownWriter, clickable: Clickable) -> None:
        self._out = out
        self._clickable = clickable
        self._links: list[str | None] = []  # of the open ones, what is written behind their label; None: a real link

    def write(self, tokens: list[Token]) -> None:
        for number, token in enumerate(tokens):
            kind, _, end = token.type.rpartition("_")
            if token.type == "text":
                self._out.write(token.content)
            elif token.type == "link_open":
                label = takewhile(lambda each: each.type != "link_close", tokens[number + 1 :])
                self._open_link(str(token.attrs.get("href", "")), "".join(each.content for each in label))
            elif token.type == "link_close":
                self._close_link()
            elif kind in _STYLES:
                (self._out.open if end == "open" else self._out.close)(_STYLES[kind])
            else:
                self._write_other(token)

    def _write_other(self, token: Token) -> None:
        match token.type:
            case "softbreak":
                self._out.gap(1)
            case "hardbreak":
                self._out.line_end()
            case "code_inline":
                self._write_code(token.content)
            case "math":
                self._write_marked(token.content, "math")
            case "image":
                self._write_image(str(token.attrs.get("src", "")), token.content)
            case "tag":
                self._write_tag(token)

    def _write_marked(self, text: str, kind: Kind, value: str = "") -> None:
        self._out.open(kind, value)
        self._out.write(text)
        self._out.close(kind)

    def _write_code(self, code: str) -> None:
        if "\n" not in code:
            self._write_marked(code, "code")
        elif code.strip():
            self._out.gap(1)
            self._out.write_lines(code.strip("\n"), "pre")

    def _write_image(self, url: str, label: str) -> None:
        if self._links:
            self._out.write(label)
            return
        label = label or ("" if url.startswith("data:") else url)
        self._open_link(url, _PICTURE + label)
        self._out.write(_PICTURE + label)
        self._close_link()

    def _open_link(self, url: str, label: str) -> None:
        if not label.strip():
            self._out.write(url)
            self._links.append("")
        elif label in (url, url.removeprefix("mailto:")):
            self._links.append("")
        elif None not in self._links and self._clickable(url, label):
            self._out.open("link", url)
            self._links.append(None)
        else:
            hidden = url.startswith(("#", "data:")) or len(url) > _LONGEST_SHOWN
            self._links.append("" if hidden else f" ({url})")

    def _close_link(self) -> None:
        if not self._links:
            return
        behind = self._links.pop()
        if behind is None:
            self._out.close("link")
        else:
            self._out.write(behind)

    def _write_tag(self, token: Token) -> None:
        name, closing = token.tag, bool(token.meta["closing"])
        if name in parser.BLOCKS:
            self._out.gap(2 if name in parser.PARAGRAPHS else 1)
        if name in parser.STYLES:
            (self._out.close if closing else self._out.open)(parser.STYLES[name])
        elif name == "a":
            self._write_anchor(token, closing)
        elif not closing:
            self._write_void(token)

    def _write_anchor(self, token: Token, closing: bool) -> None:
        if closing:
            self._close_link()
        elif "href" in token.attrs:
            self._open_link(str(token.attrs["href"]), "…")

    def _write_void(self, token: Token) -> None:
        if token.tag == "br":
            self._out.line_end()
        elif token.tag == "li":
            self._out.gap(1)
            self._out.write("• ")
        elif token.tag == "img":
            self._write_image(str(token.attrs.get("src", "")), str(token.attrs.get("alt", "")))
        elif token.tag in ("td", "th") and not self._out.at_line_start:
            self._out.write(" | ")


# Blocks.


_LANGUAGE = re.compile(r"[\w+#.-]{1,32}")
_ATTRIBUTES = re.compile(r"(?:\s*(?:\{[^}]*\}|[\w:.-]+=(?:\"[^\"]*\"|'[^']*'|\S+)))+")
"""What tools that show code are told behind the language: nothing for people."""

_NAMES = """
    ada apl asm assembly awk bash basic bat batch bf c c# c++ clj clojure cmake cmd cobol coffee console cpp cs csharp
    css csv cypher cython d dart diff docker dockerfile dot edn elixir elm env erlang ex f# fish fortran fsharp gherkin
    glsl go golang gradle graphql groovy haskell hcl hlsl hs html http ini java javascript jinja js json json5 jsonc
    jsonl jsx julia kotlin kt latex less lisp log lua makefile markdown matlab md mermaid nginx nim nix objc ocaml
    octave pascal patch perl php plaintext powershell prolog proto protobuf ps1 py python python3 r rb regex ruby rs
    rust sass scala scheme scss sh shell smalltalk solidity sql svelte svg swift systemverilog tcl terraform tex text
    toml ts tsx txt typescript vb vbnet verilog vhdl vim vue wasm xml yaml yml zig zsh
"""
_LANGUAGES = frozenset(_NAMES.split())
_TASK = re.compile(r"\[([ xX])\](?:\s+|$)")
_ALERT = re.compile(r"\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*$", re.IGNORECASE)
_ALERTS = {"NOTE": "ℹ️", "TIP": "💡", "IMPORTANT": "❗", "WARNING": "⚠️", "CAUTION": "🛑"}
_STORY = re.compile(r"[ \t>]*(\u3000+)(?=\S)")
_RULE = "──────────"


@dataclass(frozen=True, slots=True)
class Dialect:
    """Dialect: differences between platforms beyond how they write marks."""

    bullets: tuple[str, ...]  # by depth; the last one from there on
    done: str
    open: str
    indent: int | None  # of a list in a list; None: as wide as the marker above it
    clickable: Clickable


@dataclass(slots=True)
class _List:
    number: int | None
    depth: int


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    start: int


class Layout:
    """Lays one text out. Use it once."""

    def __init__(self, dialect: Dialect, source: str) -> None:
        self._dialect = dialect
        self._lines = source.split("\n")
        self._out = MarkdownWriter()
        self._lists: list[_List] = []
        self._prefixes: list[str] = []
        self._quotes = 0
        self._opened = _Heading(1, 0)
        self._heading: _Heading | None = None  # the one right above
        self._table: MarkdownTable | None = None

    def document(self, tokens: list[Token]) -> MarkedText:
        """The whole text. Each kind of token has a method of its name, if it matters."""
        for token in tokens:
            handler = getattr(self, f"_{token.type}", None)
            if handler is not None:
                handler(token)
        return self._out.document()

    def _space(self, token: Token, least: int = 1) -> None:
        """A blank line before this block where the source has one, or where one should be."""
        line = token.map[0] if token.map else 0
        blank = line > 0 and not self._lines[line - 1].strip(" \t>")
        if self._heading is not None:
            self._out.keep(self._heading.start)
            blank = blank and self._heading.level == 1
            self._heading = None
        self._out.gap(2 if blank else least)

    def _introduced(self, token: Token) -> None:
        """Space before a block that the line before may announce."""
        self._space(token)
        if self._out.last in (":", "："):
            self._out.keep(self._out.position - 1)

    def _paragraph_open(self, token: Token) -> None:
        if not self._out.marker:
            self._space(token)

    def _paragraph_close(self, _token: Token) -> None:
        self._out.close_inline()
        self._out.gap(1)

    def _heading_open(self, token: Token) -> None:
        self._space(token, least=2)
        self._opened = _Heading(int(token.tag.removeprefix("h")), self._out.position)
        self._out.open("heading", str(self._opened.level))

    def _heading_close(self, _token: Token) -> None:
        self._out.close_inline()
        self._out.close("heading")
        self._out.gap(1)
        self._heading = self._opened

    def _hr(self, token: Token) -> None:
        self._space(token, least=2)
        self._out.write_lines(_RULE, "rule")
        self._out.gap(2)

    def _blockquote_open(self, token: Token) -> None:
        self._introduced(token)
        self._quotes += 1
        self._prefixes.append(self._out.prefix)
        if self._quotes == 1:
            self._out.flush_marker()
            self._out.prefix = ""
            self._out.open("quote")
        else:  # neither platform has a quote in a quote
            self._out.prefix += "> "

    def _blockquote_close(self, _token: Token) -> None:
        self._out.flush_marker()
        self._quotes -= 1
        self._out.prefix = self._prefixes.pop()
        if self._quotes == 0:
            self._out.close("quote")
        self._out.gap(1)

    def _bullet_list_open(self, token: Token) -> None:
        self._list_open(token, None)

    def _ordered_list_open(self, token: Token) -> None:
        self._list_open(token, 0)

    def _list_open(self, token: Token, number: int | None) -> None:
        self._lists.append(_List(number, len(self._lists)))
        if not self._out.marker:
            self._introduced(token)

    def _bullet_list_close(self, _token: Token) -> None:
        self._lists.pop()
        self._out.gap(1)

    _ordered_list_close = _bullet_list_close

    def _list_item_open(self, token: Token) -> None:
        if not self._out.marker:
            self._space(token)
        marker = self._marker(self._lists[-1], token)
        self._prefixes.append(self._out.prefix)
        width = len(marker) if self._dialect.indent is None else self._dialect.indent
        self._out.item(marker, self._out.prefix + " " * width)

    def _marker(self, of: _List, token: Token) -> str:
        if of.number is None:
            return self._dialect.bullets[min(of.depth, len(self._dialect.bullets) - 1)] + " "
        written = int(token.info)
        of.number = written if written > of.number else of.number + 1
        return f"{of.number}{token.markup} "

    def _list_item_close(self, _token: Token) -> None:
        self._out.flush_marker()
        self._out.prefix = self._prefixes.pop()
        self._out.gap(1)

    def _fence(self, token: Token) -> None:
        info = token.info.strip()
        language = _LANGUAGE.match(info)
        code = token.content.rstrip()
        if not code.strip() or language is None:  # the fence was never meant as one, or has just begun
            code = "" if _LANGUAGE.fullmatch(info) else f"{info}\n{code}".strip("\n")
            language = None
        if code.strip():
            self._introduced(token)
            name = language[0] if language else ""
            words = info.removeprefix(name).lstrip(" :,")
            if language and words and not _ATTRIBUTES.fullmatch(words):  # said to people, not to what colours the code
                name = name if name.lower() in _LANGUAGES else ""
                self._out.write(words if name else info)
                self._out.gap(1)
            self._out.write_lines(code, "pre", name)

    def _math_block(self, token: Token) -> None:
        self._introduced(token)
        self._out.write_lines(token.content, "math")

    def _inline(self, token: Token) -> None:
        children = token.children or []
        if self._table is not None:
            cell = MarkdownWriter()
            write_inline(children, cell, self._dialect.clickable)
            self._table.rows[-1].append(cell.document())
            return
        if token.map and (indented := _STORY.match(self._lines[token.map[0]])):
            self._out.write(indented[1])  # the parser takes it for blank space
        self._special_start(children)
        write_inline(children, self._out, self._dialect.clickable)

    def _special_start(self, children: list[Token]) -> None:
        """A task's box, or the sign of an alert, in place of how they are written."""
        first = children[0] if children else None
        if first is None or first.type != "text":
            return
        if self._out.marker and (task := _TASK.match(first.content)):
            box = self._dialect.open if task[1] == " " else self._dialect.done
            self._out.marker = re.sub(r"\S+ $", lambda _: f"{box} ", self._out.marker)
            first.content = first.content[task.end() :]
        elif self._quotes and (alert := _ALERT.match(first.content)):
            first.content = ""
            self._out.write(_ALERTS[alert[1].upper()] + " ")
            self._out.open("bold")
            self._out.write(alert[1].capitalize())
            self._out.close("bold")

    def _table_open(self, token: Token) -> None:
        self._introduced(token)
        self._table = MarkdownTable()

    def _tr_open(self, _token: Token) -> None:
        if self._table is not None:
            self._table.rows.append([])

    def _th_open(self, token: Token) -> None:
        if self._table is not None:
            self._table.right.append("right" in str(token.attrGet("style") or ""))

    def _table_close(self, _token: Token) -> None:
        if self._table is not None:
            write_table(self._table, self._out, self._dialect.bullets[0] + " ")
        self._table = None
        self._out.gap(1)


def laid_out(markdown: str, dialect: Dialect, *, growing: bool) -> MarkedText:
    """A text as a platform shows it, before it is cut into messages."""
    source = cleaned(markdown)
    if growing:
        source = closed(source)
    return Layout(dialect, source).document(parse(source))
