"""A last look, byte by byte, at everything that is on disk."""

import asyncio
import logging
import os
import re
import shutil
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path, PurePosixPath

from nanobot.errors import VersionError
from nanobot.forgetting.stores.files import pieces
from nanobot.memory.versions.git import Repository
from nanobot.ports import ErasurePlan
from nanobot.workspace import Workspace

_log = logging.getLogger(__name__)

_ID = 20  # bytes of an object's id
_OF_GIT = ("config", "description", "HEAD", "hooks", "index", "info", "objects", "packed-refs")
"""What holds settings, or only names and contents that are looked at in the objects."""

_OVERLAP = 4096  # of two pieces: what is looked for is shorter

_FORMATS = frozenset(
    re.findall(
        r"\w+",
        """
    add address archived arguments assistant at author base before bot brief by cli claim committer confidence content
    context corrects cursor default delete description discord dream ended endpoint episode episodes evidence extra
    facts feedback files forget from function group groups hand how id inbound index kept key kind language md memory
    merge message messages model name names nanobot note notes of origin outbound owner path people person preference
    project quotes reference relations remember remove replace reset restore role scope sender session sessions skill
    skills summary telegram text through timestamp tool tools topic turn type undo undone updated usage user value
    version was workflow write
    """,
    )
)
"""Words of the formats on disk: they stand everywhere, and say nothing."""


class Scan:
    """Looks for what was forgotten by the words that were named: in files of every kind, and in git's objects."""

    def __init__(self, workspace: Workspace, roots: Sequence[Path], skipped: Callable[[], Iterable[Path]]) -> None:
        """`roots` are folders that are looked through, `skipped` gives what lies in them and is not."""
        self._root = workspace.root
        self._roots = roots
        self._skipped = skipped

    async def leftovers(self, meant: ErasurePlan) -> Sequence[str]:
        """The files in which it still stands.

        Where no words were named there is nothing to look for; where they are those of the formats, only whoever can
        read these can tell.
        """
        words = {word for term in meant.traces.terms for word in term.casefold().split()}
        if words <= _FORMATS and not meant.sessions:
            return ()
        return await asyncio.to_thread(lambda: list(self._leftovers(meant)))

    def _leftovers(self, meant: ErasurePlan) -> Iterator[str]:
        repositories: list[Path] = []
        for path in self._files(repositories):
            try:
                if _holds(path, meant):
                    yield str(path)
            except OSError as error:
                _log.warning("%s could not be looked through: %s", path, error.strerror or error)
        for git_dir in repositories:
            if _in_objects(git_dir, self._root, meant):
                yield str(git_dir)

    def _files(self, repositories: list[Path]) -> Iterator[Path]:
        """All that are to be looked into as they are; the git directories come to be in `repositories`."""
        waiting, skipped = list(dict.fromkeys(self._roots)), frozenset(self._skipped())
        seen: set[Path] = set()
        while waiting:
            path = waiting.pop()
            if path in skipped or path in seen or path.is_symlink():
                continue
            seen.add(path)
            if path.is_file():
                yield path
            elif path.is_dir():
                inside = _inside(path)
                if _is_repository(inside) and not skipped.intersection(inside):
                    repositories.append(path)
                    inside = [each for each in inside if each.name not in _OF_GIT]
                waiting += inside


def _is_repository(inside: Sequence[Path]) -> bool:
    """True if a folder with these in it is a git directory, in order or damaged."""
    return {"objects", "refs"} <= {path.name for path in inside}


def _inside(folder: Path) -> Sequence[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        _log.warning("%s could not be looked through: %s", folder, error.strerror or error)
        return ()


def _holds(path: Path, meant: ErasurePlan) -> bool:
    tail = b""
    with closing(pieces(path)) as every:
        for piece in every:
            if _stands_in(tail + piece, meant):
                return True
            tail = piece[-_OVERLAP:]
    return False


def _stands_in(data: bytes, meant: ErasurePlan) -> bool:
    return meant.traces.name_in(data) or any(key.encode("utf-8", "replace") in data for key in meant.sessions)


def _in_objects(git_dir: Path, root: Path, meant: ErasurePlan) -> bool:
    """True if an object of a history holds it, reachable or not, or may: they lie there compressed."""
    if shutil.which("git") is None:
        return False
    known = {part for name in meant.traces.shipped.files for part in PurePosixPath(name).parts}
    try:
        with Repository(git_dir, root) as repo, closing(repo.objects()) as every:
            return any(
                any(_stands_in(name, meant) for name in _names(data, known))
                if kind == b"tree"
                else _stands_in(data, meant)
                for kind, data in every
            )
    except VersionError as error:
        _log.warning("%s could not be looked through: %s", git_dir, error)
        return True


def _names(tree: bytes, known: Container[str]) -> Iterator[bytes]:
    """The names in a folder but for those that came with the program, as words."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        name = os.fsdecode(tree[at:end].partition(b" ")[2])
        if name not in known:
            yield os.fsencode(PurePosixPath(name).stem.replace("-", " ").replace("_", " "))
        at = end + 1 + _ID
