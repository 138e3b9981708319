"""Replacing exact text, and saying why it did not match."""

import re
from bisect import bisect_left
from collections.abc import Callable
from difflib import get_close_matches
from heapq import nlargest
from itertools import pairwise

from nanobot.errors import ToolError
from nanobot.tools.shown import one_line

_COMPARED = 5_000  # lines looked at for a near miss
_JUDGED = 20  # of them that are compared letter by letter, which is slow


def replace(content: str, old: str, new: str, *, everywhere: bool, newline: str) -> tuple[str, list[int]]:
    """The content with `new` for `old`, and the lines where it stood.

    Both kinds of line ends match each other; those of `new` become `newline`.
    Raises ToolError with the reason if `old` is not there, or there more than once and not meant everywhere.
    """
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise ToolError("old_text is empty. Give the text to replace; write_file makes new files.")
    if old == new:
        raise ToolError("old_text and new_text are the same, there is nothing to change.")
    found = _places(content, old)
    if not found:
        raise ToolError(_why_not(content, old))
    lines = [content.count("\n", 0, start) + 1 for start, _ in found[:20]]
    if len(found) > 1 and not everywhere:
        places = ", ".join(map(str, lines)) + (", …" if len(found) > len(lines) else "")
        raise ToolError(
            f"old_text stands there {len(found)} times (lines {places}). "
            "Add lines around it until it is the only one, or set everywhere to true."
        )
    pieces, end = [], 0
    for start, stop in found:
        pieces += [content[end:start], new.replace("\n", newline)]
        end = stop
    return "".join([*pieces, content[end:]]), lines


def _places(content: str, old: str) -> list[tuple[int, int]]:
    """Where a text stands, by either kind of line end; in linear time, whatever the text."""
    plain = content.replace("\r\n", "\n")
    shorter = [match.start() - number for number, match in enumerate(re.finditer("\r\n", content))]  # in `plain`
    found, at = [], plain.find(old)
    while at >= 0:
        end = at + len(old)
        found.append((at + bisect_left(shorter, at), end + bisect_left(shorter, end)))
        at = plain.find(old, end)
    return found


def _why_not(content: str, old: str) -> str:
    lines = content.replace("\r\n", "\n").split("\n")
    wanted = old.strip("\n").split("\n")
    return (
        _differs_in(lines, wanted, "white space", lambda line: "".join(line.split()))
        or _differs_in(lines, wanted, "capital letters", str.casefold)
        or _nearest(lines, wanted)
    )


def _differs_in(lines: list[str], wanted: list[str], what: str, alike: Callable[[str], str]) -> str | None:
    """A sentence if the text is there but for one kind of difference."""
    have, want = ("\n".join(["", *map(alike, some), ""]) for some in (lines, wanted))
    at = have.find(want) if want.strip() else -1
    if at < 0:
        return None
    number = have.count("\n", 0, at)
    pairs = zip(lines[number:], wanted, strict=False)
    offset, (line, asked) = next(
        ((offset, pair) for offset, pair in enumerate(pairs) if pair[0] != pair[1]),
        (0, (lines[number], wanted[0])),
    )
    return (
        f"old_text is not there, but line {number + offset + 1} differs from it only in {what}: "
        f"the file has {line[:200]!r}, old_text has {asked[:200]!r}."
    )


def _nearest(lines: list[str], wanted: list[str]) -> str:
    """What comes closest to the most telling line of the text."""
    key = max(wanted, key=lambda line: len(line.strip()))
    if key in lines:
        return (
            f"old_text is not there. Line {lines.index(key) + 1} of the file, {one_line(key)!r}, is as in old_text, "
            "but the lines around it are not. Read them again."
        )
    words = set(re.findall(r"\w+", key))
    some = lines if len(lines) <= _COMPARED else [line for line in lines if words & set(re.findall(r"\w+", line))]
    pairs = _pairs(key[:500])
    likely = nlargest(_JUDGED, (line[:500] for line in some[:_COMPARED]), key=lambda line: _share(_pairs(line), pairs))
    near = get_close_matches(key[:500], likely, n=1)
    if not near:
        return "old_text is not there, nor anything like it. Read the file again."
    number = next(number for number, line in enumerate(lines, 1) if line[:500] == near[0])
    return f"old_text is not there. Nearest is line {number}: {near[0][:200]!r}. Read it again and copy it exactly."


def _pairs(line: str) -> frozenset[str]:
    """The letters of a line, two by two."""
    return frozenset(map("".join, pairwise(line)))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)
