"""The files of the history as they lie on disk."""

import hashlib
import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from nanobot.errors import VersionError
from nanobot.memory.markdown import MARKER, lines_of, newline_of, split, without_index
from nanobot.memory_files import MEMORY, NOTES_FOLDER
from nanobot.ports import Edit
from nanobot.store.private import private_folder, remove_stale_temps, replace_only, sync_folder
from nanobot.text import is_utf16
from nanobot.workspace import PRIVATE_FILE, VERSIONED_FILES, VERSIONED_FOLDERS, is_versioned

log = logging.getLogger(__name__)

MAX_SIZE = 1_000_000
"""Bytes of a file; a larger one is not kept."""

UNSEEN = 5.0
"""Seconds after a change of a file within which nobody saves it who has read the change."""

_SAVING = 0.02  # seconds; an editor that writes over a file empties it first
_BINARY_HEAD = 8000  # bytes that are looked at for a NUL, as git does
_TRIES = 5
_TOPS = (*VERSIONED_FILES, *VERSIONED_FOLDERS, NOTES_FOLDER)


# Versioned part of a file: all of it, but for the index of notes in MEMORY.md and blank lines at its end.


CLEAN = f"""LC_ALL=C awk '
{{ line = $0; sub(/[ \\t\\r]+$/, "", line); bare = line; sub(/^[ \\t]+/, "", bare) }}
bare == "{MARKER}" {{ if (!below) fresh = 1; below = 1; next }}
below && line ~ /^- .*\\(`[^`]+`\\) · updated [0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]$/ {{ next }}
/^\\r?$/ {{ if (!fresh) held = held $0 "\\n"; next }}
{{ fresh = 0; printf "%s%s\\n", held, $0; held = "" }}'"""
"""Shell command that leaves the versioned part of MEMORY.md, for people who use git by hand."""


def versioned_part(path: str, data: bytes) -> bytes:
    """Return the part of a file that is versioned; all of what is one already."""
    if not _has_index(path, data):
        return data
    facts = without_index(_decoded(data))
    trimmed = facts.rstrip("\r\n")  # the index brings a blank line of its own
    return (trimmed + newline_of(facts) if trimmed else "").encode("utf-8", "surrogateescape")


def with_index_of(current: bytes | None, path: str, versioned: bytes) -> bytes:
    """Return the file with this versioned part, and with the index that it has now."""
    if current is None or not _has_index(path, current):
        return versioned
    rest = lines_of(split(_decoded(current))[1])
    block = "".join(line for line in rest if line.strip() and not without_index(f"{MARKER}\n{line}").strip())
    text = _decoded(versioned)
    if not block or split(text)[1]:
        return versioned
    gap = newline_of(text) if text else ""
    return (text + gap + block).encode("utf-8", "surrogateescape")


def _part(path: str, data: bytes | None) -> bytes | None:
    return None if data is None else versioned_part(path, data)


def _has_index(path: str, data: bytes) -> bool:
    return path.rpartition("/")[2] == MEMORY and not is_utf16(data)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# Files on disk.


def blob_id(data: bytes) -> str:
    """The id of a content in git."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@dataclass(slots=True)
class WorktreeState:
    """The files on disk: content and executable bit by path, and those that are not kept, with the reason."""

    files: dict[str, tuple[bytes, bool]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileVersion:
    """Content of a file in a version, and the time (seconds since 1970)."""

    before: bytes
    after: bytes
    at: float


class WorkTree:
    """Reads and replaces the files that are versioned; links are never followed."""

    def __init__(self, root: Path, lock: "threading.Lock") -> None:
        """`lock` is held while a file is replaced; to be shared with whoever else in this process writes them."""
        self._root = root
        self._one_writer = lock
        self._brought: dict[str, FileVersion] = {}

    def scan(self, within: Sequence[str] = ()) -> WorktreeState:
        """Versioned files as they are on disk, in these files and folders or everywhere."""
        found = WorktreeState()
        for top in within or _TOPS:
            if not self._is_behind_link(top, found):
                self._walk(top, found)
        return found

    def read(self, path: str) -> bytes | None:
        """The versioned part of a file, None if there is none. Raises VersionError if it cannot be known."""
        found = self.scan([path])
        if path in found.skipped:
            raise VersionError("refused", f"{path} is not kept in the history ({found.skipped[path]})", paths=[path])
        return found.files[path][0] if path in found.files else None

    def checked(self, edits: Mapping[str, Edit]) -> Mapping[str, Edit]:
        """The edits without what is not versioned, those that take a file away first.

        Raises VersionError for a place or a size that is not kept.
        """
        for path, edit in edits.items():
            inside = PurePosixPath(path)
            if str(inside) != path or ".." in inside.parts or not is_versioned(inside):
                raise VersionError("refused", f"{path!r} is not kept in the history", paths=[path])
            if reason := unfit(edit.after or b""):
                raise VersionError("refused", f"{path} would not be kept ({reason})", paths=[path])
        shaped = [(p, Edit(_part(p, e.before), _part(p, e.after))) for p, e in edits.items()]
        return dict(sorted(shaped, key=lambda item: item[1].after is not None))

    def expect(self, edits: Mapping[str, Edit]) -> None:
        """Raise VersionError `conflict` unless all files are as the edits found them."""
        others = [path for path, edit in edits.items() if self.read(path) != edit.before]
        if others:
            raise VersionError("conflict", f"changed meanwhile: {', '.join(others)}", paths=others)

    def write(self, path: str, expected: bytes | None, content: bytes | None) -> bool:
        """Put a versioned content in place of another; False if the file is not, or no longer, as expected.

        Raises VersionError, also for what cannot be written without following a link.
        """
        try:
            with self._one_writer:
                return self._try_to_write(path, expected, content)
        except OSError as error:
            why = f"{path} cannot be written: {error.strerror or error}"
            raise VersionError("failed", why, paths=[path]) from error

    def bring(self, path: str, expected: bytes | None, content: bytes | None) -> bool:
        """Write a file for a version, and remember its change: whoever saves now has not seen it."""
        is_done = self.write(path, expected, content)
        if is_done and expected is not None and content is not None:
            self._brought[path] = FileVersion(expected, content, time.time())
        return is_done

    def unseen(self, path: str) -> FileVersion | None:
        """Return the change of a version to a file that somebody saved who cannot have seen it."""
        brought = self._brought.get(path)
        try:
            saved = (self._root / path).lstat().st_mtime
        except OSError:
            return None
        return brought if brought and saved <= brought.at + UNSEEN else None

    def settle(self, paths: Collection[str]) -> bool:
        """True if somebody was just saving one of these files; then they are done now: it takes a moment."""
        now = time.time()
        for path in paths:
            with suppress(OSError):
                if abs(now - (self._root / path).lstat().st_mtime) < _SAVING:
                    time.sleep(_SAVING)
                    return True
        return False

    def clear(self, paths: Sequence[str]) -> None:
        """Remove what a killed process left half written beside these files."""
        for folder in {(self._root / path).parent for path in paths}:
            if folder.is_dir():
                remove_stale_temps(folder)

    def _try_to_write(self, path: str, expected: bytes | None, content: bytes | None) -> bool:
        for _ in range(_TRIES):
            raw = self._raw(path)
            if _part(path, raw) != expected:
                return False
            if self._replace(self._root / path, path, raw, content):
                return True
        return False

    def _replace(self, target: Path, path: str, raw: bytes | None, content: bytes | None) -> bool:
        if content is None:
            if raw is not None:
                target.unlink()
                sync_folder(target.parent)
            return True
        mode = PRIVATE_FILE if raw is None else target.stat(follow_symlinks=False).st_mode & 0o777
        data = with_index_of(raw, path, content)
        private_folder(target.parent)
        return replace_only(target, raw, data, mode)

    def _raw(self, path: str) -> bytes | None:
        """Content of a file; None if there is none."""
        found = WorktreeState()
        if self._is_behind_link(path, found):
            raise OSError("a link is in the way")
        try:
            info = (self._root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(info.st_mode):
            raise OSError("it is not a plain file")
        return _bytes_of(self._root / path)

    def _is_behind_link(self, path: str, found: WorktreeState) -> bool:
        folder = self._root
        for part in PurePosixPath(path).parts:
            folder /= part
            if folder.is_symlink():
                found.skipped[str(folder.relative_to(self._root))] = "link"
                return True
        return False

    def _walk(self, path: str, found: WorktreeState) -> None:
        """Take in a file, or all files in a folder."""
        full = self._root / path
        try:
            info = full.lstat()
            if stat.S_ISDIR(info.st_mode):
                names = _names(full)
                if ".git" in names and path != NOTES_FOLDER:
                    found.skipped[path] = "repository"  # it has a history of its own
                    return
                for name in names:
                    if not name.startswith("."):  # our own .git has thousands of files, and nothing hidden is kept
                        self._walk(f"{path}/{name}", found)
            elif is_versioned(PurePosixPath(path)):
                self._take(path, info, found)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            found.skipped[path] = "unreadable"
            log.debug("%s is not kept in the history: %s", path, error.strerror or error)

    def _take(self, path: str, info: os.stat_result, found: WorktreeState) -> None:
        if stat.S_ISLNK(info.st_mode) or not stat.S_ISREG(info.st_mode):
            found.skipped[path] = "link"
        elif info.st_size > MAX_SIZE:
            found.skipped[path] = "large"
        else:
            data = _bytes_of(self._root / path)
            if reason := unfit(data):
                found.skipped[path] = reason
            else:
                found.files[path] = versioned_part(path, data), bool(info.st_mode & stat.S_IXUSR)


def beneath(skipped: Mapping[str, str]) -> Callable[[str], bool]:
    """True if a path is one of these, or in one: then nothing is known about it, least of all that it is gone."""
    return lambda path: any(path == known or path.startswith(f"{known}/") for known in skipped)


def unfit(data: bytes) -> str:
    """Return the reason why such a content is not kept; "" if it is."""
    if len(data) > MAX_SIZE:
        return "large"
    return "binary" if b"\0" in data[:_BINARY_HEAD] and not is_utf16(data) else ""


def _names(folder: Path) -> Sequence[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries)


def _bytes_of(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
