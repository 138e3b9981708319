"""Markdown as models write it: CommonMark with tables, HTML tags, LaTeX, and an end that is still to come."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block.state_block import StateBlock
from markdown_it.rules_core.state_core import StateCore
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

# The parsed text.


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
    """Formatting of `text[start:end]`. Two marks either do not overlap, or one lies within the other."""

    kind: Kind
    start: int
    end: int
    value: str = ""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """Plain text, and its marks by their start, outer ones first. Positions count code points."""

    text: str
    marks: tuple[Mark, ...] = ()

    def slice(self, start: int, end: int) -> "MarkedText":
        """A piece of it, without blank space at its end; marks that are cut begin and end with the piece."""
        text = self.text[start:end].rstrip()
        return MarkedText(text, tuple(_clipped(self.marks, self.text, start, start + len(text))))


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


# HTML.


STYLES: dict[str, Kind] = {
    "b": "bold", "strong": "bold", "summary": "bold", "h1": "bold", "h2": "bold", "h3": "bold", "h4": "bold",
    "th": "bold", "i": "italic", "em": "italic", "cite": "italic", "u": "underline", "ins": "underline",
    "s": "strike", "del": "strike", "strike": "strike",
}  # fmt: skip
BLOCKS = frozenset(
    {"p", "div", "section", "center", "details", "summary", "ul", "ol", "blockquote", "pre", "hr"}
    | {"h1", "h2", "h3", "h4", "table", "thead", "tbody", "tr"}
)
PARAGRAPHS = frozenset({"p", "h1", "h2", "h3", "h4", "table", "hr"})
SILENT = frozenset({"span", "font", "small", "big", "mark", "td", "th", "li", "a", "img", "br", "sub", "sup"})
CODE = frozenset({"code", "kbd", "samp", "tt"})
_KNOWN = BLOCKS | SILENT | CODE | STYLES.keys()

_TAG = re.compile(
    r"<(/?)([a-z][a-z0-9]*)"
    r"((?:\s+[a-z-]+(?:\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'|[^\s\"'<>]+))?)*)\s*/?>",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"([a-z-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|(\S+))", re.IGNORECASE)
_COMMENT_END = "-->"
_LONGEST = 2000

_SUPERSCRIPT = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
_SUBSCRIPT = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")


def inline_html(state: StateInline, silent: bool) -> bool:
    """One tag: the token has its name as `tag`, +1, 0 or -1 as `nesting` in `meta`, and its attributes."""
    if state.src[state.pos] != "<":
        return False
    if state.src.startswith("<!--", state.pos):
        end = state.src.find(_COMMENT_END, state.pos, state.posMax)
        if end < 0:
            return False
        state.pos = end + len(_COMMENT_END)
        return True
    found = _TAG.match(state.src, state.pos, state.posMax)
    if found is None or found[2].lower() not in _KNOWN:
        return False
    name, closing = found[2].lower(), bool(found[1])
    if not closing and name in CODE | {"sub", "sup"} and _raw(state, silent, name, found.end()):
        return True
    if not silent:
        token = state.push("tag", name, 0)
        token.meta["closing"] = closing
        token.attrs = {
            each[1].lower(): unescape(each[2] or each[3] or each[4] or "") for each in _ATTRIBUTE.finditer(found[3])
        }
    state.pos = found.end()
    return True


def _raw(state: StateInline, silent: bool, name: str, start: int) -> bool:
    """Treat the content of `<code>`, `<sub>` and the like as no Markdown."""
    closing = f"</{name}>"
    end = state.src.find(closing, start, min(state.posMax, start + _LONGEST))
    if end < 0:
        return False
    if not silent:
        content = unescape(state.src[start:end])
        if name in CODE:
            state.push("code_inline", "code", 0).content = content
        else:
            state.append_pending(_shifted(content, name))
    state.pos = end + len(closing)
    return True


def _shifted(content: str, name: str) -> str:
    """H₂O and x², where there are such characters."""
    table = _SUPERSCRIPT if name == "sup" else _SUBSCRIPT
    if all(ord(character) in table for character in content):
        return content.translate(table)
    return ("^" if name == "sup" else "_") + content


# LaTeX.


_PAIRS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"))
_DOLLARS = re.compile(r"\$(?![\s$])(?:[^$\\\n`]|\\.){1,300}?(?<![\s\\])\$(?![0-9A-Za-z$])")
_FORMULA = re.compile(r"[\\^_=+<>/{}|0-9]|^\s")
_SHORTEST_PROSE = 4


def inline_mathematics(state: StateInline, silent: bool) -> bool:
    r"""Formulas within a line: `$a$`, `$$a$$`, `\(a\)`, `\[a\]`. Two prices are no formula."""
    end = _end(state.src, state.pos, state.posMax)
    if end < 0:
        return False
    if not silent:
        state.push("math", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


def _end(text: str, start: int, most: int) -> int:
    if text[start] not in "$\\":
        return -1
    for opening, closing in _PAIRS:
        if text.startswith(opening, start):
            end = text.find(closing, start + 2, min(most, start + _LONGEST))
            return end + 2 if end > 0 and _is_formula(text[start + 2 : end]) else -1
    found = _DOLLARS.match(text, start, most)
    return found.end() if found else -1


def _is_formula(content: str) -> bool:
    r"""`\(see there\)` is prose whose parentheses were escaped."""
    bare = content.strip()
    return bool(bare) and (len(bare) < _SHORTEST_PROSE or _FORMULA.search(content) is not None)


def block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A formula on lines of its own, whose lines may begin with what would be a list elsewhere."""
    first = state.bMarks[start] + state.tShift[start]
    closing = next((closes for opens, closes in _PAIRS[:2] if state.src.startswith(opens, first)), None)
    if closing is None:
        return False
    for number in range(start, end):
        begin = first + 2 if number == start else state.bMarks[number]
        line = state.src[begin : state.eMarks[number]].rstrip()
        if number > start and (not line or state.sCount[number] < state.blkIndent):
            return False
        if closing in line:
            return number > start and line.endswith(closing) and _take(state, start, number + 1, silent)
    return False


def _take(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if not silent:
        token = state.push("math_block", "", 0)
        token.content = state.getLines(start, end, state.blkIndent, False).strip()
        token.map = [start, end]
        state.line = end
    return True


# Before parsing.


_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile("\r\n?|[\u2028\u2029\x85]")
_SPACE = re.compile("[\x0b\x0c]")


def cleaned(markdown: str) -> str:
    """Without characters that a platform refuses or nobody can see, and with plain line ends."""
    text = _LINE_END.sub("\n", markdown)
    return _SURROGATE.sub("\ufffd", _SPACE.sub(" ", _UNWANTED.sub("", text)))


# Unfinished Markdown.


_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})([^\n]*)")
_HALF_FENCE = re.compile(r"[ \t>]*(?:`{1,2}|~{1,2})")
_BARE_MARKER = re.compile(r"[ \t>]*(?:(?:[-*+]+(?:[ \t]+\[[ xX]?\]?)?|#{1,6}|=+)[ \t]*)?")
_ROW = re.compile(r"[ \t>]*\|(?!\|)")
_HALF_DELIMITER_ROW = re.compile(r"[ \t>]*\|[-:| \t]*")
_HALF_LINK = re.compile(
    r"!?\[((?:[^\[\]]|\[[^\[\]]*\]\([^()]*\))*)"  # its label, in which a picture may be
    r"(?:\]\((?:[^()\s]|\([^()\s]*\))*(?:\([^()\s]*|\s+\"[^\"]*\"?)?)?$"
)
_HALF_TAG = re.compile(r"<(?:/?[a-zA-Z][\w-]*|!-*)?$")
_DELIMITER = re.compile(r"\\.|`+|\*{1,3}|~~|\|\||(?<!\w)_+|_+(?!\w)")
_URL = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]*://\S*$")
_LONGEST_LINE = 4000  # longer ones are no prose


def closed(markdown: str) -> str:
    """The same text with what is open in its last line closed, and without halves of links and marks."""
    before, newline, line = markdown.rpartition("\n")
    if _in_fence(before):
        return before if _HALF_FENCE.fullmatch(line) else markdown
    if _FENCE.match(line):
        return markdown
    if _BARE_MARKER.fullmatch(line):
        return before
    if len(line) > _LONGEST_LINE:
        return markdown
    if _ROW.match(line):
        return _with_table(before, newline, line)
    return before + newline + _with_line(line)


def _in_fence(text: str) -> bool:
    fence = ""
    for found in re.finditer(rf"^{_FENCE.pattern}$", text, re.MULTILINE):
        run, rest = found[1], found[2]
        if not fence:
            fence = "" if run[0] == "`" and "`" in rest else run
        elif run.startswith(fence) and not rest.strip():
            fence = ""
    return bool(fence)


def _with_table(before: str, newline: str, line: str) -> str:
    """A header gets the line under it, without which it would not be a table yet."""
    above, _, header = before.rpartition("\n")
    if not _ROW.match(header):
        header = line.rstrip() if line.rstrip().endswith("|") else f"{line} |"
        return before + newline + f"{header}\n{_delimiter_row(header)}"
    if _HALF_DELIMITER_ROW.fullmatch(line) and not _ROW.match(above.rpartition("\n")[2]):
        return f"{before}\n{_delimiter_row(header)}"
    cells, bar, last = line.rpartition("|")
    return before + newline + cells + bar + _with_line(last)


def _delimiter_row(header: str) -> str:
    start = header[: header.index("|")]
    return f"{start}|{'---|' * (header.rstrip().count('|') - 1)}"


def _with_line(line: str) -> str:
    line = _HALF_TAG.sub("", _HALF_LINK.sub(r"\1", line))
    opened: list[str] = []
    position = 0
    while (found := _DELIMITER.search(line, position)) is not None:
        run, position = found[0], found.end()
        if run[0] == "`":
            position = line.find(run, found.end()) + len(run)
            if position < len(run):
                return line.removesuffix(run) if found.end() == len(line) else line + run + "".join(reversed(opened))
        elif run in opened and not line[found.start() - 1].isspace():
            del opened[opened.index(run) :]
        elif found.end() == len(line) and run[0] != "\\":
            line = line[: found.start()]
        elif run[0] != "\\" and _opens(line, found) and not _URL.search(line, 0, found.start()):
            opened.append(run)
    return line.rstrip() + "".join(reversed(opened))


def _opens(line: str, found: re.Match[str]) -> bool:
    before = line[found.start() - 1 : found.start()]
    word_before = before.isascii() and before.isalnum()
    return not line[found.end()].isspace() and not (word_before and found[0] in ("*", "_"))


# The parser.


_DEEPEST = 12
_NESTED = re.compile(rf"^((?:[ \t]*(?:>|[-*+](?=\s)|\d+[.)](?=\s))){{{_DEEPEST}}})", re.MULTILINE)
_SCHEME = re.compile(r"(?:https?|[A-Za-z][A-Za-z0-9+.-]{1,15})$")
_LINK_URL = re.compile(r"://[^\s<>`|\[\]\"“”，。；！？、（）《》【】]+")
_STARS = re.compile(r"\*+")
_LOOK_BACK = 2000  # characters before a URL in which emphasis around it may have begun
_IDENTIFIER = re.compile(r"__[a-z0-9]+(?:_[a-z0-9]+)*__(?![A-Za-z0-9_])")
_FOOTNOTE = re.compile(r"\[\^([^\]\s]{1,40})\]")
_SPOILER = re.compile(r"\|\|(?=[^\s|])((?:(?!\|\||\n\n).)*?[^\s|])\|\|", re.DOTALL)
_CELL = re.compile(r"(?<!\\)\|")
_FACTOR = re.compile(r"[0-9A-Za-z)][0-9A-Za-z(]")  # what stands around the star of a product
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef“”‘’…—\U00020000-\U0003ffff]")


def parse(markdown: str) -> list[Token]:
    """Its blocks, as markdown-it tells them; the inline ones have children."""
    # The parser says nothing of what is nested too deeply. A word joiner ends the nesting, and nobody sees it.
    return _parser().parse(_NESTED.sub("\\1\u2060", markdown))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 100}).enable("table")
    # A line under a paragraph is meant as a line, deep indentation as a list or a story, [x]: y as text.
    parser.disable(["lheading", "code", "reference", "html_block"])
    parser.inline = _Inline()
    parser.inline.add_terminator_char("|")
    parser.inline.ruler.at("text", _text)
    for before, name, rule in (
        ("escape", "math", inline_mathematics),
        ("emphasis", "identifier", _identifier),
        ("link", "footnote", _footnote),
        ("link", "bracket", _bracket),
        ("link", "spoiler", _spoiler),
        ("autolink", "tag", inline_html),
    ):
        parser.inline.ruler.before(before, name, rule)
    parser.block.ruler.before("fence", "math", block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.core.ruler.after("block", "cells", _excess_cells)
    return parser


class _State(StateInline):
    def __init__(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> None:
        super().__init__(src, md, env, tokens)
        self.last_link = src.rfind("](")

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 - the parser's names
        """Return which stars may open and close.

        CommonMark decides by spaces and punctuation, which Chinese sets differently: in `**重要：**内容` its
        closing stars would only open. And a star between two letters or digits is meant as a star.
        """
        found = super().scanDelims(start, canSplitWord)
        before = self.src[start - 1] if start else " "
        end = start + found.length
        after = self.src[end] if end < self.posMax else " "
        if self.src[start] == "*" and found.length == 1 and _FACTOR.fullmatch(before + after):
            return Scanned(False, False, found.length)
        if canSplitWord and not before.isspace() and not after.isspace() and _WIDE.search(before + after):
            return Scanned(True, True, found.length)
        return found


class _Inline(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def _text(state: StateInline, silent: bool) -> bool:
    """Up to the next character that may mean something; a URL is text as a whole."""
    stop = state.md.inline.terminator_re.search(state.src, state.pos)
    end = stop.start() if stop else state.posMax
    if stop and stop[0] == ":" and state.src.startswith("://", end):
        scheme = _SCHEME.search(state.src, state.pos, end)
        if scheme and (url := _LINK_URL.match(state.src, end, state.posMax)) is not None:
            bare = url[0][: _end_in_emphasis(state.src[max(scheme.start() - _LOOK_BACK, 0) : scheme.start()], url[0])]
            end += len(bare.rstrip("_~.,:;!?'"))
    if end == state.pos:
        return False
    if not silent:
        state.append_pending(state.src[state.pos : end])
    state.pos = end
    return True


def _end_in_emphasis(before: str, url: str) -> int:
    """Return the end of a URL: its stars are its own, but for those that close earlier emphasis."""
    for stars in _STARS.finditer(url):
        run = re.compile(rf"(?<![\\*])\*{{{len(stars[0])}}}(?!\*)")
        edges = (
            before[found.start() - 1 : found.start()] + before[found.end() :][:1] for found in run.finditer(before)
        )
        if sum(1 for edge in edges if not (len(edge) == 2 and edge.isspace())) % 2:
            return stars.start()
    return len(url)


def _touches(text: str, stars: re.Match[str]) -> bool:
    """True if a word stands beside them: between two blanks they are a product, or a bullet."""
    around = text[max(stars.start() - 1, 0) : stars.start()] + text[stars.end() : stars.end() + 1]
    return len(around) < 2 or not around.isspace()


def _identifier(state: StateInline, silent: bool) -> bool:
    """`__init__` in prose is a name, not bold."""
    found = _IDENTIFIER.match(state.src, state.pos, state.posMax)
    if found is None or (state.pos and state.src[state.pos - 1].isalnum()):
        return False
    return _literal(state, silent, found[0], found.end())


def _footnote(state: StateInline, silent: bool) -> bool:
    """`[^1]` is shown as [1], where it is referred to and where it is explained."""
    found = _FOOTNOTE.match(state.src, state.pos, state.posMax)
    return found is not None and _literal(state, silent, f"[{found[1]}]", found.end())


def _bracket(state: StateInline, silent: bool) -> bool:
    """A bracket behind the last link is text: looking for its partner takes long if there are many."""
    if not isinstance(state, _State) or state.pos < state.last_link or state.src[state.pos] not in "[!":
        return False
    return _literal(state, silent, state.src[state.pos], state.pos + 1)


def _literal(state: StateInline, silent: bool, text: str, end: int) -> bool:
    if not silent:
        state.append_pending(text)
    state.pos = end
    return True


def _spoiler(state: StateInline, silent: bool) -> bool:
    """`||what is hidden||`, as Discord writes it."""
    if not state.src.startswith("||", state.pos):
        return False
    found = _SPOILER.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        end, state.pos, state.posMax = state.posMax, found.start(1), found.end(1)
        state.push("spoiler_open", "", 1)
        state.md.inline.tokenize(state)
        state.push("spoiler_close", "", -1)
        state.posMax = end
    state.pos = found.end()
    return True


def _excess_cells(state: StateCore) -> None:
    """Cells that a row has too many would be dropped: they are added to its last one."""
    columns, lines = 0, state.src.split("\n")
    for number, token in enumerate(state.tokens):
        if token.type == "table_open":
            columns = sum(1 for each in _until(state.tokens, number, "tr_close") if each.type == "th_open")
        elif token.type == "tr_open" and token.map:
            cells = _CELL.split(lines[token.map[0]].strip(" \t>").removeprefix("|").removesuffix("|"))
            inline = [each for each in _until(state.tokens, number, "tr_close") if each.type == "inline"]
            if len(inline) == columns < len(cells):
                inline[-1].content = "|".join(cells[columns - 1 :]).strip()


def _until(tokens: list[Token], start: int, kind: str) -> list[Token]:
    return tokens[start : next(number for number in range(start, len(tokens)) if tokens[number].type == kind)]
