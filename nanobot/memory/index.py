"""The index of notes at the end of MEMORY.md."""

import re
from collections.abc import Sequence

MARKER = "<!-- index: kept by nanobot, do not edit below -->"

_BYTE_ORDER_MARK = "\ufeff"
_LINE = re.compile(r"- .*\(`[^`]+`\) · updated \d{4}-\d{2}-\d{2}")


def index_line(kind: str, summary: str, file: str, updated: str) -> str:
    """One note's line; `updated` is a date as 2026-11-02."""
    return f"- {kind}: {summary} (`{file}`) · updated {updated}"


def split(text: str) -> tuple[str, str]:
    """MEMORY.md up to its marker, and the rest; without a marker there is no rest."""
    mark = text[: text.startswith(_BYTE_ORDER_MARK)]
    lines = lines_of(text[len(mark) :])
    start = next((number for number, line in enumerate(lines) if _is_marker(line)), len(lines))
    return mark + "".join(lines[:start]), "".join(lines[start:])


def without_index(text: str) -> str:
    """What people wrote in MEMORY.md: all of it but the marker and the index lines below it.

    What they wrote below the marker, in spite of what it says, comes at the end.
    """
    above, rest = split(text)
    kept = [line for line in lines_of(rest) if not (_is_marker(line) or _LINE.fullmatch(line.rstrip()))]
    below = "".join(kept).lstrip("\r\n").rstrip()
    return f"{above}{below}{newline_of(text)}" if below else above


def with_index(text: str, lines: Sequence[str]) -> str:
    """MEMORY.md with these lines as its index; without any, there is no index. The rest stays as it is."""
    facts, newline = without_index(text), newline_of(text)
    if not lines:
        return facts
    return facts + _gap(facts, newline) + newline.join([MARKER, *lines]) + newline


def newline_of(text: str) -> str:
    """How lines end in a file."""
    return "\r\n" if "\r\n" in text else "\n"


def lines_of(text: str) -> list[str]:
    """The lines with their ends, whatever they are."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _is_marker(line: str) -> bool:
    return line.strip().lstrip(_BYTE_ORDER_MARK) == MARKER  # glued files have such a mark in the middle


def _gap(facts: str, newline: str) -> str:
    """What makes a blank line between the facts and the index."""
    if facts in ("", _BYTE_ORDER_MARK) or facts.endswith(("\n\n", "\n\r\n")):
        return ""
    return newline if facts.endswith("\n") else newline * 2
