"""Checks of memory: how it is kept, its health line by line, and that nobody sees another's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nanobot.ops.doctor import Finding, ok, problem, warning
from nanobot.ports import DreamRecord

Kept = Literal["ok", "none", "new", "broken"]
"""How the history of memory is: read without fault, no git, not begun, or not to be read."""

MOST = 10
"""Lines that are listed of each kind."""


@dataclass(frozen=True, slots=True)
class Row:
    """Something to look at: what, where (`path:line`), and the words a person needs to find it."""

    kind: str
    place: str
    values: Mapping[str, object]


def history(kept: Kept, detail: str, path: Path) -> Iterator[Finding]:
    """Whether changes can be traced and taken back; `detail` is what git said, `path` where it keeps them."""
    match kept:
        case "ok" | "new":
            yield ok(f"doctor.history_{kept}")
        case "none":
            yield warning("doctor.history_none")
        case "broken":
            yield problem("doctor.history_broken", error=detail, path=path)


def upkeep(bad_lines: int, episodes: Path, dream: DreamRecord, *, is_forgetting: bool) -> Iterator[Finding]:
    """Work on memory that is behind, or was given up; `bad_lines` of the file of episodes cannot be read."""
    if bad_lines:
        yield warning("doctor.episodes_bad", count=bad_lines, path=episodes)
    if dream.failures:
        yield warning("doctor.dream_failed", count=dream.failures)
    if dream.set_aside:
        older = "…, " if len(dream.set_aside) > MOST else ""
        numbers = older + ", ".join(map(str, dream.set_aside[-MOST:]))
        yield warning("doctor.dream_set_aside", count=len(dream.set_aside), numbers=numbers)
    if is_forgetting:
        yield warning("doctor.forgetting")


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
            yield warning("doctor_memory.more", count=len(found) - MOST)


def privacy(leaks: Sequence[Row], scopes: int) -> Iterator[Finding]:
    """Whether what one remembers is seen by another."""
    for leak in leaks[:MOST]:
        yield problem(f"doctor_memory.{leak.kind}", place=leak.place, **leak.values)
    if len(leaks) > MOST:
        yield problem("doctor_memory.more_leaks", count=len(leaks) - MOST)
    if not leaks:
        yield ok("doctor_memory.private", count=scopes)
