"""Paths: where the file tools may go, and opening so that no link swapped in after the check is followed."""

import errno
import math
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from nanobot import text as shown
from nanobot.authority import Authority, Role, Scope, may_touch
from nanobot.errors import ToolError
from nanobot.ports import Risk
from nanobot.text import one_line
from nanobot.workspace import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    Workspace,
    folder_of,
    is_guarded,
    is_hidden,
    is_hidden_elsewhere,
    is_note,
    is_remembered,
    is_secret,
    is_versioned,
    scope_of,
    set_mode,
)

# Sandbox of the file tools.


_CONTROL = re.compile("[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|file:", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
_SYSTEM = (Path("/proc"), Path("/sys"), Path("/dev"))


@dataclass(frozen=True, slots=True)
class ToolPath:
    """Something a tool may touch: a folder that is open to tools, and a path below it without links.

    `is_opened`: the folder was opened for one conversation; what is written there takes a yes.
    """

    root: Path
    inside: PurePosixPath
    in_workspace: bool
    is_opened: bool = False

    @property
    def path(self) -> Path:
        return self.root / self.inside

    @property
    def name(self) -> str:
        """Name that the model uses: relative in the workspace, absolute elsewhere."""
        return shown.name(self.inside if self.in_workspace else self.path)

    @property
    def folder(self) -> "ToolPath":
        """Folder of the path; the root lies in itself."""
        return replace(self, inside=self.inside.parent)

    @property
    def is_guarded(self) -> bool:
        return self.in_workspace and is_guarded(self.inside)

    @property
    def risk(self) -> Risk:
        """Risk of writing there."""
        return "steer" if self.is_guarded else "outside" if self.is_opened else "write"

    @property
    def is_note(self) -> bool:
        return self.in_workspace and is_note(self.inside)

    @property
    def is_remembered(self) -> bool:
        return self.in_workspace and is_remembered(self.inside)

    @property
    def is_carried(self) -> bool:
        """True if prompts may carry what stands here, or the model is told to follow it."""
        return self.is_remembered or self.is_guarded

    def is_in(self, paths: Container[str]) -> bool:
        """True if this is one of some files of the workspace, by their paths there."""
        return self.in_workspace and str(self.inside) in paths

    @property
    def is_versioned(self) -> bool:
        return self.in_workspace and is_versioned(self.inside)

    @property
    def scope(self) -> Scope:
        """Scope of the path; folders outside the workspace are the owners'."""
        return Scope(scope_of(self.inside)) if self.in_workspace else Scope.owner()


class Sandbox:
    """Turns what a model writes as a path into a place, or says why it may not."""

    def __init__(self, workspace: Workspace, allowed_dirs: Sequence[Path] = (), closed: Sequence[Path] = ()) -> None:
        """All are taken by their real paths as they are now.

        `allowed_dirs` are further folders, of the owners; `closed` are files that are open to no tool, such as the
        configuration.
        """
        self.workspace = workspace
        self.root = Path(os.path.realpath(workspace.root))
        self._allowed = [Path(os.path.realpath(folder.expanduser())) for folder in allowed_dirs]
        self.closed = frozenset(Path(os.path.realpath(path)) for path in closed)

    def locate(self, text: str, authority: Authority) -> ToolPath:
        """The place that a path means, links followed; it need not exist.

        Raises ToolError for what is no path here, lies outside, is hidden, or belongs to somebody else.
        """
        _check_form(text)
        opened = self.opened(authority)
        base = opened.root if opened and _is_only_there(text, self.root, opened.root) else self.root
        place = self._place(Path(os.path.realpath(base / text)), opened)
        if place is None:
            raise ToolError(f"{one_line(text)} is outside the folders that are open to tools. {self._open_folders()}")
        if refusal := self._refusal(place, authority):
            raise ToolError(refusal)
        return place

    def child(self, place: ToolPath, name: str) -> ToolPath:
        """Something in a folder, by its true name."""
        child = replace(place, inside=place.inside / name)
        if not child.in_workspace and child.path.is_relative_to(self.root):
            return ToolPath(self.root, PurePosixPath(child.path.relative_to(self.root)), in_workspace=True)
        return child

    def opened(self, authority: Authority) -> ToolPath | None:
        """The folder that was opened for what is being said; owners alone open one, and for themselves."""
        if not authority.here or authority.role is not Role.OWNER or not authority.scope.is_owner:
            return None
        return ToolPath(Path(os.path.realpath(authority.here)), PurePosixPath(), in_workspace=False, is_opened=True)

    def may_see(self, place: ToolPath, authority: Authority) -> bool:
        """True if a walk may come by here."""
        return self._refusal(place, authority) is None

    def _place(self, resolved: Path, opened: ToolPath | None) -> ToolPath | None:
        for above in (resolved, *resolved.parents):
            if above == self.root or _same(above, self.root):  # some file systems know it by other spellings, too
                return ToolPath(self.root, PurePosixPath(resolved.relative_to(above)), in_workspace=True)
        if any(resolved.is_relative_to(folder) for folder in _SYSTEM):
            return None
        for root in self._allowed:
            if resolved.is_relative_to(root):
                return ToolPath(root, PurePosixPath(resolved.relative_to(root)), in_workspace=False)
        if opened and resolved.is_relative_to(opened.root):
            return replace(opened, inside=PurePosixPath(resolved.relative_to(opened.root)))
        return None

    def _refusal(self, place: ToolPath, authority: Authority) -> str | None:
        is_closed = is_hidden(place.inside) if place.in_workspace else self._is_closed(place)
        if is_closed:
            return f"{place.name} is kept by nanobot itself and not open to tools."
        if place.is_opened and is_secret(place.inside):
            return f"{place.name} looks like a secret and is not open to tools."
        if not may_touch(authority, place.scope):
            return f"{place.name} does not belong to the people in this chat ({authority.scope}). {_own(authority)}"
        return None

    def _is_closed(self, place: ToolPath) -> bool:
        return is_hidden_elsewhere(place.inside) or place.path in self.closed

    def _open_folders(self) -> str:
        others = "".join(f", or absolute below {folder}" for folder in self._allowed)
        return f"Write paths relative to the workspace{others}."


def _own(authority: Authority) -> str:
    """Return the folder of those who speak here."""
    if authority.role is Role.GUEST:
        return "Leave it alone."
    own = folder_of(authority.scope.name)
    return f"Theirs is what lies in {own}, media/{own} and spill/{own}; leave the rest alone."


def _check_form(text: str) -> None:
    if _CONTROL.search(text):
        raise ToolError("The path holds a control character. Write it in plain characters.")
    if _SCHEME.match(text):
        raise ToolError(f"{one_line(text)} is a URL. Write a path relative to the workspace.")
    if _DRIVE.match(text) or "\\" in text:
        raise ToolError(f"{one_line(text)} is a Windows path. Write it with / and relative to the workspace.")
    if text.startswith("~"):
        raise ToolError(f"{one_line(text)}: ~ is not known here. Write a path relative to the workspace.")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ToolError("The path holds half a character (a lone surrogate).") from None


def _is_only_there(text: str, workspace: Path, opened: Path) -> bool:
    """True if a relative path means something in the folder that was opened, and nothing in the workspace."""
    return not os.path.lexists(workspace / text) and os.path.lexists(opened / text)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


# Opening files and folders: no link swapped in after the check is followed.


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
class FolderEntry:
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

    def read(self, place: ToolPath) -> bytes:
        """All bytes of a file. Raises ToolError when there is none, or it is no plain file, or too large."""
        with _explained(place), _folder(place.folder) as folder:
            return self._read_at(folder, place)[0]

    def read_if_any(self, place: ToolPath) -> bytes | None:
        """All bytes of a file, or None where nothing is yet."""
        with _explained(place):
            try:
                with _folder(place.folder) as folder:
                    return self._read_at(folder, place)[0]
            except FileNotFoundError:
                return None

    def replace(self, place: ToolPath, before: bytes | None, after: bytes) -> None:
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

    def make_folder(self, place: ToolPath) -> None:
        """See to it that there is a folder, private if it is new."""
        with _explained(place), _folder(place, create=True):
            return

    def remove(self, place: ToolPath) -> None:
        """Remove a file; no error if it is gone already."""
        with _explained(place), _folder(place.folder) as folder, suppress(FileNotFoundError):
            os.unlink(place.path.name, dir_fd=folder)

    def entries(self, place: ToolPath) -> list[FolderEntry]:
        """Return the entries of a folder, by name. Raises ToolError if it is none."""
        with _explained(place), _folder(place) as folder, os.scandir(folder) as found:
            return sorted(filter(None, map(_entry, found)), key=lambda entry: entry.name)

    def walk(
        self, start: ToolPath, enter: Callable[[ToolPath], bool], unreadable: list[str]
    ) -> Iterator[tuple[ToolPath, FolderEntry]]:
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

    def is_folder(self, place: ToolPath) -> bool:
        """True if there is a folder here, or a file. Raises ToolError if there is neither."""
        if not place.inside.parts:
            return True
        with _explained(place), _folder(place.folder) as folder:
            info = os.stat(place.path.name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(info.st_mode):
                return True
            _check_plain(place, info)
            return False

    def _read_at(self, folder: int, place: ToolPath) -> tuple[bytes, int]:
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

    def _check_names(self, place: ToolPath, info: os.stat_result) -> None:
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
def _folder(place: ToolPath, *, create: bool = False) -> Iterator[int]:
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


def _check_plain(place: ToolPath, info: os.stat_result) -> None:
    if stat.S_ISLNK(info.st_mode):
        raise OSError(errno.ELOOP, "a link")
    if stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if not stat.S_ISREG(info.st_mode):
        raise ToolError(f"{place.name} is a device or a pipe, not a file.")
    if info.st_size > MAX_FILE:
        raise _too_large(place, info.st_size)


def changed_meanwhile(place: ToolPath) -> ToolError:
    """The file is not what it was when it was read."""
    return ToolError(f"{place.name} was changed by somebody else just now. Read it again, then decide.")


def _too_large(place: ToolPath, size: int) -> ToolError:
    return ToolError(f"{place.name} is too large for tools: {size:,} bytes, the limit is {MAX_FILE:,}.")


def _entry(item: os.DirEntry[str]) -> FolderEntry | None:
    """None for what vanished meanwhile."""
    if item.is_symlink():
        return FolderEntry(item.name, "link")
    if item.is_dir(follow_symlinks=False):
        return FolderEntry(item.name, "folder")
    if not item.is_file(follow_symlinks=False):
        return FolderEntry(item.name, "other")
    try:
        info = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return FolderEntry(item.name, "file", info.st_size, info.st_mtime)


def _stat_if_any(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


@contextmanager
def _explained(place: ToolPath) -> Iterator[None]:
    """Return the system's refusal as a sentence for the model."""
    try:
        yield
    except IsADirectoryError:
        raise ToolError(f"{place.name} is a folder. list_dir shows what is in it.") from None
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be used: {error.strerror or error}")
        raise ToolError(f"{place.name} {reason}.") from error
