"""Replacing exact text, and saying why it did not match."""

import re
from collections.abc import Callable
from difflib import get_close_matches

from nanobot.errors import ToolError
from nanobot.tools.shown import one_line

_COMPARED = 5_000  # lines looked at for a near miss; comparing is slow


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
    found = [match.span() for match in re.finditer("\r?\n".join(map(re.escape, old.split("\n"))), content)]
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
    have, want = [alike(line) for line in lines], [alike(line) for line in wanted]
    if not any(want):
        return None
    for number in range(len(have) - len(want) + 1):
        if have[number : number + len(want)] == want:
            pairs = zip(lines[number:], wanted, strict=False)
            offset, (line, asked) = next(
                ((offset, pair) for offset, pair in enumerate(pairs) if pair[0] != pair[1]),
                (0, (lines[number], wanted[0])),
            )
            return (
                f"old_text is not there, but line {number + offset + 1} differs from it only in {what}: "
                f"the file has {line[:200]!r}, old_text has {asked[:200]!r}."
            )
    return None


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
    near = get_close_matches(key[:500], [line[:500] for line in some[:_COMPARED]], n=1)
    if not near:
        return "old_text is not there, nor anything like it. Read the file again."
    number = next(number for number, line in enumerate(lines, 1) if line[:500] == near[0])
    return f"old_text is not there. Nearest is line {number}: {near[0][:200]!r}. Read it again and copy it exactly."
