"""Checks of memory: its health line by line, and that nobody sees another's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nanobot.ops.doctor import Finding, ok, problem, warning

MOST = 10
"""Lines that are listed of each kind."""


@dataclass(frozen=True, slots=True)
class Row:
    """Something to look at: what, where (`path:line`), and the words a person needs to find it."""

    kind: str
    place: str
    values: Mapping[str, object]


def health(rows: Iterable[Row], lines: int) -> Iterator[Finding]:
    """What stands in memory and should not, or not like that; `lines` were looked at."""
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row.kind, []).append(row)
    if not by_kind:
        yield ok("doctor_memory.healthy", count=lines)
    for kind, found in by_kind.items():
        for row in found[:MOST]:
            says = problem if kind == "secret" else warning
            yield says(f"doctor_memory.{kind}", place=row.place, **row.values)
        if len(found) > MOST:
            yield warning("doctor_memory.more", kind=kind, count=len(found) - MOST)


def privacy(leaks: Sequence[Row], scopes: int) -> Iterator[Finding]:
    """Whether what one remembers is seen by another."""
    for leak in leaks[:MOST]:
        yield problem(f"doctor_memory.{leak.kind}", place=leak.place, **leak.values)
    if not leaks:
        yield ok("doctor_memory.private", count=scopes)
