"""What of a damaged history can be put right, because it is derived; and whether the rest is damaged."""

import hashlib
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from nanobot.errors import VersionError
from nanobot.store.private import write_private
from nanobot.store.repo.git import Repository

log = logging.getLogger(__name__)

_MAIN = "refs/heads/main"
_HEAD = re.compile(rb"(ref: refs/\S+|[0-9a-f]{40})\s*")
_ID = re.compile(rb"[0-9a-f]{40}")
_INDEX = b"DIRC"
_SUM = 20
"""Bytes of the checksum at the end of git's list of files; zeros where its person wants none."""


def mend(repo: Repository, settings: str, furnish: Callable[[], None]) -> None:
    """Put right which branch is worked on, where it leads to, the settings, and git's list of files.

    `settings` are those that we write, `furnish` writes them; what stood there is kept beside them. Raises StoreError
    and VersionError.
    """
    git_dir = repo.git_dir
    if not _HEAD.fullmatch(_read(git_dir / "HEAD")) and _has_main(git_dir):
        write_private(git_dir / "HEAD", f"ref: {_MAIN}\n")
        _tell(git_dir / "HEAD")
    main = git_dir / _MAIN
    if main.exists() and not _ID.fullmatch(_read(main).strip()) and (last := _last_known(git_dir)):
        write_private(main, last + b"\n")
        _tell(main)
    if (given := _read(git_dir / "config")) != settings.encode() and not _is_understood(repo, given):
        if given.strip():
            write_private(git_dir / "config.damaged", given)
        furnish()
        _tell(git_dir / "config")
    index = git_dir / "index"
    if index.exists() and not _is_whole(_read(index)):
        with suppress(OSError):  # made anew by the next version, and needed by none
            index.unlink()
            _tell(index)


def is_damaged(repo: Repository) -> bool:
    """Whether what cannot be made anew is damaged. Takes a while: every object is looked at."""
    try:
        return repo.ask("fsck", "--no-dangling", "--no-progress", "--no-reflogs", fine=(0,))[0] != 0
    except VersionError:
        return True


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _has_main(git_dir: Path) -> bool:
    return (git_dir / _MAIN).exists() or f" {_MAIN}\n".encode() in _read(git_dir / "packed-refs")


def _last_known(git_dir: Path) -> bytes:
    """Where the branch led to, as git has logged it; b"" if it has not."""
    fields = _read(git_dir / "logs" / _MAIN).rstrip().rpartition(b"\n")[2].split(b" ", 2)
    return fields[1] if len(fields) > 1 and _ID.fullmatch(fields[1]) else b""


def _is_understood(repo: Repository, settings: bytes) -> bool:
    """Whether they are still ours, and git can read them."""
    if b"[nanobot]" not in settings:
        return False
    folders = all((repo.git_dir / name).is_dir() for name in ("objects", "refs"))
    return not folders or repo.ask("rev-parse", "--git-dir", fine=(0, 128))[0] == 0


def _is_whole(index: bytes) -> bool:
    content, given = index[:-_SUM], index[-_SUM:]
    checksum = hashlib.sha1(content, usedforsecurity=False).digest()
    return index.startswith(_INDEX) and given in (checksum, bytes(_SUM))


def _tell(path: Path) -> None:
    log.warning("%s was damaged; it was made anew", path)
