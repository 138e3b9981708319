"""Reading the bytes of a file, whoever has it open."""

import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path
from subprocess import PIPE
from typing import IO

_PIECE = 8 << 20  # bytes that are read in one go
_DATABASE = ".db"  # in the names of our databases, of what SQLite puts beside them, and of what was set aside


def pieces(path: Path) -> Generator[bytes, None, None]:
    """Its bytes, a piece at a time. Raises OSError.

    A database is read by another process: when a process closes a file, it loses all its locks on it, those that
    SQLite holds on another descriptor, too, and whoever looks in from outside may then take the log away from under
    it. (Section 2.2 of SQLite's "How To Corrupt An SQLite Database File".)
    """
    if _DATABASE in path.name:
        yield from _from_outside(path)
    else:
        with path.open("rb") as file:
            yield from _each(file)


def _from_outside(path: Path) -> Iterator[bytes]:
    """What `cat` reads; it ends by itself when nobody listens any more."""
    problem = ""
    with subprocess.Popen(["cat", "--", str(path)], stdout=PIPE, stderr=PIPE) as process:  # noqa: S603, S607 - of the system
        if process.stdout and process.stderr:
            yield from _each(process.stdout)
            problem = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise OSError(process.returncode, problem, str(path))


def _each(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece
