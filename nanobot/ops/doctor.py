"""The checks of `nanobot doctor`: disk, machine, sessions, memory; each finding says what to do."""

import fcntl
import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

from nanobot.errors import NO_ROOM, NanobotError
from nanobot.memory_files import FILES
from nanobot.ports import DreamRecord
from nanobot.transcript import SessionInfo
from nanobot.workspace import Workspace, set_mode


class Verdict(StrEnum):
    """Verdict of a finding; a problem keeps the bot from working, a warning does not."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check. `sentence` is a key of the catalogue: the observation and, if not ok, the advice."""

    verdict: Verdict
    sentence: str
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at. `title` is a key of the catalogue; `look` reads, and changes nothing."""

    title: str
    look: Callable[[], Iterable[Finding]]
    values: Mapping[str, object] = field(default_factory=dict)


def ok(sentence: str, **values: object) -> Finding:
    """All is well."""
    return Finding(Verdict.OK, sentence, values)


def warning(sentence: str, **values: object) -> Finding:
    """Return a finding that does not keep the bot from working."""
    return Finding(Verdict.WARNING, sentence, values)


def problem(sentence: str, **values: object) -> Finding:
    """Return a finding that keeps the bot from working."""
    return Finding(Verdict.PROBLEM, sentence, values)


def examine(checks: Iterable[Check]) -> Iterator[tuple[Check, Sequence[Finding]]]:
    """Run the checks one after the other; one that cannot look does not keep the others from it."""
    for check in checks:
        try:
            findings = list(check.look())
        except (OSError, NanobotError) as error:
            findings = [problem("doctor.cannot_look", error=error)]
        yield check, findings


# Workspace on disk.


_OTHERS = 0o077

GARBLED = "line "
"""How the reason begins for which a file is a text, but not all of it can be read."""

Look = Callable[[Path], str]
"""Reads a file as the bot does, and returns why that does not work; "" if it does."""


def workspace(root: Path, template: Path, look: Look = lambda _: "") -> Iterator[Finding]:
    """True if the workspace is there, can be used, and has the files that shape the bot; all of it is tried.

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
    for path in (space.file(file.name) for file in FILES if file.budget):
        name = path.relative_to(root)
        fetch = shlex.join(["install", "-m", "600", str(template / name), str(path)])
        if not path.exists():
            if (template / name).exists():
                yield warning("doctor.workspace_file", file=name, fetch=fetch)
        elif reason := look(path):
            garbled = reason.startswith(GARBLED)
            says = warning("doctor.file_garbled", path=path, problem=reason) if garbled else None
            yield says or problem("doctor.file_unusable", path=path, problem=reason, fetch=fetch)


def _tried(root: Path) -> Iterator[Finding]:
    """Return the error of a trial write: a file is written, locked, given a mode, and removed."""
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
    """True if others on this machine can read a file: into a folder that is private nobody gets."""
    return bool(path.stat().st_mode & _OTHERS and path.parent.stat().st_mode & _OTHERS)


def privacy(roots: Iterable[Path]) -> Iterator[Finding]:
    """True if nobody else on this machine can read these folders and files."""
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
    """True if permissions can be set there, which is tried; where nothing can be written that is not known."""
    with suppress(OSError), tempfile.NamedTemporaryFile(prefix=".nanobot-doctor-", dir=folder) as file:
        is_set = set_mode(file.fileno(), 0o700) and set_mode(file.fileno(), 0o600)
        return is_set and not os.fstat(file.fileno()).st_mode & _OTHERS
    return True


def _everything(root: Path) -> Iterator[Path]:
    yield root
    for folder, folders, files in os.walk(root):
        yield from (Path(folder, name) for name in [*folders, *files])


# Machine: Python, terminal, disk.


_OLDEST_PYTHON = (3, 11)
_MUCH = 10 << 30
_LITTLE = 500 << 20
_TOO_LITTLE = 50 << 20


def python() -> Iterator[Finding]:
    """True if this Python is new enough."""
    version = platform.python_version()
    yield (
        ok("doctor.python_ok", version=version)
        if sys.version_info >= _OLDEST_PYTHON
        else problem("doctor.python_old", version=version, oldest=".".join(map(str, _OLDEST_PYTHON)))
    )


def terminal(encoding: str | None) -> Iterator[Finding]:
    """True if a terminal with this encoding shows every character."""
    name = encoding or "ascii"
    try:
        "中文 🙂".encode(name)
    except (UnicodeEncodeError, LookupError):
        yield warning("doctor.terminal_poor", encoding=name)
    else:
        yield ok("doctor.terminal_ok", encoding=name)


def disk(path: Path) -> Iterator[Finding]:
    """True if there is room where this path is, or will be."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    values = {"path": there, "free": f"{free >> 30:,} GB" if free >= _MUCH else f"{free >> 20:,} MB"}
    if free < _TOO_LITTLE:
        yield problem("doctor.disk_full", **values)
    elif free < _LITTLE:
        yield warning("doctor.disk_low", **values)
    else:
        yield ok("doctor.disk_ok", **values)


# Conversations.


def sessions(folder: Path, rows: Sequence[SessionInfo]) -> Iterator[Finding]:
    """True if every line of every conversation can be read.

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


# Memory.


Kept = Literal["ok", "none", "new", "broken"]
"""How the history of memory is: read without fault, no git, not begun, or not to be read."""

MOST = 10
"""Lines that are listed of each kind."""


@dataclass(frozen=True, slots=True)
class Row:
    """Something to look at: what, where (`path:line`), and the words a person needs to find it."""

    kind: str
    place: str
    values: Mapping[str, object]


def memory_history(kept: Kept, detail: str, path: Path) -> Iterator[Finding]:
    """True if changes can be traced and taken back; `detail` is what git said, `path` where it keeps them."""
    match kept:
        case "ok" | "new":
            yield ok(f"doctor.history_{kept}")
        case "none":
            yield warning("doctor.history_none")
        case "broken":
            yield problem("doctor.history_broken", error=detail, path=path)


def memory_upkeep(bad_lines: int, episodes: Path, dream: DreamRecord, *, is_forgetting: bool) -> Iterator[Finding]:
    """Work on memory that is behind, or was given up; `bad_lines` of the file of episodes cannot be read."""
    if bad_lines:
        yield warning("doctor.episodes_bad", count=bad_lines, path=episodes)
    if dream.failures:
        yield warning("doctor.dream_failed", count=dream.failures)
    if dream.set_aside:
        older = "…, " if len(dream.set_aside) > MOST else ""
        numbers = older + ", ".join(map(str, dream.set_aside[-MOST:]))
        yield warning("doctor.dream_set_aside", count=len(dream.set_aside), numbers=numbers)
    if is_forgetting:
        yield warning("doctor.forgetting")


def memory_proposals(own: Sequence[str], others: Sequence[str]) -> Iterator[Finding]:
    """Changes that wait for a yes: when each was proposed (RFC 3339), in the owners' memory and in that of others."""
    for sentence, times in (("doctor.proposals", own), ("doctor.proposals_others", others)):
        if times:
            yield warning(sentence, count=len(times), at=min(times)[:16].replace("T", " "))


def memory_health(rows: Iterable[Row], lines: int) -> Iterator[Finding]:
    """Return the finding about faulty lines of memory; `lines` were examined."""
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row.kind, []).append(row)
    if not by_kind:
        yield ok("doctor_memory.healthy", count=lines)
    for kind, found in by_kind.items():
        for row in found[:MOST]:
            says = problem if kind == "secret" else warning
            yield says(f"doctor_memory.{kind}", place=row.place, **row.values)
        if len(found) > MOST:
            yield warning("doctor_memory.more", count=len(found) - MOST)


def scope_privacy(leaks: Sequence[Row], scopes: int) -> Iterator[Finding]:
    """True if what one remembers is seen by another."""
    for leak in leaks[:MOST]:
        yield problem(f"doctor_memory.{leak.kind}", place=leak.place, **leak.values)
    if len(leaks) > MOST:
        yield problem("doctor_memory.more_leaks", count=len(leaks) - MOST)
    if not leaks:
        yield ok("doctor_memory.private", count=scopes)
