"""Files and folders that only their owner can read, written whole or not at all."""

import ctypes
import fcntl
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from nanobot.errors import StoreError
from nanobot.text import well_formed
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, set_mode

# File stamps.


_TICK_NS = 20_000_000  # file times move in ticks, of 10 ms at worst on Linux and macOS


class Stamp(NamedTuple):
    """Stamp that identifies the state of a file without reading it."""

    mtime_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> "Stamp":
        return cls(info.st_mtime_ns, info.st_size, info.st_ino)

    @classmethod
    def at(cls, path: Path) -> "Stamp | None":
        """None if there is no such file."""
        try:
            return cls.of(path.stat())
        except FileNotFoundError:
            return None

    def is_settled(self, at_ns: int) -> bool:
        """True if a change made after `at_ns` is bound to show: a file just written may keep its time once more."""
        return at_ns - self.mtime_ns > _TICK_NS


_TRIES = 5
_PAUSE = 0.05  # seconds; a virus scanner or an indexer lets go of a file after about that long
_TEMP = ".nanobot-{pid}-{random}.tmp"
_IS_TEMP = re.compile(r"\.nanobot-(\d+)-([0-9a-f]+)\.tmp")
_RUN = secrets.token_hex(4)  # tells our files from those of a process before us that had our number


def write_private(path: Path, data: bytes | str) -> None:
    """Replace a small file, durably: whoever reads it, whatever happens, sees the old bytes or the new ones.

    A new file is private; one that exists keeps its mode; text is written in UTF-8. A symbolic link
    is replaced, not followed. Blocks; for use in a thread. Raises StoreError; then nothing has changed.
    """
    raw = utf8(data) if isinstance(data, str) else data
    try:
        private_folder(path.parent)
        replace(path, raw, _mode_of(path))
    except OSError as error:
        raise StoreError(f"{path} could not be written: {error.strerror or error}") from error


def replace(path: Path, data: bytes, mode: int) -> None:
    """Put a file of this mode in its place in one step, durably. Raises OSError; then nothing has changed."""
    temp = _temp_beside(path)
    try:
        _write(temp, data, mode)
        _rename(temp, path)
    finally:
        temp.unlink(missing_ok=True)
    sync_folder(path.parent)


def replace_only(path: Path, expected: bytes | None, data: bytes, mode: int) -> bool:
    """The same, if the file says what is expected (None: is not there); else False, and nothing has changed.

    What somebody else saves at the very same moment is not lost: the files change places, and what comes out is looked
    at. Where that cannot be done in one step, there is a moment in which it is.
    """
    temp = _temp_beside(path)
    try:
        _write(temp, data, mode)
        if _content(path) != expected:
            return False
        if expected is None:
            return _is_new(temp, path)
        if not _change_places(temp, path):
            _rename(temp, path)
        elif _content(temp) != expected:
            _change_places(temp, path)
            if _content(temp) != data:  # they have saved twice: the newer one counts
                _change_places(temp, path)
            return False
    finally:
        temp.unlink(missing_ok=True)
        sync_folder(path.parent)
    return True


def _is_new(temp: Path, path: Path) -> bool:
    """Give a file a name that nobody may have taken meanwhile."""
    try:
        path.hardlink_to(temp)
    except FileExistsError:
        return False
    except OSError:  # a file system without second names
        _rename(temp, path)
    return True


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _change_places(one: Path, other: Path) -> bool:
    """Let two files have each other's name, in one step; False where the system or the file system cannot."""
    rename = _exchange()
    return rename is not None and rename(os.fsencode(one), os.fsencode(other)) == 0


@cache
def _exchange() -> Callable[[bytes, bytes], int] | None:
    """renameat2(2) with RENAME_EXCHANGE, renamex_np(2) with RENAME_SWAP; Python has neither."""
    library = ctypes.CDLL(None)
    if sys.platform == "darwin":
        return (lambda one, other: library.renamex_np(one, other, 2)) if hasattr(library, "renamex_np") else None
    if not hasattr(library, "renameat2"):
        return None
    here = -100  # AT_FDCWD
    return lambda one, other: library.renameat2(here, one, here, other, 2)


class GrowingFile:
    """A private file that is written piece by piece: nobody sees it before `keep`, nothing stays without it.

    Each method blocks; for use in a thread. Raises OSError.
    """

    def __init__(self, path: Path) -> None:
        """`keep` puts it in the place of `path`, whose folder must exist."""
        self.path = path
        self._temp = _temp_beside(path)
        self._file = os.fdopen(_create(self._temp), "wb")

    def write(self, piece: bytes) -> None:
        self._file.write(piece)

    def keep(self) -> None:
        """Put it in its place, durably."""
        self._file.flush()
        sync(self._file.fileno())
        _rename(self._temp, self.path)
        sync_folder(self.path.parent)

    def close(self) -> None:
        """Let go of it; what was not kept is removed."""
        self._file.close()
        self._temp.unlink(missing_ok=True)


def save_export(path: str, name: str, text: str, *, is_over: bool) -> tuple[Path, bool]:
    """Write a text to a file, of this name where the path is a folder; a symbolic link is followed. Raises OSError.

    Returns where that is, and False if something is there already and is not to be replaced.
    """
    place = Path(path or ".").expanduser()
    place = place / name if place.is_dir() else place
    if place.exists() and not is_over:
        return place, False
    target = Path(os.path.realpath(place))
    replace(target, utf8(text), _mode_of(target))
    return place, True


def private_folder(path: Path) -> None:
    """Make a folder and those above it, private and durable. Those that exist stay as they are. Raises OSError."""
    if path.is_dir():
        return
    private_folder(path.parent)
    with suppress(FileExistsError):  # somebody else was quicker; a file of this name fails at its first use
        path.mkdir(mode=PRIVATE_FOLDER)
    sync_folder(path.parent)


def is_temp(name: str) -> bool:
    """Return whether a file with this name is one of ours that is being written."""
    return _IS_TEMP.fullmatch(name) is not None


def remove_stale_temps(folder: Path) -> None:
    """Delete what a killed process left half written in a folder. Files of living processes, ours too, stay."""
    for path in folder.glob(_TEMP.format(pid="*", random="*")):
        match = _IS_TEMP.fullmatch(path.name)
        if match and not _is_alive(int(match[1]), match[2]):
            with suppress(OSError):
                path.unlink()


def keeps_modes(folder: Path) -> bool:
    """True if the permissions of a file can be set in a folder, which is tried. Raises OSError."""
    temp = _temp_beside(folder / "modes")
    descriptor = _create(temp)
    try:
        return set_mode(descriptor, PRIVATE_FILE | 0o100) and set_mode(descriptor, PRIVATE_FILE)
    finally:
        os.close(descriptor)
        temp.unlink(missing_ok=True)


def sync(descriptor: int) -> None:
    """Return when the bytes are on the disk itself. On macOS fsync stops at the drive's cache (see its fsync(2))."""
    if sys.platform == "darwin":
        with suppress(OSError):  # file systems that do not know it
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Return when new, renamed and deleted names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def utf8(text: str) -> bytes:
    """Text as valid UTF-8."""
    return well_formed(text).encode()


def _mode_of(path: Path) -> int:
    try:
        return path.stat(follow_symlinks=False).st_mode & 0o777 if not path.is_symlink() else PRIVATE_FILE
    except FileNotFoundError:
        return PRIVATE_FILE


def _temp_beside(path: Path) -> Path:
    return path.with_name(_TEMP.format(pid=os.getpid(), random=_RUN + secrets.token_hex(8)))


def _create(temp: Path) -> int:
    return os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)


def _write(temp: Path, data: bytes, mode: int) -> None:
    with os.fdopen(_create(temp), "wb") as file:
        file.write(data)
        file.flush()
        set_mode(file.fileno(), mode)
        sync(file.fileno())


def _rename(temp: Path, path: Path) -> None:
    for left in reversed(range(_TRIES)):
        try:
            temp.replace(path)
        except PermissionError:
            if not left:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _is_alive(pid: int, random: str) -> bool:
    """True if this process is living: ours, or another (in a container, the one before us had our number)."""
    if pid == os.getpid():
        return random.startswith(_RUN)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


# Atomic replacement.


@contextmanager
def swapped(path: Path) -> Iterator[GrowingFile]:
    """Write to a temporary file that replaces this one at the end, durably; after an error nothing has changed."""
    file = GrowingFile(path)
    try:
        yield file
        file.keep()
    finally:
        file.close()


def put(path: Path, data: bytes) -> None:
    """The same for a small file; one in which nothing is left goes. Raises OSError."""
    if data.strip():
        with swapped(path) as file:
            file.write(data)
    else:
        remove(path)


def remove(path: Path) -> None:
    """Delete a file, durably, if it is there. Raises OSError."""
    if path.is_file() or path.is_symlink():
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
