"""Checks of what lies on the disk: the workspace, and who may read it."""

import fcntl
import os
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from nanobot.errors import NO_ROOM
from nanobot.ops.doctor import Finding, ok, problem, warning
from nanobot.workspace import Workspace, set_mode

_OTHERS = 0o077

GARBLED = "line "
"""How the reason begins for which a file is a text, but not all of it can be read."""

Look = Callable[[Path], str]
"""Reads a file as the bot does, and returns why that does not work; "" if it does."""


def workspace(root: Path, template: Path, look: Look = lambda _: "") -> Iterator[Finding]:
    """Whether the workspace is there, can be used, and has the files that shape the bot; all of it is tried.

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
    tried = list(_tried(root))
    yield from tried or [ok("doctor.workspace_ok", path=root)]
    for path in (space.soul, space.user, space.agents, space.tools, space.memory_file):
        name = path.relative_to(root)
        fetch = shlex.join(["install", "-m", "600", str(template / name), str(path)])
        if not path.exists():
            yield warning("doctor.workspace_file", file=name, fetch=fetch)
        elif reason := look(path):
            garbled = reason.startswith(GARBLED)
            says = warning("doctor.file_garbled", path=path, problem=reason) if garbled else None
            yield says or problem("doctor.file_unusable", path=path, problem=reason, fetch=fetch)


def _tried(root: Path) -> Iterator[Finding]:
    """What a process that writes there would meet: a file is written, locked and given a mode, and removed."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=".nanobot-doctor-", dir=root)
    except OSError as error:
        yield _unwritable(root, error)
        return
    try:
        os.write(descriptor, b"doctor")
        os.fsync(descriptor)
        if not (set_mode(descriptor, 0o700) and set_mode(descriptor, 0o600)):
            yield warning("doctor.workspace_no_modes", path=root)
    except OSError as error:
        yield _unwritable(root, error)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        yield problem("doctor.workspace_no_locks", path=root, error=error.strerror or error)
    finally:
        os.close(descriptor)
        Path(name).unlink(missing_ok=True)


def _unwritable(root: Path, error: OSError) -> Finding:
    sentence = "doctor.workspace_full" if error.errno in NO_ROOM else "doctor.workspace_unwritable"
    return problem(sentence, path=root, error=error.strerror or error)


def skills(broken: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """The skills whose description is lost: their file, and why."""
    for file, reason in broken:
        yield warning("doctor.skill_unusable", file=file, problem=reason)


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
    if seen and root.is_dir() and not _keeps_modes(root):
        return warning("doctor.privacy_no_modes", path=root)
    return warning("doctor.privacy_open", count=len(seen), path=seen[0], root=root) if seen else None


def _keeps_modes(folder: Path) -> bool:
    """Whether permissions can be set there, which is tried; where nothing can be written that is not known."""
    with suppress(OSError), tempfile.NamedTemporaryFile(prefix=".nanobot-doctor-", dir=folder) as file:
        is_set = set_mode(file.fileno(), 0o700) and set_mode(file.fileno(), 0o600)
        return is_set and not os.fstat(file.fileno()).st_mode & _OTHERS
    return True


def _everything(root: Path) -> Iterator[Path]:
    yield root
    for folder, folders, files in os.walk(root):
        yield from (Path(folder, name) for name in [*folders, *files])
