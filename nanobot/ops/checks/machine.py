"""Checks of the machine: Python, the terminal, the disk."""

import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from nanobot.ops.doctor import Finding, ok, problem, warning

_OLDEST_PYTHON = (3, 11)
_MUCH = 10 << 30
_LITTLE = 500 << 20
_TOO_LITTLE = 50 << 20


def python() -> Iterator[Finding]:
    """Whether this Python is new enough."""
    version = platform.python_version()
    yield (
        ok("doctor.python_ok", version=version)
        if sys.version_info >= _OLDEST_PYTHON
        else problem("doctor.python_old", version=version, oldest=".".join(map(str, _OLDEST_PYTHON)))
    )


def terminal(encoding: str | None) -> Iterator[Finding]:
    """Whether a terminal with this encoding shows every character."""
    name = encoding or "ascii"
    try:
        "中文 🙂".encode(name)
    except (UnicodeEncodeError, LookupError):
        yield warning("doctor.terminal_poor", encoding=name)
    else:
        yield ok("doctor.terminal_ok", encoding=name)


def disk(path: Path) -> Iterator[Finding]:
    """Whether there is room where this path is, or will be."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    values = {"path": there, "free": f"{free >> 30:,} GB" if free >= _MUCH else f"{free >> 20:,} MB"}
    if free < _TOO_LITTLE:
        yield problem("doctor.disk_full", **values)
    elif free < _LITTLE:
        yield warning("doctor.disk_low", **values)
    else:
        yield ok("doctor.disk_ok", **values)
