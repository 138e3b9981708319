"""A small JSON file that the program keeps for itself."""

import fcntl
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from nanobot.errors import StoreError
from nanobot.store.private import private_folder, write_private
from nanobot.store.text import check_regular
from nanobot.workspace import PRIVATE_FILE

_log = logging.getLogger(__name__)

T = TypeVar("T")


def read_state(path: Path, kind: type[T], otherwise: T) -> T:
    """What the file holds, as this type; `otherwise` if there is no file.

    A file that cannot be understood is set aside, with a warning. Raises StoreError if it cannot be read.
    """
    try:
        check_regular(path.stat())
        return msgspec.convert(json.loads(path.read_bytes()), kind)
    except FileNotFoundError:
        return otherwise
    except (ValueError, RecursionError) as error:
        aside = path.with_name(f"{path.name}.damaged")
        path.replace(aside)
        _log.warning("%s is damaged (%s); it was set aside as %s", path, error, aside)
        return otherwise
    except OSError as error:
        raise StoreError(f"{path} could not be read: {error.strerror or error}") from error


@contextmanager
def locked_state(path: Path) -> Iterator[None]:
    """Keep other processes out that read the file and write it back; where locks do not work, nobody is kept out.

    Blocks until they have done so. Raises StoreError if the folder cannot be written.
    """
    try:
        private_folder(path.parent)
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    except OSError as error:
        raise StoreError(f"{path}.lock could not be opened: {error.strerror or error}") from error
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_state(path: Path, content: object) -> None:
    """Replace the file, durably. Raises StoreError."""
    write_private(path, json.dumps(content, indent=1, sort_keys=True) + "\n")  # ASCII: keys may hold lone surrogates
