"""A last look, byte by byte, at everything that is on disk."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from nanobot.errors import VersionError
from nanobot.ports import Meant
from nanobot.workspace import Workspace

_log = logging.getLogger(__name__)

_PIECE = 8 << 20  # bytes that are looked at in one go
_OVERLAP = 4096  # of two pieces: what is looked for is shorter


class Scan:
    """Looks for what was forgotten by the words that were named: in files of every kind, and in git's objects."""

    def __init__(self, workspace: Workspace, roots: Sequence[Path], skipped: Callable[[], Iterable[Path]]) -> None:
        """`roots` are folders that are looked through, `skipped` gives what lies in them and is not."""
        self._workspace = workspace
        self._roots = roots
        self._skipped = skipped

    async def leftovers(self, meant: Meant) -> Sequence[str]:
        """The files in which it still stands. Where no words were named there is nothing to look for."""
        if not meant.traces.terms and not meant.sessions:
            return ()
        return await asyncio.to_thread(lambda: list(self._leftovers(meant)))

    def _leftovers(self, meant: Meant) -> Iterator[str]:
        for path in self._files():
            try:
                if _holds(path, meant):
                    yield str(path)
            except OSError as error:
                _log.warning("%s could not be looked through: %s", path, error.strerror or error)
        if _in_objects(self._workspace, meant):
            yield str(self._workspace.versions)

    def _files(self) -> Iterator[Path]:
        waiting, skipped = list(dict.fromkeys(self._roots)), frozenset(self._skipped())
        seen: set[Path] = set()
        while waiting:
            path = waiting.pop()
            if path in skipped or path in seen or path.is_symlink():
                continue
            seen.add(path)
            if path.is_dir():
                waiting += path.iterdir()
            elif path.is_file():
                yield path


def _holds(path: Path, meant: Meant) -> bool:
    tail = b""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            if _stands_in(tail + piece, meant):
                return True
            tail = piece[-_OVERLAP:]
    return False


def _stands_in(data: bytes, meant: Meant) -> bool:
    return meant.traces.name_in(data) or any(key.encode("utf-8", "replace") in data for key in meant.sessions)


def _in_objects(workspace: Workspace, meant: Meant) -> bool:
    """Whether an object of the history holds it, reachable or not: they lie there compressed."""
    if shutil.which("git") is None:
        return False
    from nanobot.store.repo import place
    from nanobot.store.repo.git import Repository

    try:
        git_dir = place.find(workspace)
        if not git_dir.is_dir():
            return False
        with Repository(git_dir, workspace.root) as repo:
            return _stands_in(repo.run("cat-file", "--batch-all-objects", "--batch"), meant)
    except VersionError as error:
        _log.warning("the history of memory could not be looked through: %s", error)
        return False
