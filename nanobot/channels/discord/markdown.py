"""Markdown -> messages for Discord, in the Markdown that Discord understands."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from nanobot.channels.markdown.layout import Dialect, laid_out
from nanobot.channels.markdown.parser import Mark, MarkedText
from nanobot.channels.markdown.writer import cut

TEXT_LIMIT: Final = 2000
_LONGEST_LINK = 400  # a link that is cut is repeated in both parts
_HEADINGS = 3  # deeper ones are shown as bold

_AROUND = {"bold": "**", "italic": "*", "underline": "__", "strike": "~~", "spoiler": "||"}
_RAW = ("code", "pre", "math", "marker", "rule")
_INVISIBLE = "\u200b"  # parts what Discord would read as one


def discord_parts(markdown: str, limit: int = TEXT_LIMIT, *, growing: bool = False) -> Sequence[str]:
    """The messages that show a text, none longer than `limit` (at least 500); none if it is blank.

    Length is counted in UTF-16 units, which is never less than what Discord counts. `growing`: more of the text
    will follow, so that what is half open at its end is shown as if it were closed.
    """
    document = laid_out(markdown, _DIALECT, growing=growing)
    return cut(document, limit, _markdown, partial(_excess, limit))


def _clickable(url: str, label: str) -> bool:
    """Discord shows no link whose label looks like one."""
    return url.startswith(("http://", "https://")) and len(url) <= _LONGEST_LINK and "://" not in label


_DIALECT = Dialect(bullets=("-",), done="- ☑", open="- ☐", indent=None, clickable=_clickable)


def _excess(limit: int, message: str) -> int:
    return len(message.encode("utf-16-le")) // 2 - limit


def _markdown(piece: MarkedText) -> str:
    marks = [mark for mark in piece.marks if mark.kind != "keep"]
    return _written(piece.text, 0, len(piece.text), marks)


def _written(text: str, start: int, end: int, marks: list[Mark]) -> str:
    """`text[start:end]` with the marks that lie in it. Takes them from the list."""
    out = ""
    while marks and marks[0].start < end:
        mark = marks.pop(0)
        out = _joined(out, _escaped(text, start, mark.start))
        if mark.kind in _RAW:
            while marks and marks[0].start < mark.end:
                marks.pop(0)
            content = text[mark.start : mark.end]
        else:
            content = _written(text, mark.start, mark.end, marks)
        out = _joined(out, _wrapped(mark, content))
        start = mark.end
    return _joined(out, _escaped(text, start, end))


def _joined(left: str, right: str) -> str:
    if left and right and left[-1] == right[0] and right[0] in "*_~|`" and not left.endswith("\\" + left[-1]):
        return left + _INVISIBLE + right
    return left + right


def _wrapped(mark: Mark, content: str) -> str:
    match mark.kind:
        case "code":
            return _code(content)
        case "math":
            return _formula(content)
        case "pre":
            return f"```{mark.value}\n{_without_fence(content)}\n```"
        case "heading":
            level = int(mark.value)
            return f"{'#' * level} {content}" if level <= _HEADINGS else f"**{content}**"
        case "quote":
            return "> " + content.replace("\n", "\n> ")
        case "link":
            return f"[{content}]({_URL_SPECIAL.sub(lambda found: _PERCENT[found[0]], mark.value)})"
        case _:
            around = _AROUND.get(mark.kind, "")
            return f"{around}{content}{around}"


_PERCENT = {"(": "%28", ")": "%29", " ": "%20", "<": "%3C", ">": "%3E", "\n": "%0A"}
_URL_SPECIAL = re.compile(r"[() <>\n]")


def _without_fence(content: str) -> str:
    """Discord would end the code at three backticks, wherever they stand."""
    return content.replace("```", _INVISIBLE.join("```"))


def _code(content: str) -> str:
    content = _without_fence(content)
    longest = max((len(run) for run in re.findall("`+", content)), default=0)
    if not longest:
        return f"`{content}`"
    fence = "`" * (1 if longest > 1 else 2)
    return f"{fence} {content} {fence}"


def _formula(content: str) -> str:
    """As it is, and as code if Discord would read something into it."""
    escaped = _escaped(content, 0, len(content))
    if escaped == content or "`" in content:
        return escaped
    return f"```tex\n{content}\n```" if "\n" in content else f"`{content}`"


_SPECIAL = re.compile(r"https?://[^\s<>`|\"]+|[_*~|`\\]|^ *(?:#{1,3}|-#|>{1,3}|[-+])(?=\s)", re.MULTILINE)
_WORD = re.compile(r"[0-9A-Za-z]")


def _escaped(text: str, start: int, end: int) -> str:
    """`text[start:end]` so that Discord shows it as it is: with as few backslashes as will do."""
    pieces: list[str] = []
    position = start
    for found in _SPECIAL.finditer(text, start, end):
        if _needs_escape(text, found, end):
            cut = found.end() - len(found[0].lstrip())
            pieces += (text[position:cut], "\\")
            position = cut
    pieces.append(text[position:end])
    return "".join(pieces)


def _needs_escape(text: str, found: re.Match[str], end: int) -> bool:
    before = text[found.start() - 1 : found.start()] if found.start() else ""
    after = text[found.end() : min(found.end() + 1, end)]
    match found[0]:
        case "_":
            return not (_WORD.match(before) and _WORD.match(after))
        case "*":
            return not (before.isspace() and after.isspace()) or before == "\n"
        case "~" | "|":
            return found[0] in (before, after)
        case "\\":
            return not (_WORD.match(after) or after.isspace())
        case special:
            return not special.startswith("http")
