"""LaTeX in Markdown, which stays as it was written."""

import re

from markdown_it.rules_block.state_block import StateBlock
from markdown_it.rules_inline.state_inline import StateInline

_LONGEST = 2000
_PAIRS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"))
_DOLLARS = re.compile(r"\$(?![\s$])(?:[^$\\\n`]|\\.){1,300}?(?<![\s\\])\$(?![0-9A-Za-z$])")
_FORMULA = re.compile(r"[\\^_=+<>/{}|0-9]|^\s")
_SHORTEST_PROSE = 4


def inline(state: StateInline, silent: bool) -> bool:
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
