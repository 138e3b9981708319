"""The version store: git where there is one, and plain files where there is none."""

import asyncio
import logging
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from nanobot.aio import shielded
from nanobot.errors import StoreError, VersionError
from nanobot.memory.versions.worktree import WorkTree
from nanobot.ports import Author, Clock, Describe, Edit, FileDiff, HandEdits, Owned, Plan, Shape, Version
from nanobot.workspace import Workspace

if TYPE_CHECKING:
    from nanobot.memory.versions.work import VersionWork


log = logging.getLogger(__name__)

T = TypeVar("T")

_LASTING = ("missing", "busy", "failed", "damaged")
"""What keeps versions from being made at all, rather than the one that was asked for."""


class GitVersions:
    """One operation at a time, in a thread. GitPython is imported at the first: that takes its time.

    Without git, files are changed all the same, each as a whole, and what asks for the past raises `missing`.
    """

    def __init__(
        self,
        workspace: Workspace,
        shape: Shape,
        clock: Clock,
        describe: Describe,
        lock: "threading.Lock | None" = None,
    ) -> None:
        """`lock` is held while a file is replaced; to be shared with whoever else in this process writes them."""
        self._worktree = WorkTree(workspace.root, shape, lock or threading.Lock())
        self._arguments = (workspace, self._worktree, shape.filters, clock, describe)
        self._one_at_a_time = asyncio.Lock()
        self._problem = ""

    @property
    def problem(self) -> str:
        return self._problem

    async def ensure(self) -> HandEdits:
        return await self._or_without(lambda work: work.ensure(), HandEdits)

    async def files(self, within: Sequence[str] = ()) -> Mapping[str, bytes]:
        found = await self._alone(lambda: self._worktree.scan(within))
        return {path: data for path, (data, _) in found.files.items()}

    async def commit_hand_edits(self) -> HandEdits:
        return await self._or_without(lambda work: work.commit_hand_edits(), HandEdits)

    async def commit(self, edits: Mapping[str, Edit], message: str, author: Author = "nanobot") -> str | None:
        return await self._or_without(lambda work: work.commit(edits, message, author), lambda: self._write(edits))

    async def write(self, edits: Mapping[str, Edit]) -> None:
        await self._alone(lambda: self._write(edits))

    async def log(
        self, limit: int | None = None, within: Sequence[str] = (), author: Author | None = None
    ) -> Sequence[Version]:
        return await self._do(lambda work: work.log(limit, within, author))

    async def resolve(self, abbreviated: str) -> str:
        return await self._do(lambda work: work.resolve(abbreviated))

    async def show(self, version: str) -> tuple[Version, Sequence[FileDiff]]:
        return await self._do(lambda work: work.show(version))

    async def diffs(self, versions: Sequence[Version]) -> Sequence[Sequence[FileDiff]]:
        return await self._do(lambda work: work.diffs(versions)) if versions else []

    async def files_at(self, version: str, within: Sequence[str] = ()) -> Mapping[str, bytes]:
        return await self._do(lambda work: work.files_at(version, within))

    async def look_back(self, look: Callable[[str, bytes], None]) -> None:
        await self._do(lambda work: work.look_back(look))

    async def origin(self, path: str, line: bytes) -> Version | None:
        return await self._do(lambda work: work.origin(path, line))

    async def plan_restore(self, version: str, owned: Owned) -> Plan:
        return await self._do(lambda work: work.plan_restore(version, owned))

    async def plan_undo(self, version: str, owned: Owned) -> Plan:
        return await self._do(lambda work: work.plan_undo(version, owned))

    async def purge(
        self, erase: Callable[[str, bytes], bytes | None], reword: Callable[[str, Mapping[str, str]], str]
    ) -> Mapping[str, str]:
        return await self._do(lambda work: work.purge(erase, reword))

    async def _do(self, operation: "Callable[[VersionWork], T]") -> T:
        result = await self._alone(lambda: operation(self._work()))
        self._problem = ""
        return result

    async def _or_without(self, operation: "Callable[[VersionWork], T]", without: Callable[[], T]) -> T:
        """Do it; where there is no git, do what can be done without."""
        try:
            return await self._do(operation)
        except VersionError as error:
            if error.kind != "missing":
                raise
        return await self._alone(without)

    async def _alone(self, work: Callable[[], T]) -> T:
        async with self._one_at_a_time:
            return await shielded(asyncio.to_thread(self._watched, work))

    def _watched(self, work: Callable[[], T]) -> T:
        """Do it, and keep in mind what /status is to say. Raises VersionError."""
        try:
            return work()
        except VersionError as error:
            self._note(error)
            raise
        except StoreError as error:
            told = VersionError("failed", str(error))
            self._note(told)
            raise told from error

    def _note(self, error: VersionError) -> None:
        if error.kind in _LASTING and self._problem != str(error):
            self._problem = str(error)
            log.warning("the history of memory is not kept: %s", error)

    def _work(self) -> "VersionWork":
        if shutil.which("git") is None:
            raise VersionError("missing", "there is no git on this machine")
        try:
            from nanobot.memory.versions.work import VersionWork
        except ImportError as error:  # what GitPython raises over a git that does not run
            raise VersionError("missing", f"git cannot be used: {error}") from error
        return VersionWork(*self._arguments)

    def _write(self, edits: Mapping[str, Edit]) -> None:
        wanted = self._worktree.checked(edits)
        self._worktree.expect(wanted)
        for path, edit in wanted.items():
            if edit.before != edit.after and not self._worktree.write(path, edit.before, edit.after):
                raise VersionError("conflict", f"changed meanwhile: {path}", paths=[path])


class VersionsBeside(GitVersions):
    """The versions while another process makes them: read as they are. What people changed since is left to it."""

    async def ensure(self) -> HandEdits:
        return await self.commit_hand_edits()

    async def commit_hand_edits(self) -> HandEdits:
        """None; but that there is no git is noticed here as well."""
        return await self._or_without(lambda _: HandEdits(), HandEdits)
