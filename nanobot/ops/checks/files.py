"""Checks of what lies on the disk: the workspace, and who may read it."""

import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from nanobot.ops.doctor import Finding, ok, problem, warning
from nanobot.workspace import Workspace

_OTHERS = 0o077


def workspace(root: Path, template: Path) -> Iterator[Finding]:
    """Whether the workspace is there, can be written, and has the files that shape the bot.

    What its owner removed never comes back by itself; `template` has fresh ones.
    """
    space = Workspace(root)
    if not root.exists():
        above = next(folder for folder in root.parents if folder.exists())
        may_be_made = above.is_dir() and os.access(above, os.W_OK | os.X_OK)
        yield (
            warning("doctor.workspace_new", path=root)
            if may_be_made
            else problem("doctor.workspace_read_only", path=above)
        )
        return
    if not root.is_dir():
        yield problem("doctor.workspace_no_folder", path=root)
        return
    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        yield problem("doctor.workspace_read_only", path=root)
        return
    yield ok("doctor.workspace_ok", path=root)
    wanted = (space.soul, space.user, space.agents, space.tools, space.memory_file)
    for name in (path.relative_to(root) for path in wanted if not path.exists()):
        fetch = shlex.join(["install", "-m", "600", str(template / name), str(root / name)])
        yield warning("doctor.workspace_file", file=name, fetch=fetch)


def is_open(path: Path) -> bool:
    """Whether others on this machine can read a file: into a folder that is private nobody gets."""
    return bool(path.stat().st_mode & _OTHERS and path.parent.stat().st_mode & _OTHERS)


def privacy(roots: Iterable[Path]) -> Iterator[Finding]:
    """Whether nobody else on this machine can read these folders and files."""
    every = list(dict.fromkeys(roots))
    outermost = [root for root in every if root.exists() and not any(other in root.parents for other in every)]
    findings = [finding for root in outermost if (finding := _open_to_others(root))]
    yield from findings or [ok("doctor.privacy_ok")]


def _open_to_others(root: Path) -> Finding | None:
    if root.is_dir() and not root.stat().st_mode & _OTHERS:
        return None  # nobody gets past it, whatever lies inside
    seen = [path for path in _everything(root) if path.lstat().st_mode & _OTHERS and not path.is_symlink()]
    return warning("doctor.privacy_open", count=len(seen), path=seen[0], root=root) if seen else None


def _everything(root: Path) -> Iterator[Path]:
    yield root
    for folder, folders, files in os.walk(root):
        yield from (Path(folder, name) for name in [*folders, *files])
