"""Forgetting in the files that came along: media, and results of tools that were too long."""

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from nanobot.errors import StoreError
from nanobot.ports import Found, Meant, Piece
from nanobot.store.private import remove_stale_temps, sync_folder
from nanobot.uncancelled import to_the_end
from nanobot.workspace import Workspace, folder_of, scope_of

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

    async def find(self, meant: Meant) -> Found:
        return await asyncio.to_thread(self._find, meant)

    async def erase(self, meant: Meant) -> None:
        await to_the_end(asyncio.to_thread(self._erase, meant))

    def _find(self, meant: Meant) -> Found:
        try:
            going = [path for path in self._files() if self._goes(path, meant)]
        except OSError as error:
            raise self._failed(error, "looked into") from error
        pieces = [Piece(path.relative_to(self._root).as_posix()) for path in going]
        return Found(len(pieces), pieces)

    def _erase(self, meant: Meant) -> None:
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

    def _goes(self, path: Path, meant: Meant) -> bool:
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
