"""HTML that models put into Markdown: tags with a meaning here are understood, all others are text."""

import re
from html import unescape

from markdown_it.rules_inline.state_inline import StateInline

from nanobot.channels.text.document import Kind

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


def inline(state: StateInline, silent: bool) -> bool:
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
    """What stands in `<code>`, `<sub>` and the like, up to their end, is no Markdown."""
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
