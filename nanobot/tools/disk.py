"""Files and folders, opened so that no link swapped in after the check is followed."""

import errno
import math
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from nanobot.authority import Scope
from nanobot.errors import ToolError
from nanobot.tools.paths import Place, Sandbox
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, is_hidden, scope_of, set_mode

MAX_FILE = 10_000_000
"""Bytes. What is larger is refused: it fits no context, and reading it would hold up everybody."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_REASONS = {
    errno.ENOENT: "does not exist. list_dir shows what there is",
    errno.ENOTDIR: "cannot be: a part of the path is not a folder",
    errno.ELOOP: "is a link that leads nowhere or was just changed",
    errno.EACCES: "may not be opened: no permission",
    errno.EPERM: "may not be changed: no permission",
    errno.ENAMETOOLONG: "cannot be: the name is too long",
    errno.ENOSPC: "was not written: the disk is full",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder; size in bytes, the time of the last change in seconds since 1970."""

    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int = 0
    changed: float = 0.0


class Disk:
    """Reads and replaces files at places that the sandbox has allowed. Blocks: call it in a thread."""

    def __init__(self, sandbox: Sandbox, lock: "threading.Lock | None" = None) -> None:
        """`lock` is held by whoever replaces a file in the workspace."""
        self.sandbox = sandbox
        self._one_writer = lock or threading.Lock()
        self._closed = _ClosedFiles(sandbox)

    def read(self, place: Place) -> bytes:
        """All bytes of a file. Raises ToolError when there is none, or it is no plain file, or too large."""
        with _explained(place), _folder(place.folder) as folder:
            return self._read_at(folder, place)[0]

    def read_if_any(self, place: Place) -> bytes | None:
        """All bytes of a file, or None where nothing is yet."""
        with _explained(place):
            try:
                with _folder(place.folder) as folder:
                    return self._read_at(folder, place)[0]
            except FileNotFoundError:
                return None

    def replace(self, place: Place, before: bytes | None, after: bytes) -> None:
        """Put new bytes in place of those that were read (None: of nothing), in one step.

        An existing file keeps its mode; what is new, parents included, is private.
        Raises ToolError if the file is not, or no longer, what it was; then nothing has changed.
        """
        with _explained(place), self._one_writer, _folder(place.folder, create=True) as folder:
            try:
                current, mode = self._read_at(folder, place)
            except FileNotFoundError:
                current, mode = None, PRIVATE_FILE
            if current != before:
                raise changed_meanwhile(place)
            _write_at(folder, place.path.name, after, mode)

    def make_folder(self, place: Place) -> None:
        """See to it that there is a folder, private if it is new."""
        with _explained(place), _folder(place, create=True):
            return

    def remove(self, place: Place) -> None:
        """Remove a file; no error if it is gone already."""
        with _explained(place), _folder(place.folder) as folder, suppress(FileNotFoundError):
            os.unlink(place.path.name, dir_fd=folder)

    def entries(self, place: Place) -> list[Entry]:
        """What is in a folder, by name. Raises ToolError if it is none."""
        with _explained(place), _folder(place) as folder, os.scandir(folder) as found:
            return sorted(filter(None, map(_entry, found)), key=lambda entry: entry.name)

    def walk(
        self, start: Place, enter: Callable[[Place], bool], unreadable: list[str]
    ) -> Iterator[tuple[Place, Entry]]:
        """Everything below a folder that may be entered, in order; links are named, not followed.

        Raises ToolError if the start cannot be read; the names of other such folders go to `unreadable`.
        """
        waiting = [start]
        while waiting:
            place = waiting.pop()
            try:
                entries = self.entries(place)
            except ToolError:
                if place == start:
                    raise
                unreadable.append(place.name)
                continue
            found = [(child, entry) for entry in entries if enter(child := self.sandbox.child(place, entry.name))]
            yield from found
            waiting += [child for child, entry in reversed(found) if entry.kind == "folder"]

    def is_folder(self, place: Place) -> bool:
        """Whether there is a folder here, or a file. Raises ToolError if there is neither."""
        if not place.inside.parts:
            return True
        with _explained(place), _folder(place.folder) as folder:
            info = os.stat(place.path.name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(info.st_mode):
                return True
            _check_plain(place, info)
            return False

    def _read_at(self, folder: int, place: Place) -> tuple[bytes, int]:
        """A file's bytes and mode."""
        name = place.path.name
        if not place.inside.parts:
            raise IsADirectoryError(errno.EISDIR, "is a folder")
        _check_plain(place, os.stat(name, dir_fd=folder, follow_symlinks=False))  # opening a device may do something
        with os.fdopen(os.open(name, _READ, dir_fd=folder), "rb") as file:
            info = os.fstat(file.fileno())
            _check_plain(place, info)
            if info.st_nlink > 1:
                self._check_names(place, info)
            data = file.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise _too_large(place, len(data))
        return data, info.st_mode & 0o777

    def _check_names(self, place: Place, info: os.stat_result) -> None:
        """Raise ToolError for a file with several names, unless all of it is the owners' to see.

        Whose the other names are cannot be told from the file; in the folders of members and groups, where nobody
        makes such links, none is opened.
        """
        if not place.scope.is_owner:
            raise ToolError(f"{place.name} has a second name elsewhere on the disk (a hard link), and is not opened.")
        if any(found and os.path.samestat(info, found) for found in map(_stat_if_any, self._closed.named(info))):
            raise ToolError(f"{place.name} is another name of a file that is not open to tools.")


class _ClosedFiles:
    """The files that are not open to owners' tools, by inode: looked for when a file has several names.

    What was found is used again for some seconds, for files that have got no name since.
    """

    _SECONDS = 5.0

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._names: dict[int, list[Path]] = {}
        self._since = -math.inf

    def named(self, info: os.stat_result) -> Sequence[Path]:
        """The names of closed files with this inode, on whatever device."""
        now = time.time()
        if not 0 <= now - self._since < self._SECONDS or info.st_ctime > self._since - 1:  # clocks are coarse
            names: dict[int, list[Path]] = {}
            for path, inode in self._files():
                names.setdefault(inode, []).append(path)
            self._names, self._since = names, now
        return self._names.get(info.st_ino, ())

    def _files(self) -> Iterator[tuple[Path, int]]:
        root = self._sandbox.root
        for path, inode in _files_below(root):
            inside = PurePosixPath(path.relative_to(root))
            if is_hidden(inside) or not Scope(scope_of(inside)).is_owner:
                yield path, inode
        for closed in self._sandbox.closed:
            if found := _stat_if_any(closed):
                yield closed, found.st_ino


def _files_below(folder: Path) -> Iterator[tuple[Path, int]]:
    """Every file with its inode; links are not followed, and what cannot be read is left out."""
    waiting = [folder]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                elif not entry.is_symlink():
                    yield Path(entry.path), entry.inode()


@contextmanager
def _folder(place: Place, *, create: bool = False) -> Iterator[int]:
    """A descriptor of a folder, reached part by part without following a link."""
    descriptor = os.open(place.root, _FOLDER)
    try:
        for part in place.inside.parts:
            below = _step(descriptor, part, create=create)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _step(descriptor: int, part: str, *, create: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=descriptor)
    except FileNotFoundError:
        if not create:
            raise
        os.mkdir(part, PRIVATE_FOLDER, dir_fd=descriptor)
        return os.open(part, _FOLDER, dir_fd=descriptor)


def _write_at(folder: int, name: str, data: bytes, mode: int) -> None:
    draft = f".{secrets.token_hex(8)}.tmp"
    try:
        with os.fdopen(os.open(draft, _CREATE, PRIVATE_FILE, dir_fd=folder), "wb") as file:
            file.write(data)
            set_mode(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        raise
    os.fsync(folder)


def _check_plain(place: Place, info: os.stat_result) -> None:
    if stat.S_ISLNK(info.st_mode):
        raise OSError(errno.ELOOP, "a link")
    if stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if not stat.S_ISREG(info.st_mode):
        raise ToolError(f"{place.name} is a device or a pipe, not a file.")
    if info.st_size > MAX_FILE:
        raise _too_large(place, info.st_size)


def changed_meanwhile(place: Place) -> ToolError:
    """The file is not what it was when it was read."""
    return ToolError(f"{place.name} was changed by somebody else just now. Read it again, then decide.")


def _too_large(place: Place, size: int) -> ToolError:
    return ToolError(f"{place.name} is too large for tools: {size:,} bytes, the limit is {MAX_FILE:,}.")


def _entry(item: os.DirEntry[str]) -> Entry | None:
    """None for what vanished meanwhile."""
    if item.is_symlink():
        return Entry(item.name, "link")
    if item.is_dir(follow_symlinks=False):
        return Entry(item.name, "folder")
    if not item.is_file(follow_symlinks=False):
        return Entry(item.name, "other")
    try:
        info = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return Entry(item.name, "file", info.st_size, info.st_mtime)


def _stat_if_any(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


@contextmanager
def _explained(place: Place) -> Iterator[None]:
    """What the system refuses, as a sentence for the model."""
    try:
        yield
    except IsADirectoryError:
        raise ToolError(f"{place.name} is a folder. list_dir shows what is in it.") from None
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be used: {error.strerror or error}")
        raise ToolError(f"{place.name} {reason}.") from error
