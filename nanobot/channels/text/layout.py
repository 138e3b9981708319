"""Parsed Markdown -> a Document: blocks and lists in lines, as chat messages are read."""

import re
from dataclasses import dataclass

from markdown_it.token import Token

from nanobot.channels.text.document import Document
from nanobot.channels.text.growing import closed
from nanobot.channels.text.inline import Clickable, write_inline
from nanobot.channels.text.parser import parse
from nanobot.channels.text.source import cleaned
from nanobot.channels.text.table import Table, write_table
from nanobot.channels.text.writer import Writer

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
    """What platforms show differently, beyond how they write marks."""

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
        self._out = Writer()
        self._lists: list[_List] = []
        self._prefixes: list[str] = []
        self._quotes = 0
        self._opened = _Heading(1, 0)
        self._heading: _Heading | None = None  # the one right above
        self._table: Table | None = None

    def document(self, tokens: list[Token]) -> Document:
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
            cell = Writer()
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
        self._table = Table()

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


def laid_out(markdown: str, dialect: Dialect, *, growing: bool) -> Document:
    """A text as a platform shows it, before it is cut into messages."""
    source = cleaned(markdown)
    if growing:
        source = closed(source)
    return Layout(dialect, source).document(parse(source))
