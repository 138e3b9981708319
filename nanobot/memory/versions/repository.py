"""The git directory of the history: its place, its look, and what of a damaged one can be mended."""

import hashlib
import logging
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from nanobot.errors import VersionError
from nanobot.memory.versions.git import Repository, initialise
from nanobot.memory.versions.worktree import CLEAN
from nanobot.memory_files import MEMORY
from nanobot.store.private import private_folder, sync_folder, write_private
from nanobot.workspace import VERSIONED_FILES, VERSIONED_FOLDERS, Workspace

# Place and layout of the git directory.


log = logging.getLogger(__name__)

_MARKS = {"config": "[nanobot]", "info/attributes": "filter=nanobot", "logs/HEAD": "<nanobot@nanobot.invalid>"}
"""By which we know what is ours, each by itself: one file may be damaged."""

_FILTER = "nanobot0"
_NEW = ".new"
_CONFIG = """\
# Kept by nanobot. You may read this history with git; nanobot itself takes no settings from here.
[nanobot]
	layout = 1
[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
	sharedRepository = 0600
	worktree = {work_tree}
"""
_EXCLUDE = ["/*", *(f"!/{name}" for name in VERSIONED_FILES), *(f"!/{name}/" for name in VERSIONED_FOLDERS)]
_EXCLUDE += ["!/memory/", "/memory/*", "!/memory/*.md", "!/memory/tombstones/", ".*", "__pycache__/"]


def find(workspace: Workspace) -> Path:
    """The git directory that is ours, or where it is to be: in memory/, but not within somebody's repository.

    One that somebody's repository has come to enclose is moved aside first: it would be swallowed by an
    `git add` in there. Raises VersionError.
    """
    inside, aside = workspace.versions, workspace.versions_aside
    if aside.is_dir():
        return aside
    taken = os.path.lexists(inside) and not _is_ours(inside)
    if not taken and not workspace.memory.is_symlink() and not _is_enclosed(workspace.root):
        return inside
    if not taken and inside.is_dir() and not workspace.memory.is_symlink():
        _move_aside(inside, aside, workspace.root)
    return aside


def make(git_dir: Path, workspace: Workspace) -> None:
    """Make an empty history: ready beforehand and put in its place in one step. Raises VersionError."""
    new = workspace.versions_aside.with_name(workspace.versions_aside.name + _NEW)
    try:
        private_folder(new.parent)
        shutil.rmtree(new, ignore_errors=True)
        initialise(new)
        furnish(new, settings(git_dir, workspace))
        if git_dir == workspace.versions_aside:
            _ignore(new)
        private_folder(git_dir.parent)
        new.rename(git_dir)
        sync_folder(git_dir.parent)
    except OSError as error:
        raise VersionError("failed", f"{git_dir} cannot be made: {error.strerror or error}") from error
    log.info("the history of memory begins in %s", git_dir)


def _is_ours(git_dir: Path) -> bool:
    return any(mark in _text(git_dir / name) for name, mark in _MARKS.items())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _is_enclosed(root: Path) -> bool:
    """True if a folder is in somebody's repository, or is one."""
    here = root.resolve()
    return any(os.path.lexists(folder / ".git") for folder in (here, *here.parents))


def _move_aside(inside: Path, aside: Path, root: Path) -> None:
    try:
        private_folder(aside.parent)
        config = inside / "config"
        text = config.read_text(encoding="utf-8", errors="surrogateescape")
        there = f"worktree = {os.path.relpath(root, aside)}"
        text = re.sub(r"(?m)(?<=^\t)worktree = .*$", lambda _: there, text, count=1)
        write_private(config, text.encode("utf-8", "surrogateescape"))
        _ignore(inside)
        inside.rename(aside)
    except OSError as error:
        raise VersionError("failed", f"{inside} cannot be moved: {error.strerror or error}") from error
    log.warning("%s lies in another repository now; the history of memory was moved to %s", inside, aside)


def settings(git_dir: Path, workspace: Workspace) -> str:
    """Return the git settings with which `git status` and `git diff` show people their changes, and nothing else."""
    config = _CONFIG.format(work_tree=_quoted(os.path.relpath(workspace.root, git_dir)))
    return f'{config}[filter "{_FILTER}"]\n\tclean = {_quoted(CLEAN)}\n'


def furnish(git_dir: Path, config: str) -> None:
    """Write these settings, and all that belongs to them. Raises StoreError."""
    write_private(git_dir / "config", config)
    write_private(git_dir / "info" / "attributes", f"* -text\n{MEMORY} filter={_FILTER}\n")
    write_private(git_dir / "info" / "exclude", "\n".join(_EXCLUDE) + "\n")


def _ignore(git_dir: Path) -> None:
    """An outer repository passes over a folder that says so itself; nothing is changed in the outer one."""
    write_private(git_dir / ".gitignore", "*\n")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


# Repair of what is derived in a damaged history.


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
    """True if what cannot be made anew is damaged. Takes a while: every object is looked at."""
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
    """Return the last commit of the branch in git's log; b"" if there is none."""
    fields = _read(git_dir / "logs" / _MAIN).rstrip().rpartition(b"\n")[2].split(b" ", 2)
    return fields[1] if len(fields) > 1 and _ID.fullmatch(fields[1]) else b""


def _is_understood(repo: Repository, settings: bytes) -> bool:
    """True if they are still ours, and git can read them."""
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
