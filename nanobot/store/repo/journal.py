"""What is still to be done when a version is made: its files are brought up to it, also after a crash."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nanobot.errors import VersionError
from nanobot.store.private import sync_folder
from nanobot.store.repo.git import Repository
from nanobot.store.repo.lines import merged
from nanobot.store.repo.objects import set_index
from nanobot.store.repo.worktree import WorkTree, blob_id
from nanobot.store.state import read_state, write_state

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """A file that becomes another: ids of its contents, None where there is no file.

    Where both are the same, the file is as it is to be: a person has made it so.
    """

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """The version whose files these are. Until the branch has reached it, nothing of it is to be done."""

    commit: str
    steps: Sequence[Step]


class Journal:
    """At most one entry, on disk from before the branch moves until all files are as in the new version."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, entry: Entry) -> None:
        """Raises StoreError."""
        steps = [[step.path, step.before, step.after] for step in entry.steps]
        write_state(self._path, {"commit": entry.commit, "steps": steps})

    def read(self) -> Entry | None:
        """Raises StoreError."""
        found = read_state(self._path, dict[str, object], {})
        match found:
            case {"commit": str(commit), "steps": list(rows)}:
                return Entry(commit, [Step(*row) for row in rows])
        return None

    def clear(self) -> None:
        """All is done."""
        self._path.unlink(missing_ok=True)
        if self._path.parent.is_dir():
            sync_folder(self._path.parent)


def roll_forward(repo: Repository, journal: Journal, worktree: WorkTree) -> None:
    """Finish the version that the journal tells of; forget it if it never came to be. Raises VersionError."""
    entry = journal.read()
    if entry is None:
        return
    if not repo.is_ancestor(entry.commit, "HEAD"):
        log.debug("version %s was never made", entry.commit)
    else:
        worktree.clear([step.path for step in entry.steps])
        for step in entry.steps:
            _bring(repo, worktree, step)
            log.debug("version %s: %r is in its place", entry.commit, step.path)
        keep_index(repo, [step.path for step in entry.steps])
        log.debug("version %s: the index is set", entry.commit)
    journal.clear()
    log.debug("version %s: all is done", entry.commit)


def keep_index(repo: Repository, paths: Sequence[str]) -> None:
    """Bring git's list of files up to HEAD, in these. It is derived: a broken one is made anew."""
    try:
        set_index(repo, "HEAD", paths)
    except VersionError as error:
        log.warning("the index in %s is made anew: %s", repo.git_dir, error)
        (repo.git_dir / "index").unlink(missing_ok=True)
        set_index(repo, "HEAD", paths)


def _bring(repo: Repository, worktree: WorkTree, step: Step) -> None:
    """Put a file in its place. What a person changed in it meanwhile stays; theirs wins over ours."""
    if step.before == step.after:
        return
    after = None if step.after is None else repo.blob(step.after)
    for _ in range(2):
        current = worktree.read(step.path)
        name = None if current is None else blob_id(current)
        if name == step.after:
            return
        wanted = after if name == step.before else _together(repo, step, current, after)
        if wanted == current:
            log.warning("%s was edited by hand at the same place and stays as it is", step.path)
            return
        if worktree.bring(step.path, current, wanted):
            return


def _together(repo: Repository, step: Step, current: bytes | None, after: bytes | None) -> bytes | None:
    if step.before is None or current is None or after is None:
        return current
    both = merged(repo, base=repo.blob(step.before), ours=current, theirs=after, keep_both=True)
    return current if both is None else both
