"""Text files that people edit, as they are found on disk."""

import codecs
import os
import stat
from pathlib import Path

MAX_SIZE = 10_000_000
"""Bytes. A larger file is not one that a person wrote for the bot to read."""


def read_bytes(path: Path) -> tuple[bytes, os.stat_result]:
    """All of a plain file. Raises OSError, also for what is no plain file or larger than MAX_SIZE."""
    check_plain(path.stat())  # opening a pipe may wait for ever, a device may do something
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        info = os.fstat(file.fileno())
        check_plain(info)
        return file.read(), info


def check_plain(info: os.stat_result) -> None:
    """Raise OSError unless this is a file that can be read as a text."""
    check_regular(info)
    if info.st_size > MAX_SIZE:
        raise OSError(f"it is larger than {MAX_SIZE:,} bytes")


def check_regular(info: os.stat_result) -> None:
    """Raise OSError for a folder, a pipe, a device: opening one may wait for ever, or do something."""
    if not stat.S_ISREG(info.st_mode):
        raise OSError("it is a folder" if stat.S_ISDIR(info.st_mode) else "it is not a plain file")


def is_utf16(data: bytes) -> bool:
    """Whether it says at its beginning that it is written in UTF-16, as some editors call "Unicode"."""
    return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def is_binary(data: bytes) -> bool:
    """Whether it is no text: no editor writes a zero byte, but for UTF-16."""
    return b"\0" in data and not is_utf16(data)
