"""An append-only log of JSON lines, as bytes."""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nanobot.store.private import Stamp as Stamp  # part of what `append` returns
from nanobot.store.private import private_folder, sync, sync_folder
from nanobot.workspace import PRIVATE_FILE

_FIRST_BLOCK = 64 * 1024  # bytes; each further one is twice as large …
_LARGEST_BLOCK = 4 << 20  # … up to this, or to what is there of a longer line, so that it costs no more than short ones

_log = logging.getLogger(__name__)


def append(path: Path, lines: bytes, *, first: bytes, durable: bool) -> tuple[Stamp | None, Stamp]:
    """Add whole lines in one write, behind `first` if the log is new or empty, on disk when this returns.

    Returns what the file was before (None: empty or not there) and what it is now. Raises OSError;
    then the file is as long as it was.
    """
    descriptor = _open(path)
    try:
        before = Stamp.of(os.fstat(descriptor))
        start = _settle(descriptor, path)
        try:
            _write(descriptor, lines if start else first + lines)
            if durable:
                sync(descriptor)
                if not start:
                    sync_folder(path.parent)
        except BaseException:
            os.ftruncate(descriptor, start)
            if not start:
                path.unlink(missing_ok=True)
            raise
        return before if start else None, Stamp.of(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def settle(path: Path) -> None:
    """Make the log end in a whole line. Does nothing if it does, or is not there. Raises OSError.

    A whole record that only lacks its newline gets it; a torn one is set aside in `<name>.torn`.
    """
    if not _ends_in_newline(path):
        descriptor = _open(path)
        try:
            _settle(descriptor, path)
        finally:
            os.close(descriptor)


def backwards(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Each line of the first `size` bytes with the place where it begins, the last one first, empty ones left out."""
    carry, place, block = b"", size, _FIRST_BLOCK
    while place > 0:
        begin = max(place - block, 0)
        head, *lines = (os.pread(descriptor, place - begin, begin) + carry).split(b"\n")
        at = place + len(carry)
        for line in reversed(lines):
            at -= len(line)
            if line:
                yield at, line
            at -= 1
        carry, place, block = head, begin, max(min(block * 2, _LARGEST_BLOCK), len(head))
    if carry:
        yield 0, carry


def line_number(path: Path, at: int) -> int:
    """The number, from 1, of the line that begins at this byte."""
    count = 1
    with path.open("rb") as file:
        while at > 0 and (block := file.read(min(at, 1 << 20))):
            count += block.count(b"\n")
            at -= len(block)
    return count


def torn_path(path: Path) -> Path:
    """Return the path at which torn ends of a log are kept."""
    return path.with_name(f"{path.name}.torn")


def loads(line: bytes) -> object:
    """The JSON of a line, lone surrogates included. Raises ValueError."""
    try:
        return json.loads(line.decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, PRIVATE_FILE)
    except FileNotFoundError:
        private_folder(path.parent)
        return os.open(path, flags, PRIVATE_FILE)


def _ends_in_newline(path: Path) -> bool:
    """True if there is nothing to settle."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            return not size or os.pread(file.fileno(), 1, size - 1) == b"\n"
    except FileNotFoundError:
        return True


def _settle(descriptor: int, path: Path) -> int:
    """Returns the size of the log afterwards."""
    size = os.fstat(descriptor).st_size
    if not size or os.pread(descriptor, 1, size - 1) == b"\n":
        return size
    at, tail = next(backwards(descriptor, size))
    if _is_record(tail):
        _write(descriptor, b"\n")
        return size + 1
    number = line_number(path, at)
    aside = torn_path(path)
    _keep(aside, tail)
    os.ftruncate(descriptor, at)
    sync(descriptor)
    _log.warning("%s, line %d was never finished; its %d bytes were set aside in %s", path, number, len(tail), aside)
    return at


def _is_record(tail: bytes) -> bool:
    with suppress(ValueError):
        return isinstance(loads(tail), dict)
    return False


def _keep(aside: Path, tail: bytes) -> None:
    descriptor = _open(aside)
    try:
        _write(descriptor, tail + b"\n")
        sync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(aside.parent)


def _write(descriptor: int, data: bytes) -> None:
    """One write; a disk that is nearly full takes a part, and says why with the next."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
