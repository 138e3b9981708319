"""The check of the conversations: lines that cannot be read, and ends that a crash tore off."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nanobot.ops.doctor import Finding, ok, warning
from nanobot.transcript import SessionInfo


def sessions(folder: Path, rows: Sequence[SessionInfo]) -> Iterator[Finding]:
    """Whether every line of every conversation can be read.

    Args:
        folder: where they are kept.
        rows: what the store says of them.
    """
    damaged = [row for row in rows if row.bad_lines]
    torn = sorted(folder.rglob("*.torn"))
    for row in damaged:
        yield warning("doctor.sessions_bad_lines", key=row.key, count=row.bad_lines, folder=folder)
    if torn:
        yield warning("doctor.sessions_torn", count=len(torn), path=torn[0])
    if not damaged and not torn:
        yield ok("doctor.sessions_ok", count=len(rows))
