"""The files of all sessions in a workspace."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from nanobot.store import lines
from nanobot.store.jsonl import torn_path
from nanobot.store.names import SUFFIX, is_shortened, key_of, path_of
from nanobot.store.private import sync_folder
from nanobot.store.state import read_state, write_state
from nanobot.store.text import check_regular
from nanobot.workspace import Workspace

_LONGEST_HEADER = 64 * 1024  # bytes; a key is far shorter

_log = logging.getLogger(__name__)


class SessionFiles:
    """Finds the file of a key, and the key of a file.

    A name that had to be shortened does not tell its key: that stands in the file's header, and
    in the workspace's state for the day the header is damaged.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._folder = workspace.sessions
        self._names = workspace.session_names
        self._lock = threading.Lock()  # for the file of names

    def path(self, key: str) -> Path:
        """Where a session's file is, or would be. Raises StoreError for a key that cannot be."""
        return self._folder / path_of(key)

    def check(self, path: Path) -> None:
        """Raise OSError for what must not be opened: a pipe, a device, a folder, a link that leads out of sessions/."""
        if self._leads_out(path):
            raise OSError("it is a link that leads out of the folder of conversations")
        with suppress(FileNotFoundError):
            check_regular(path.stat())

    def paths(self) -> Iterator[Path]:
        """Every file that may be a session's. What must not be opened is left out, with a warning."""
        for path in [*self._folder.glob(f"*{SUFFIX}"), *self._folder.glob(f"*/*{SUFFIX}")]:
            try:
                self.check(path)
            except OSError as error:
                _log.warning("%s is left out: %s", path, error.strerror or error)
            else:
                if path.exists():
                    yield path

    def remember(self, key: str) -> None:
        """Record the key of a file that is about to be made, if its name does not tell it. Raises StoreError."""
        path = path_of(key)
        if is_shortened(path):
            with self._lock:
                names = self._read()
                if names.get(str(path)) != key:
                    write_state(self._names, names | {str(path): key})

    def all(self) -> Iterator[tuple[str, Path]]:
        """Every key with its file. Files that are not sessions are left out. Raises StoreError."""
        names: dict[str, str] | None = None
        for path in self.paths():
            inside = PurePosixPath(path.relative_to(self._folder))
            key = key_of(inside)
            if key is None and is_shortened(inside):
                names = self._read() if names is None else names
                key = _first_that_fits(inside, names.get(str(inside)), _key_in_header(path))
            if key is not None:
                yield key, path

    def delete(self, key: str) -> bool:
        """Remove a session's file with all that was set aside; False if there is none. Raises OSError, StoreError."""
        path = self.path(key)
        torn_path(path).unlink(missing_ok=True)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        sync_folder(path.parent)
        inside = path_of(key)
        if is_shortened(inside):
            with self._lock:
                names = self._read()
                if names.pop(str(inside), None):
                    write_state(self._names, names)
        return True

    def _leads_out(self, path: Path) -> bool:
        links = (path, path.parent) if path.parent != self._folder else (path,)  # sessions/ may be elsewhere itself
        if not any(link.is_symlink() for link in links):
            return False
        return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self._folder))

    def _read(self) -> dict[str, str]:
        return read_state(self._names, dict[str, str], {})


def _key_in_header(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return lines.header_key(file.readline(_LONGEST_HEADER))
    except OSError:
        return None


def _first_that_fits(path: PurePosixPath, *keys: str | None) -> str | None:
    return next((key for key in keys if key and "\0" not in key and path_of(key) == path), None)
