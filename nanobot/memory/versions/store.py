"""The version store: git where there is one, and plain files where there is none."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from nanobot.aio import shielded
from nanobot.errors import StoreError, VersionError
from nanobot.memory.versions import git, objects, purge, repository
from nanobot.memory.versions.commit import VersionCommitter, VersionJournal, plan_restore, plan_undo, roll_forward
from nanobot.memory.versions.git import Repository
from nanobot.memory.versions.purge import Erase, Reword
from nanobot.memory.versions.worktree import WorkTree
from nanobot.ports import Author, Clock, Edit, FileDiff, HandEdits, Owned, Plan, Version
from nanobot.workspace import Workspace

log = logging.getLogger(__name__)

T = TypeVar("T")

_LASTING = ("missing", "busy", "failed", "damaged")
"""Kinds of errors that keep versions from being made at all, rather than the one that was asked for."""

_MANY_LOOSE = 2000
"""Objects in files of their own; beyond it they are packed into one."""


class GitVersions:
    """A VersionStore. One operation at a time, in a thread; each opens the repository and leaves no process behind.

    Without git, files are changed all the same, each as a whole, and what asks for the past raises `missing`.
    """

    def __init__(self, workspace: Workspace, clock: Clock, lock: "threading.Lock | None" = None) -> None:
        """`lock` is held while a file is replaced; to be shared with whoever else in this process writes them."""
        self._workspace = workspace
        self._worktree = WorkTree(workspace.root, lock or threading.Lock())
        self._clock = clock
        self._journal = VersionJournal(workspace.versions_journal)
        self._one_at_a_time = asyncio.Lock()
        self._problem = ""

    @property
    def problem(self) -> str:
        return self._problem

    async def ensure(self) -> HandEdits:
        def work() -> HandEdits:
            with self._writing() as repo:
                edits = self._committer(repo).commit_hand_edits()
                _tidy(repo)
                return edits

        return await self._or_without(work, HandEdits)

    async def files(self, within: Sequence[str] = ()) -> Mapping[str, bytes]:
        found = await self._alone(lambda: self._worktree.scan(within))
        return {path: data for path, (data, _) in found.files.items()}

    async def commit_hand_edits(self) -> HandEdits:
        def work() -> HandEdits:
            with self._writing() as repo:
                return self._committer(repo).commit_hand_edits()

        return await self._or_without(work, HandEdits)

    async def commit(self, edits: Mapping[str, Edit], message: str, author: Author = "nanobot") -> str | None:
        def work() -> str | None:
            with self._writing() as repo:
                return self._committer(repo).commit(edits, message, author)

        return await self._or_without(work, lambda: self._write(edits))

    async def write(self, edits: Mapping[str, Edit]) -> None:
        await self._alone(lambda: self._write(edits))

    async def log(
        self, limit: int | None = None, within: Sequence[str] = (), author: Author | None = None
    ) -> Sequence[Version]:
        return await self._read(lambda repo: objects.version_log(repo, limit=limit, within=within, author=author))

    async def resolve(self, abbreviated: str) -> str:
        ids = self._workspace.version_ids
        return await self._read(lambda repo: objects.resolve(repo, abbreviated, purge.renamed(ids)))

    async def show(self, version: str) -> tuple[Version, Sequence[FileDiff]]:
        return await self._read(lambda repo: objects.show(repo, version))

    async def diffs(self, versions: Sequence[Version]) -> Sequence[Sequence[FileDiff]]:
        return await self._read(lambda repo: objects.diffs(repo, versions)) if versions else []

    async def files_at(self, version: str, within: Sequence[str] = ()) -> Mapping[str, bytes]:
        return await self._read(lambda repo: objects.files_at(repo, version, within))

    async def look_back(self, look: Callable[[str, bytes], None]) -> None:
        await self._read(lambda repo: objects.look_back(repo, look))

    async def origin(self, path: str, line: bytes) -> Version | None:
        return await self._read(lambda repo: objects.origin(repo, path, line))

    async def plan_restore(self, version: str, owned: Owned) -> Plan:
        return await self._plan(lambda repo: plan_restore(repo, version, owned))

    async def plan_undo(self, version: str, owned: Owned) -> Plan:
        return await self._plan(lambda repo: plan_undo(repo, version, owned))

    async def purge(self, erase: Erase, reword: Reword) -> Mapping[str, str]:
        def work() -> Mapping[str, str]:
            with self._writing() as repo:
                self._committer(repo).commit_hand_edits()
                ids = purge.build(repo, erase, reword)
            with self._writing():  # whoever opens a history whose successor is ready, puts that in its place
                return ids

        return await self._do(work)

    async def _read(self, look: Callable[[Repository], T]) -> T:
        def work() -> T:
            with self._reading() as repo:
                return look(repo)

        return await self._do(work)

    async def _plan(self, plan: Callable[[Repository], Plan]) -> Plan:
        def work() -> Plan:
            with self._writing() as repo:
                self._committer(repo).commit_hand_edits()
                return plan(repo)

        return await self._do(work)

    async def _do(self, work: Callable[[], T]) -> T:
        """Run work that takes git. Raises VersionError `missing` where there is none."""

        def with_git() -> T:
            git.require()
            return work()

        result = await self._alone(with_git)
        self._problem = ""
        return result

    async def _or_without(self, work: Callable[[], T], without: Callable[[], T]) -> T:
        """Run work that takes git; where there is none, run `without`."""
        try:
            return await self._do(work)
        except VersionError as error:
            if error.kind != "missing":
                raise
        return await self._alone(without)

    async def _alone(self, work: Callable[[], T]) -> T:
        async with self._one_at_a_time:
            return await shielded(asyncio.to_thread(self._watched, work))

    def _watched(self, work: Callable[[], T]) -> T:
        """Run work, and remember its error for /status. Raises VersionError."""
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

    def _write(self, edits: Mapping[str, Edit]) -> None:
        wanted = self._worktree.checked(edits)
        self._worktree.expect(wanted)
        for path, edit in wanted.items():
            if edit.before != edit.after and not self._worktree.write(path, edit.before, edit.after):
                raise VersionError("conflict", f"changed meanwhile: {path}", paths=[path])

    @contextmanager
    def _writing(self) -> Iterator[Repository]:
        """The repository, with all done that was left undone, and nobody else at work in it."""
        git_dir = repository.find(self._workspace)
        if not git_dir.is_dir():
            repository.make(git_dir, self._workspace)
        git.check(git_dir, self._workspace.root)
        purge.finish(git_dir, self._journal, self._workspace.version_ids)
        with self._opened(git_dir) as repo:
            roll_forward(repo, self._journal, self._worktree)
            yield repo

    @contextmanager
    def _reading(self) -> Iterator[Repository]:
        """The repository as it is."""
        git_dir = repository.find(self._workspace)
        if not git_dir.is_dir():
            raise VersionError("unknown", "there is no version yet")
        with self._opened(git_dir) as repo:
            if repo.commit_id("HEAD") is None:
                raise VersionError("unknown", "there is no version yet")
            yield repo

    @contextmanager
    def _opened(self, git_dir: Path) -> Iterator[Repository]:
        """The repository, mended. What fails in one that is damaged beyond that is a VersionError `damaged`."""
        config = repository.settings(git_dir, self._workspace)
        with Repository(git_dir, self._workspace.root) as repo:
            try:
                repository.mend(repo, config, lambda: repository.furnish(git_dir, config))
                yield repo
            except VersionError as error:
                if error.kind == "failed" and repository.is_damaged(repo):
                    raise VersionError("damaged", f"{git_dir}: {error.detail}") from error
                raise

    def _committer(self, repo: Repository) -> VersionCommitter:
        return VersionCommitter(repo, self._worktree, self._journal, self._clock)


class VersionsBeside(GitVersions):
    """The versions while another process makes them: read as they are. What people changed since is left to it."""

    async def ensure(self) -> HandEdits:
        return await self.commit_hand_edits()

    async def commit_hand_edits(self) -> HandEdits:
        """Return no edits; a missing git is noticed here as well."""
        return await self._or_without(HandEdits, HandEdits)


def _tidy(repo: Repository) -> None:
    """Keep the number of files small; nothing is thrown away."""
    count = repo.run("count-objects").split()[0]
    if int(count) > _MANY_LOOSE:
        repo.run("repack", "-d", "-l", "-q")
