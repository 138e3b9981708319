"""A number in a small file: how far something has come."""

import logging
import os
from pathlib import Path

from nanobot.store.private import private_folder
from nanobot.workspace import PRIVATE_FILE

_MOST_DIGITS = 18

_log = logging.getLogger(__name__)


def read_cursor(path: Path) -> int:
    """The number in the file; 0 if there is no file, or no number in it (then with a warning). Raises OSError."""
    try:
        text = path.read_bytes()[: _MOST_DIGITS + 2].strip()
    except FileNotFoundError:
        return 0
    if text.isdigit() and len(text) <= _MOST_DIGITS:
        return int(text)
    _log.warning("%s holds no number and is not believed", path)
    return 0


def write_cursor(path: Path, number: int) -> None:
    """Write a number that is not smaller than the last one. Not durable by itself. Blocks; raises OSError.

    It is written over the old one, which is never longer, so that no moment leaves the file without a number.
    """
    data = b"%d\n" % number
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, PRIVATE_FILE)
    except FileNotFoundError:
        private_folder(path.parent)
        descriptor = os.open(path, flags, PRIVATE_FILE)
    try:
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))  # something else may have stood there
    finally:
        os.close(descriptor)
