"""A file that another one takes the place of, whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nanobot.store.private import GrowingFile, sync_folder


@contextmanager
def swapped(path: Path) -> Iterator[GrowingFile]:
    """What is written takes the place of the file at the end, durably; if anything is raised, nothing has changed."""
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
