"""Every operation on the history, one after the other; for use in a thread."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from nanobot.errors import VersionError
from nanobot.memory.versions import commit, git, objects, purge, repository
from nanobot.memory.versions.commit import VersionCommitter, VersionJournal, roll_forward
from nanobot.memory.versions.git import Repository
from nanobot.memory.versions.purge import Erase, Reword
from nanobot.memory.versions.worktree import WorkTree
from nanobot.ports import Author, Clock, Describe, Edit, FileDiff, HandEdits, Owned, Plan, Version
from nanobot.workspace import Workspace

_MANY_LOOSE = 2000
"""Objects in files of their own; beyond it they are packed into one."""


class VersionWork:
    """See VersionStore. Opens the repository for each operation, and leaves no process behind."""

    def __init__(
        self, workspace: Workspace, worktree: WorkTree, filters: Mapping[str, str], clock: Clock, describe: Describe
    ) -> None:
        self._workspace = workspace
        self._worktree = worktree
        self._filters = filters
        self._clock = clock
        self._describe = describe
        self._journal = VersionJournal(workspace.versions_journal)

    def ensure(self) -> HandEdits:
        with self._writing() as repo:
            edits = self._changes(repo).commit_hand_edits()
            _tidy(repo)
            return edits

    def commit_hand_edits(self) -> HandEdits:
        with self._writing() as repo:
            return self._changes(repo).commit_hand_edits()

    def commit(self, edits: Mapping[str, Edit], message: str, author: Author) -> str | None:
        with self._writing() as repo:
            return self._changes(repo).commit(edits, message, author)

    def log(self, limit: int | None, within: Sequence[str], author: Author | None) -> Sequence[Version]:
        with self._reading() as repo:
            return objects.version_log(repo, limit=limit, within=within, author=author)

    def resolve(self, abbreviated: str) -> str:
        with self._reading() as repo:
            return objects.resolve(repo, abbreviated, purge.renamed(self._workspace.version_ids))

    def show(self, version: str) -> tuple[Version, Sequence[FileDiff]]:
        with self._reading() as repo:
            return objects.show(repo, version)

    def diffs(self, versions: Sequence[Version]) -> Sequence[Sequence[FileDiff]]:
        with self._reading() as repo:
            return objects.diffs(repo, versions)

    def files_at(self, version: str, within: Sequence[str]) -> Mapping[str, bytes]:
        with self._reading() as repo:
            return objects.files_at(repo, version, within)

    def look_back(self, look: Callable[[str, bytes], None]) -> None:
        with self._reading() as repo:
            objects.look_back(repo, look)

    def origin(self, path: str, line: bytes) -> Version | None:
        with self._reading() as repo:
            return objects.origin(repo, path, line)

    def plan_restore(self, version: str, owned: Owned) -> Plan:
        with self._writing() as repo:
            self._changes(repo).commit_hand_edits()
            return commit.plan_restore(repo, version, owned)

    def plan_undo(self, version: str, owned: Owned) -> Plan:
        with self._writing() as repo:
            self._changes(repo).commit_hand_edits()
            return commit.plan_undo(repo, version, owned)

    def purge(self, erase: Erase, reword: Reword) -> Mapping[str, str]:
        with self._writing() as repo:
            self._changes(repo).commit_hand_edits()
            ids = purge.build(repo, erase, reword)
        with self._writing():  # whoever opens a history whose successor is ready, puts that in its place
            return ids

    @contextmanager
    def _writing(self) -> Iterator[Repository]:
        """The repository, with all done that was left undone, and nobody else at work in it."""
        git_dir = repository.find(self._workspace)
        if not git_dir.is_dir():
            repository.make(git_dir, self._workspace, self._filters)
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
        config = repository.settings(git_dir, self._workspace, self._filters)
        with Repository(git_dir, self._workspace.root) as repo:
            try:
                repository.mend(repo, config, lambda: repository.furnish(git_dir, config, self._filters))
                yield repo
            except VersionError as error:
                if error.kind == "failed" and repository.is_damaged(repo):
                    raise VersionError("damaged", f"{git_dir}: {error.detail}") from error
                raise

    def _changes(self, repo: Repository) -> VersionCommitter:
        return VersionCommitter(repo, self._worktree, self._journal, self._clock, self._describe)


def _tidy(repo: Repository) -> None:
    """Keep the number of files small; nothing is thrown away."""
    count = repo.run("count-objects").split()[0]
    if int(count) > _MANY_LOOSE:
        repo.run("repack", "-d", "-l", "-q")
