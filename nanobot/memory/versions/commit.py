"""Making a version: objects, journal, branch, files; finishing one after a crash; going back."""

import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from nanobot.errors import VersionError
from nanobot.memory.changes import by_hand
from nanobot.memory.versions.git import Repository
from nanobot.memory.versions.objects import (
    EXECUTABLE,
    PLAIN,
    FileContent,
    Signature,
    make_commit,
    move_branch,
    one,
    set_index,
    version_log,
)
from nanobot.memory.versions.worktree import FileVersion, WorkTree, WorktreeState, beneath, blob_id
from nanobot.ports import Author, Clock, Edit, HandEdits, Owned, Plan, Version
from nanobot.store.private import sync_folder
from nanobot.store.state import read_state, write_state
from nanobot.text import LineChange, line_changes
from nanobot.workspace import is_versioned

# Three-way merge, line by line.


_MOST_LINES = 20_000  # of a file; beyond it, only git's own merge is tried


def merged(repo: Repository, *, base: bytes, ours: bytes, theirs: bytes, keep_both: bool = False) -> bytes | None:
    """The text with both changes, None if they are in each other's way. Blocks; raises VersionError.

    As git merges. Where it gives up because the changes are on neighbouring lines, as two facts of a list are,
    they are put together nevertheless: a line that was changed and one beside it that was not are different facts.
    With `keep_both`, so are lines that both bring to one place.
    """
    for mine, yours in ((ours, theirs), (theirs, ours)):
        if mine in (base, yours):
            return yours
    if any(b"\0" in text for text in (base, ours, theirs)):
        return None
    clean = _merged_by_git(repo, base, ours, theirs)
    return clean if clean is not None else _side_by_side(base, ours, theirs, keep_both=keep_both)


def _merged_by_git(repo: Repository, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    with tempfile.TemporaryDirectory(prefix="nanobot-merge-", dir=repo.git_dir) as name:
        paths = [Path(name) / side for side in ("ours", "base", "theirs")]
        for path, text in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(text)
        fine = tuple(range(128))  # how many conflicts there are
        code, output = repo.ask("merge-file", "--stdout", "--quiet", *map(str, paths), fine=fine)
    return None if code else output


def _side_by_side(base: bytes, ours: bytes, theirs: bytes, *, keep_both: bool) -> bytes | None:
    lines = base.splitlines(keepends=True)
    if len(lines) > _MOST_LINES:
        return None
    mine, yours = (line_changes(lines, text.splitlines(keepends=True)) for text in (ours, theirs))
    known = [line for one in mine for line in one.lines]
    if any(_are_in_the_way(one, other, keep_both=keep_both) for one in mine for other in yours):
        return None
    result = list(lines)
    at: dict[tuple[int, int], list[bytes]] = {(one.start, one.stop): list(one.lines) for one in mine}
    for other in yours:
        there = at.setdefault((other.start, other.stop), [])
        there += [] if there == list(other.lines) else [line for line in other.lines if not there or line not in known]
    for (start, stop), new in sorted(at.items(), reverse=True):
        result[start:stop] = new
    return b"".join(result) if all(line.endswith(b"\n") for line in result[:-1]) else None


def _are_in_the_way(one: LineChange, other: LineChange, *, keep_both: bool) -> bool:
    """True if it cannot be told what both together come to. Changes that only touch can be told."""
    is_at_one_place = one.start == one.stop == other.start == other.stop
    return one != other and (one.overlaps(other) or (is_at_one_place and not keep_both))


# Journal: brings the files up to a new version, also after a crash.


log = logging.getLogger(__name__)


class Step(NamedTuple):
    """A file that becomes another: ids of its contents, None where there is no file.

    Where both are the same, the file is as it is to be: a person has made it so.
    """

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """The version whose files these are. Until the branch has reached it, nothing of it is to be done."""

    commit: str = ""
    steps: Sequence[Step] = ()


class VersionJournal:
    """Journal of at most one entry, from before the branch moves until all files are as in the new version."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, entry: JournalEntry) -> None:
        """Raises StoreError."""
        write_state(self._path, asdict(entry))

    def read(self) -> JournalEntry | None:
        """Raises StoreError."""
        entry = read_state(self._path, JournalEntry, JournalEntry())
        return entry if entry.commit else None

    def clear(self) -> None:
        """Remove the entry."""
        self._path.unlink(missing_ok=True)
        if self._path.parent.is_dir():
            sync_folder(self._path.parent)


def roll_forward(repo: Repository, journal: VersionJournal, worktree: WorkTree) -> None:
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


# Committing: first the objects, then the journal, the branch, and at last the files.


_MAIN = "refs/heads/main"
_SETTLING = 5  # looks at files that are being saved

_Files = Mapping[str, FileContent | None]


class VersionCommitter:
    """Makes versions in an opened repository. A crash at any point leaves all of one or nothing of it."""

    def __init__(self, repo: Repository, worktree: WorkTree, journal: VersionJournal, clock: Clock) -> None:
        self._repo = repo
        self._worktree = worktree
        self._journal = journal
        self._clock = clock

    def commit_hand_edits(self) -> HandEdits:
        """Commit the difference of the files on disk from the newest version as people's edits. Raises VersionError."""
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
        message = by_hand(sorted(changed), is_first=parent is None)
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
        self._journal.write(JournalEntry(commit, steps))
        log.debug("version %s: the journal is written", commit)
        move_branch(self._repo, branch, commit, parent, author)
        log.debug("version %s: the branch has moved", commit)
        roll_forward(self._repo, self._journal, self._worktree)
        log.info("version %s by %s changed %d files", commit, author, len(files))
        return commit

    def _differences(self, parent: str | None, found: WorktreeState) -> _Files:
        tree = self._repo.tree(parent) if parent else {}
        is_unknown = beneath(found.skipped)
        changed: dict[str, FileContent | None] = {
            path: None
            for path in tree
            if path not in found.files and is_versioned(PurePosixPath(path)) and not is_unknown(path)
        }
        for path, (data, is_executable) in found.files.items():
            mode = EXECUTABLE if is_executable else PLAIN
            if tree.get(path) != (mode, blob_id(data)):
                changed[path] = FileContent(data, mode)
        return changed

    def _with_unseen(self, path: str, file: FileContent | None) -> FileContent | None:
        """Merge a person's save with the newest version, which they cannot have seen: they did not remove its lines.

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
        return {
            path: None if edit.after is None else FileContent(edit.after, modes[path]) for path, edit in edits.items()
        }

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


def _is_without(data: bytes, brought: FileVersion) -> bool:
    """True if a text has nothing of what was done to another; who brings the other back as it was means to."""
    if data == brought.before:
        return False
    before, after, now = (set(text.splitlines()) for text in (brought.before, brought.after, data))
    return now.isdisjoint(after - before) and before - after <= now


def _id(data: bytes | None) -> str | None:
    return None if data is None else blob_id(data)


# Plans of restore and undo.


def plan_restore(repo: Repository, version: str, owned: Owned) -> Plan:
    """The owned files exactly as they were before a version, by its full id. Raises VersionError."""
    parent = _parent(one(repo, version))
    then, now = repo.content_ids(parent), repo.content_ids("HEAD")
    paths = sorted(path for path in filter(owned, then.keys() | now.keys()) if then.get(path) != now.get(path))
    edits = {path: Edit(_content(repo, now, path), _content(repo, then, path)) for path in paths}
    return Plan(edits, [later for later in version_log(repo, since=parent) if any(map(owned, later.paths))])


def plan_undo(repo: Repository, version: str, owned: Owned) -> Plan:
    """The owned files without what one version did to them, by its full id. Raises VersionError."""
    undone = one(repo, version)
    before, after, now = (repo.content_ids(name) for name in (_parent(undone), version, "HEAD"))
    edits: dict[str, Edit] = {}
    conflicts: list[str] = []
    for path in filter(owned, undone.paths):
        was, became, current = (_content(repo, tree, path) for tree in (before, after, now))
        try:
            result = _without(repo, was, became, current)
        except _ConflictError:
            conflicts.append(path)
            continue
        if result != current:
            edits[path] = Edit(current, result)
    return Plan({} if conflicts else edits, [undone], conflicts)


class _ConflictError(Exception):
    """Later changes are in the way."""


def _without(repo: Repository, was: bytes | None, became: bytes | None, current: bytes | None) -> bytes | None:
    if current == became:
        return was
    if current == was:
        return current
    if was is None or became is None or current is None:
        raise _ConflictError
    both = merged(repo, base=became, ours=current, theirs=was)
    if both is None:
        raise _ConflictError
    return both


def _parent(version: Version) -> str:
    if version.parent is None:
        raise VersionError("first", "there is nothing before the first version")
    return version.parent


def _content(repo: Repository, ids: Mapping[str, str], path: str) -> bytes | None:
    return repo.blob(ids[path]) if path in ids else None
