"""Files that people sent, each in the folder of its scope."""

import asyncio
import mimetypes
import re
import secrets
import threading
import unicodedata
from collections.abc import AsyncIterable, Callable
from pathlib import Path, PurePosixPath
from typing import ParamSpec, TypeVar

from nanobot.authority import Scope
from nanobot.errors import StoreError
from nanobot.messages import Attachment
from nanobot.store.private import GrowingFile, private_folder, remove_stale_temps
from nanobot.text import well_formed
from nanobot.workspace import Workspace, folder_of

P = ParamSpec("P")
T = TypeVar("T")

_LONGEST_STEM = 100  # bytes of UTF-8; with the ending and our own letters far below the 255 that file systems allow
_LONGEST_ENDING = 16
_FORBIDDEN = re.compile(r'[<>:"|?*\s()\[\]{}（）［］【】：＜＞]+')
"""What some file system does not allow in a name, blanks, which make a path hard to quote, and brackets, with which a
name could pass for an id or a role."""


class MediaFolder:
    """Fulfils the port Media: media/ for the owners, media/people/<who>/ and media/groups/<which>/ for the others."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._tidied: set[Path] = set()
        self._tidying = threading.Lock()

    async def save(self, scope: Scope, name: str, mime: str, content: AsyncIterable[bytes]) -> Attachment:
        folder = self._workspace.media / folder_of(scope.name)
        file = await _in_thread(folder, self._start, folder / unique_name(name, mime))
        try:
            async for piece in content:
                await _in_thread(folder, file.write, piece)
            await _in_thread(folder, file.keep)
        finally:
            await _in_thread(folder, file.close)
        inside = file.path.relative_to(self._workspace.root).as_posix()
        return Attachment(inside, mime, well_formed(name))

    def path(self, file: Attachment) -> Path:
        """Return the path of a file on this machine. Raises StoreError for a path that leads out of the workspace."""
        path = (self._workspace.root / file.path).resolve()
        if not path.is_relative_to(self._workspace.root.resolve()):
            raise StoreError(f"{file.path!r} is not in the workspace")
        return path

    def _start(self, path: Path) -> GrowingFile:
        private_folder(path.parent)
        with self._tidying:  # else this would remove what another thread has begun since
            if path.parent not in self._tidied:
                remove_stale_temps(path.parent)
                self._tidied.add(path.parent)
        return GrowingFile(path)


async def _in_thread(folder: Path, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Only the disk's errors become StoreErrors, not those of whoever hands us the pieces."""
    try:
        return await asyncio.to_thread(call, *args, **kwargs)
    except OSError as error:
        raise StoreError(f"a file could not be saved in {folder}: {error.strerror or error}") from error


def unique_name(name: str, mime: str) -> str:
    """A file name that resembles `name`, harmless on every file system, with letters of its own before the ending."""
    plain = unicodedata.normalize("NFC", well_formed(name))
    plain = "".join(char for char in plain if char.isspace() or unicodedata.category(char)[0] != "C")
    last = PurePosixPath(plain.replace("\\", "/")).name
    stem, dot, ending = _FORBIDDEN.sub("_", last).strip("._ ").rpartition(".")
    if not dot or not ending.isalnum() or len(ending.encode()) > _LONGEST_ENDING:
        stem, ending = f"{stem}{dot}{ending}", (mimetypes.guess_extension(mime) or "").removeprefix(".")
    stem = stem.encode()[:_LONGEST_STEM].decode(errors="ignore").strip("._ ") or "file"
    return f"{stem}-{secrets.token_hex(4)}{'.' * bool(ending)}{ending}"
