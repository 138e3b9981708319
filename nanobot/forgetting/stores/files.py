"""Forgetting in whole files: media, long tool results, and what is derived and made anew."""

import asyncio
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from pathlib import Path, PurePosixPath
from subprocess import PIPE
from typing import IO

from nanobot.aio import shielded
from nanobot.errors import StoreError
from nanobot.ports import ErasedPiece, ErasurePlan, StoreFindings
from nanobot.store.private import remove, remove_stale_temps, sync_folder
from nanobot.workspace import Workspace, folder_of, scope_of

# Reading a file in another process.


_PIECE = 8 << 20  # bytes that are read in one go
_DATABASE = ".db"  # in the names of our databases, of what SQLite puts beside them, and of what was set aside


def pieces(path: Path) -> Generator[bytes, None, None]:
    """Its bytes, a piece at a time. Raises OSError.

    A database is read by another process: when a process closes a file, it loses all its locks on it, those that
    SQLite holds on another descriptor, too, and whoever looks in from outside may then take the log away from under
    it. (Section 2.2 of SQLite's "How To Corrupt An SQLite Database File".)
    """
    if _DATABASE in path.name:
        yield from _from_outside(path)
    else:
        with path.open("rb") as file:
            yield from _each(file)


def _from_outside(path: Path) -> Iterator[bytes]:
    """Read a file through `cat`, which ends by itself when nobody listens any more."""
    problem = ""
    with subprocess.Popen(["cat", "--", str(path)], stdout=PIPE, stderr=PIPE) as process:  # noqa: S603, S607 - of the system
        if process.stdout and process.stderr:
            yield from _each(process.stdout)
            problem = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise OSError(process.returncode, problem, str(path))


def _each(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


# Store: derived files.


Rebuild = Callable[[], Awaitable[None]]


class ErasableIndex:
    """Erasable over .nanobot/cache."""

    place = "recall"

    def __init__(self, workspace: Workspace, rebuild: Callable[[], Rebuild | None]) -> None:
        """`rebuild` gives what makes the index anew beside the old one, None if nobody has it open: then it goes."""
        self._folder = workspace.cache
        self._rebuild = rebuild

    def owns(self, path: Path) -> bool:
        return path.is_relative_to(self._folder)

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        """Nothing of its own: what is found here stands elsewhere."""
        return StoreFindings()

    async def erase(self, meant: ErasurePlan) -> None:
        if rebuild := self._rebuild():
            await rebuild()
        else:
            await asyncio.to_thread(self._remove)

    def _remove(self) -> None:
        try:
            for path in self._folder.glob("*"):
                remove(path)
        except OSError as error:
            raise StoreError(f"{self._folder} could not be emptied: {error.strerror or error}") from error


# Store: media, and long results of tools.


_MOST = 64 << 20
"""Bytes of a file that is looked into; a larger one goes with the message that it came with, or stays."""


class ErasableFolder:
    """Erasable over media/ or spill/: a file goes with its message, or if it tells of what goes."""

    def __init__(self, place: str, folder: Path, workspace: Workspace, *, holds_copies: bool) -> None:
        """`holds_copies`: what lies there was made by us, so that a line that was copied into it counts."""
        self.place = place
        self._folder = folder
        self._root = workspace.root
        self._holds_copies = holds_copies

    def owns(self, path: Path) -> bool:
        return path.is_relative_to(self._folder)

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        return await asyncio.to_thread(self._find, meant)

    async def erase(self, meant: ErasurePlan) -> None:
        await shielded(asyncio.to_thread(self._erase, meant))

    def _find(self, meant: ErasurePlan) -> StoreFindings:
        try:
            going = [path for path in self._files() if self._goes(path, meant)]
        except OSError as error:
            raise self._failed(error, "looked into") from error
        pieces = [ErasedPiece(path.relative_to(self._root).as_posix()) for path in going]
        return StoreFindings(len(pieces), pieces)

    def _erase(self, meant: ErasurePlan) -> None:
        """One that cannot be erased keeps no other from it."""
        failed: OSError | None = None
        for path in self._files():
            try:
                if self._goes(path, meant):
                    path.unlink(missing_ok=True)
                    sync_folder(path.parent)
            except OSError as error:
                failed = error
        try:
            for folder in self._folders():
                remove_stale_temps(folder)
        except OSError as error:
            failed = error
        for scope in meant.emptied:
            shutil.rmtree(self._folder / folder_of(scope), ignore_errors=True)
        if failed:
            raise self._failed(failed, "erased") from failed

    def _failed(self, error: OSError, what: str) -> StoreError:
        return StoreError(f"{error.filename or self._folder} could not be {what}: {error.strerror or error}")

    def _folders(self) -> Iterator[Path]:
        if self._folder.is_dir():
            yield self._folder
            yield from (path for path in self._folder.rglob("*") if path.is_dir() and not path.is_symlink())

    def _files(self) -> Sequence[Path]:
        return [path for path in self._folder.rglob("*") if path.is_file() and not path.is_symlink()]

    def _goes(self, path: Path, meant: ErasurePlan) -> bool:
        inside = path.relative_to(self._root)
        scope = scope_of(PurePosixPath(inside))
        if not meant.reaches(scope):
            return False
        if inside.as_posix() in meant.files or scope in meant.emptied:
            return True
        if meant.traces.name(path.stem.replace("-", " ").replace("_", " ")):
            return True
        try:
            if path.stat().st_size > _MOST:
                return False
            text = path.read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:  # it went while we looked
            return False
        return meant.traces.show(text) if self._holds_copies else meant.traces.name(text)
