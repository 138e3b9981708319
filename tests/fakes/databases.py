"""Databases, which whoever holds locks on them may open through SQLite only."""

import inspect
import os
import sys
from pathlib import Path

import nanobot

_PROGRAM = str(Path(nanobot.__file__).parent)
_TESTS = str(Path(__file__).parent.parent)
_NAMES = (".db", ".db-wal", ".db-shm")


def nobody_opens_them() -> None:
    """From now on the program fails where it opens one by its path, unless to make it: by closing it again, a process
    loses the locks that SQLite has on it.
    """
    sys.addaudithook(_audit)


def locked(pid: int, folder: Path) -> set[str]:
    """The names of the databases in a folder on which a process holds locks; none where that cannot be seen."""
    if not (locks := Path("/proc/locks")).exists():
        return set()
    names = {path.stat().st_ino: path.name for path in folder.rglob("*.db*")}
    rows = (row.split() for row in locks.read_text().splitlines() if "->" not in row)
    held = ((int(row[4]), int(row[5].rpartition(":")[2])) for row in rows)
    return {names[inode] for holder, inode in held if holder == pid and inode in names}


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open":
        return
    path, _, flags = arguments
    is_made = isinstance(flags, int) and flags & os.O_EXCL
    if isinstance(path, str) and path.endswith(_NAMES) and not is_made and _is_by_program():
        raise AssertionError(f"{path} was opened by its path: see nanobot/forgetting/stores/files.py")


def _is_by_program() -> bool:
    """Whether the program opens it, rather than a test."""
    frame = inspect.currentframe()
    while frame and (
        frame.f_code.co_filename == __file__ or not frame.f_code.co_filename.startswith((_PROGRAM, _TESTS))
    ):
        frame = frame.f_back
    return bool(frame and frame.f_code.co_filename.startswith(_PROGRAM))
