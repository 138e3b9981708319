"""A file that is being downloaded: what is there of it, and of which version."""

import fcntl
import hashlib
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from nanobot.errors import StoreError
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER

_BLOCK = 1 << 20


class Part:
    """The beginning of a file, beside the place where the whole one will stand.

    A note next to it says of which version it is; the beginning of another version is thrown away.
    As a context manager it is open for writing, for one process only.
    """

    def __init__(self, target: Path, version: str) -> None:
        """`version` tells one version of the file from another; an empty one is like no other."""
        self._target = target
        self._path = target.with_name(f"{target.name}.part")
        self._note = target.with_name(f"{target.name}.part.version")
        self._version = version

    def __enter__(self) -> Self:
        self._path.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        self._path.touch(PRIVATE_FILE)
        self._file: BinaryIO = self._path.open("r+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise StoreError(f"{self._target.name} is being fetched by another process already") from None
        if self._noted() == self._version != "":
            self._read()
        else:
            self.restart()
            self._note.touch(PRIVATE_FILE)
            self._note.write_text(self._version, encoding="utf-8")
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._file.close()

    @property
    def sha256(self) -> str:
        """Of what is there."""
        return self._digest.hexdigest()

    def beginning(self, count: int) -> bytes:
        """The first bytes of what is there. What is written next still goes to its end."""
        self._file.seek(0)
        head = self._file.read(count)
        self._file.seek(self.size)
        return head

    def write(self, block: bytes) -> None:
        self._file.write(block)
        self._digest.update(block)
        self.size += len(block)

    def restart(self) -> None:
        """Throw away what is there."""
        self._file.seek(0)
        self._file.truncate()
        self.size = 0
        self._digest = hashlib.sha256()

    def discard(self) -> None:
        """What is there is worth nothing."""
        self._path.unlink()
        self._note.unlink(missing_ok=True)

    def finish(self) -> None:
        """The file is whole: put it in its place."""
        self._file.flush()
        self._path.replace(self._target)
        self._note.unlink(missing_ok=True)

    def _noted(self) -> str:
        try:
            return self._note.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""

    def _read(self) -> None:
        """Read what is there, for the checksum. The file is left open at its end."""
        self.size = 0
        self._digest = hashlib.sha256()
        while block := self._file.read(_BLOCK):
            self._digest.update(block)
            self.size += len(block)
