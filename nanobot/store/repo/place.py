"""Where the history lies, and what a git directory of ours looks like."""

import logging
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from nanobot.errors import VersionError
from nanobot.store.private import private_folder, sync_folder, write_private
from nanobot.workspace import VERSIONED_FILES, VERSIONED_FOLDERS, Workspace

log = logging.getLogger(__name__)

_MARKS = {"config": "[nanobot]", "info/attributes": "filter=nanobot", "logs/HEAD": "<nanobot@nanobot.invalid>"}
"""By which we know what is ours, each by itself: one file may be damaged."""

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


def make(git_dir: Path, workspace: Workspace, filters: Mapping[str, str]) -> None:
    """Make an empty history: ready beforehand and put in its place in one step. Raises VersionError."""
    new = workspace.versions_aside.with_name(workspace.versions_aside.name + _NEW)
    try:
        private_folder(new.parent)
        shutil.rmtree(new, ignore_errors=True)
        _initialise(new)
        furnish(new, settings(git_dir, workspace, filters), filters)
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
    """Whether a folder is in somebody's repository, or is one."""
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


def settings(git_dir: Path, workspace: Workspace, filters: Mapping[str, str]) -> str:
    """What makes `git status` and `git diff` show a person what they changed, and nothing else."""
    sections = [_CONFIG.format(work_tree=_quoted(os.path.relpath(workspace.root, git_dir)))]
    for number, command in enumerate(filters.values()):
        sections.append(f'[filter "nanobot{number}"]\n\tclean = {_quoted(command)}\n')
    return "".join(sections)


def furnish(git_dir: Path, config: str, filters: Mapping[str, str]) -> None:
    """Write these settings, and all that belongs to them. Raises StoreError."""
    attributes = ["* -text", *(f"{pattern} filter=nanobot{number}" for number, pattern in enumerate(filters))]
    write_private(git_dir / "config", config)
    write_private(git_dir / "info" / "attributes", "\n".join(attributes) + "\n")
    write_private(git_dir / "info" / "exclude", "\n".join(_EXCLUDE) + "\n")


def _ignore(git_dir: Path) -> None:
    """An outer repository passes over a folder that says so itself; nothing is changed in the outer one."""
    write_private(git_dir / ".gitignore", "*\n")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def _initialise(folder: Path) -> None:
    from nanobot.store.repo.git import initialise  # where no git is installed, its import fails

    initialise(folder)
