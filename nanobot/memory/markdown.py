"""Markdown as far as memory must understand it: fenced code, comments, headings."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_CODE_OR_COMMENT = re.compile(r"`+|<!--")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#*)?[ \t]*$")
_END = "-->"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading's depth, from 1, and its words."""

    level: int
    title: str


def without_comments(text: str) -> str:
    """The text as a model is to read it: what stands in <!-- --> is for the human who edits the file.

    Code, fenced or in backticks, stays as it is, and so does a comment that is never closed.
    """
    if "<!--" not in text:
        return text
    lines = text.split("\n")
    shown: list[str] = []
    behind_comment = False
    for line, (rest, _) in zip(lines, _scan(lines), strict=True):
        is_blank = not rest.strip()
        is_comment = is_blank and rest != line
        doubled = behind_comment and is_blank and not (shown and shown[-1].strip())  # blank lines around a comment
        if not is_comment and not doubled:
            shown.append(rest)
        behind_comment = is_blank and (behind_comment or is_comment)
    return "\n".join(shown)


def headings(lines: Sequence[str]) -> list[Heading | None]:
    """The heading that each line is, or None; what stands in code or in a comment is none."""
    matches = (None if is_code else _HEADING.match(rest.rstrip("\r")) for rest, is_code in _scan(lines))
    return [Heading(len(match[1]), (match[2] or "").strip()) if match else None for match in matches]


def statements(lines: Sequence[str]) -> list[str]:
    """What each line says by itself: "" for blank lines, headings, code, and what stands in a comment."""
    return ["" if is_code or _HEADING.match(rest) else rest.strip() for rest, is_code in _scan(lines)]


def _scan(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """What is left of each line without comments, and whether it belongs to fenced code, which is left as it is."""
    closers = _closers(lines)
    last_end = max((number for number, line in enumerate(lines) if _END in line), default=-1)
    fence, in_comment = "", False
    for number, line in enumerate(lines):
        if fence:
            fence = "" if _closes(line, fence) else fence
            yield line, True
        elif not in_comment and (opener := _opener(line)) and closers[number].get(opener[0], 0) >= len(opener):
            fence = opener
            yield line, True
        else:
            rest, in_comment = _strip(line, inside=in_comment, ends_later=number < last_end)
            yield rest, False


def _opener(line: str) -> str:
    match = _FENCE.match(line)
    return match[1] if match else ""


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and set(mark) == {fence[0]}


def _closers(lines: Sequence[str]) -> list[dict[str, int]]:
    """For each line, the longest fence of each kind that stands alone below it: an opener without one opens nothing."""
    longest: dict[str, int] = {}
    below: list[dict[str, int]] = []
    for line in reversed(lines):
        below.append(longest)
        mark = line.strip()
        if len(mark) >= 3 and mark in ("`" * len(mark), "~" * len(mark)):
            longest = {**longest, mark[0]: max(longest.get(mark[0], 0), len(mark))}
    return below[::-1]


def _strip(line: str, *, inside: bool, ends_later: bool) -> tuple[str, bool]:
    """The line without comments, and whether one goes on behind its end."""
    kept: list[str] = []
    position = 0
    while True:
        if inside:
            end = line.find(_END, position)
            if end < 0:
                return "".join(kept), True
            position = end + len(_END)
        start = _comment(line, position)
        if start < 0 or (not ends_later and _END not in line[start:]):
            return "".join([*kept, line[position:]]), False
        kept.append(line[position:start])
        position, inside = start + 4, True


def _comment(line: str, position: int) -> int:
    """Where the next comment begins that does not stand in backticks; -1 if none does."""
    while match := _CODE_OR_COMMENT.search(line, position):
        if match[0] == "<!--":
            return match.start()
        closing = re.compile(rf"(?<!`){match[0]}(?!`)").search(line, match.end())
        position = closing.end() if closing else match.end()
    return -1
