"""Who else is at work in a git directory."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nanobot.errors import VersionError

log = logging.getLogger(__name__)

_OLD = 60.0
_OLD_UNSEEN = 3600.0
"""Seconds after which a lock that nobody holds is left over; the longer where it cannot be seen who runs."""

_PROCESSES = Path("/proc")
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")


def check(git_dir: Path, root: Path) -> None:
    """Clear away locks that a dead process left. Raises VersionError `busy` if one is in use, or a merge is open."""
    for lock in list(_locks(git_dir)):
        _clear(lock, root)
    for name in _UNFINISHED:
        if os.path.lexists(git_dir / name):
            raise VersionError("busy", f"a git operation is not finished ({name} in {git_dir}): finish or abort it")


def _locks(git_dir: Path) -> Iterator[Path]:
    yield from git_dir.glob("*.lock")
    yield from (git_dir / "refs").rglob("*.lock")


def _clear(lock: Path, root: Path) -> None:
    with suppress(FileNotFoundError):
        age = time.time() - lock.stat(follow_symlinks=False).st_mtime
        if age < (_OLD if _PROCESSES.is_dir() else _OLD_UNSEEN) or _git_runs_in(root):
            raise VersionError("busy", f"another git is at work: {lock} exists")
        lock.unlink()
        log.warning("%s was left over by a git that is gone; it was removed", lock)


def _git_runs_in(root: Path) -> bool:
    """Whether a git has its working directory in here. One that cannot be looked at is somebody else's."""
    here = root.resolve()
    for process in _PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            if (process / "comm").read_text(errors="replace").startswith("git"):
                there = (process / "cwd").readlink()
                if there.is_relative_to(here):
                    return True
    return False
