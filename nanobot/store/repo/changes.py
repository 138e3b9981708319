"""How a version is made: first its objects, then the journal, the branch, and at last the files."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from nanobot.ports import Author, Clock, Describe, Edit, HandEdits
from nanobot.store.repo.git import Repository
from nanobot.store.repo.history import one
from nanobot.store.repo.journal import Entry, Journal, Step, roll_forward
from nanobot.store.repo.lines import merged
from nanobot.store.repo.objects import EXECUTABLE, PLAIN, Content, Signature, make_commit, move_branch
from nanobot.store.repo.worktree import Brought, Found, WorkTree, beneath, blob_id
from nanobot.workspace import is_versioned

log = logging.getLogger(__name__)

_MAIN = "refs/heads/main"
_SETTLING = 5  # looks at files that are being saved

_Files = Mapping[str, Content | None]


class Changes:
    """Makes versions in an opened repository. A crash at any point leaves all of one or nothing of it."""

    def __init__(
        self, repo: Repository, worktree: WorkTree, journal: Journal, clock: Clock, describe: Describe
    ) -> None:
        self._repo = repo
        self._worktree = worktree
        self._journal = journal
        self._clock = clock
        self._describe = describe

    def commit_hand_edits(self) -> HandEdits:
        """What the files on disk differ from the newest version is what people did. Raises VersionError."""
        branch = self._branch()
        parent = self._repo.commit_id(branch)
        for _ in range(_SETTLING):
            found = self._worktree.scan()
            changed = self._differences(parent, found)
            if not self._worktree.settle(changed):
                break
        changed = {path: self._with_unseen(path, file) for path, file in changed.items()}
        if parent is not None and not changed:
            return HandEdits(None, found.skipped)
        message = self._describe(sorted(changed), is_first=parent is None)
        ids = {path: None if file is None else blob_id(file.data) for path, file in changed.items()}
        steps = [Step(path, name, name) for path, name in ids.items()]
        commit = self._make(changed, steps, message, "person")
        return HandEdits(one(self._repo, commit), found.skipped)

    def commit(self, edits: Mapping[str, Edit], message: str, author: Author) -> str | None:
        """Change files on somebody's word. Raises VersionError."""
        wanted = self._worktree.checked(edits)
        self.commit_hand_edits()
        self._worktree.expect(wanted)
        changed = {path: edit for path, edit in wanted.items() if edit.before != edit.after}
        if not changed:
            return None
        files = self._contents(changed)
        steps = [Step(path, _id(edit.before), _id(edit.after)) for path, edit in changed.items()]
        return self._make(files, steps, message, author)

    def _make(self, files: _Files, steps: Sequence[Step], message: str, author: Author) -> str:
        """A version on top of the newest, and the files as it says."""
        branch = self._branch()
        parent = self._repo.commit_id(branch)
        commit = make_commit(self._repo, files, message, Signature(author, self._clock.now()), parent)
        log.debug("version %s: its objects are written", commit)
        self._journal.write(Entry(commit, steps))
        log.debug("version %s: the journal is written", commit)
        move_branch(self._repo, branch, commit, parent, author)
        log.debug("version %s: the branch has moved", commit)
        roll_forward(self._repo, self._journal, self._worktree)
        log.info("version %s by %s changed %d files", commit, author, len(files))
        return commit

    def _differences(self, parent: str | None, found: Found) -> _Files:
        tree = self._repo.tree(parent) if parent else {}
        is_unknown = beneath(found.skipped)
        changed: dict[str, Content | None] = {
            path: None
            for path in tree
            if path not in found.files and is_versioned(PurePosixPath(path)) and not is_unknown(path)
        }
        for path, (data, is_executable) in found.files.items():
            mode = EXECUTABLE if is_executable else PLAIN
            if tree.get(path) != (mode, blob_id(data)):
                changed[path] = Content(data, mode)
        return changed

    def _with_unseen(self, path: str, file: Content | None) -> Content | None:
        """What a person saved, and with it what the newest version had just brought: they have not taken it away.

        An editor that had read the file before saves it as it was, with what its user did.
        """
        brought = self._worktree.unseen(path)
        if brought is None or file is None or not _is_without(file.data, brought):
            return file
        both = merged(self._repo, base=brought.before, ours=file.data, theirs=brought.after, keep_both=True)
        if both is None or not self._worktree.write(path, file.data, both):
            return file
        log.info("%s was saved by somebody who had not seen its newest version; both stand there", path)
        return replace(file, data=both)

    def _contents(self, edits: Mapping[str, Edit]) -> _Files:
        """A file keeps its mode."""
        tree = self._repo.tree("HEAD", *edits)
        modes = {path: tree[path][0] if path in tree else PLAIN for path in edits}
        return {path: None if edit.after is None else Content(edit.after, modes[path]) for path, edit in edits.items()}

    def _branch(self) -> str:
        """The branch that is being worked on. Whoever looked at an old version by hand is brought back to one.

        Their files stay as they are: what they differ from the newest version is a hand edit.
        """
        if branch := self._repo.branch():
            return branch
        here, main = self._repo.commit_id("HEAD"), self._repo.commit_id(_MAIN)
        if here and (main is None or self._repo.is_ancestor(main, here)):
            move_branch(self._repo, _MAIN, here, main, "commits made by hand")
        self._repo.run("symbolic-ref", "-m", "back on the branch", "HEAD", _MAIN)
        log.warning("HEAD of %s was detached; it is at %s again", self._repo.git_dir, _MAIN)
        return _MAIN


def _is_without(data: bytes, brought: Brought) -> bool:
    """Whether a text has nothing of what was done to another; who brings the other back as it was means to."""
    if data == brought.before:
        return False
    before, after, now = (set(text.splitlines()) for text in (brought.before, brought.after, data))
    return now.isdisjoint(after - before) and before - after <= now


def _id(data: bytes | None) -> str | None:
    return None if data is None else blob_id(data)
