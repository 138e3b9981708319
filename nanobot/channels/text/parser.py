"""Markdown as models write it: CommonMark with tables, and without what people do not mean."""

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_core.state_core import StateCore
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from nanobot.channels.text import html, mathematics

_DEEPEST = 12
_NESTED = re.compile(rf"^((?:[ \t]*(?:>|[-*+](?=\s)|\d+[.)](?=\s))){{{_DEEPEST}}})", re.MULTILINE)
_SCHEME = re.compile(r"(?:https?|[A-Za-z][A-Za-z0-9+.-]{1,15})$")
_URL = re.compile(r"://[^\s<>`|\[\]\"“”，。；！？、（）《》【】]+")
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
        ("escape", "math", mathematics.inline),
        ("emphasis", "identifier", _identifier),
        ("link", "footnote", _footnote),
        ("link", "bracket", _bracket),
        ("link", "spoiler", _spoiler),
        ("autolink", "tag", html.inline),
    ):
        parser.inline.ruler.before(before, name, rule)
    parser.block.ruler.before(
        "fence", "math", mathematics.block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.core.ruler.after("block", "cells", _excess_cells)
    return parser


class _State(StateInline):
    def __init__(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> None:
        super().__init__(src, md, env, tokens)
        self.last_link = src.rfind("](")

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 - the parser's names
        """Which stars may open and close.

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
        if scheme and (url := _URL.match(state.src, end, state.posMax)) is not None:
            bare = url[0][: _end_in_emphasis(state.src[max(scheme.start() - _LOOK_BACK, 0) : scheme.start()], url[0])]
            end += len(bare.rstrip("_~.,:;!?'"))
    if end == state.pos:
        return False
    if not silent:
        state.append_pending(state.src[state.pos : end])
    state.pos = end
    return True


def _end_in_emphasis(before: str, url: str) -> int:
    """Where a URL ends: its stars are its own, but for those that close what was opened before it."""
    for stars in _STARS.finditer(url):
        run = re.compile(rf"(?<![\\*])\*{{{len(stars[0])}}}(?!\*)")
        edges = (
            before[found.start() - 1 : found.start()] + before[found.end() :][:1] for found in run.finditer(before)
        )
        if sum(1 for edge in edges if not (len(edge) == 2 and edge.isspace())) % 2:
            return stars.start()
    return len(url)


def _touches(text: str, stars: re.Match[str]) -> bool:
    """Whether a word stands beside them: between two blanks they are a product, or a bullet."""
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
