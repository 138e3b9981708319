"""The versions of one scope's memory, as those see them whose memory it is."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePosixPath

from nanobot.authority import Scope
from nanobot.errors import VersionError
from nanobot.memory import commits
from nanobot.memory.alike import content_words, overlap
from nanobot.memory.commits import Commit, Kind, Operation
from nanobot.memory.facts import bare
from nanobot.memory.files import Places
from nanobot.memory.markdown import statements, without_comments
from nanobot.memory.tombstones import FOLDER
from nanobot.ports import FileDiff, Version, VersionStore
from nanobot.workspace import VERSIONED_FILES, folder_of, scope_of

LATEST = 10
"""Versions that are told where nobody says how many."""

_SKILLS = "skills"
_ALIKE, _SHARED = 0.5, 1 / 3
"""Shares of the words of the shorter and of the longer one of two lines about the same."""


@dataclass(frozen=True)
class Entry:
    """A version, as far as it is about one scope: its files, without tombstones, and what was done to them.

    `reason` is "" where the version is about other scopes, too: it may tell of them. `seen` is what its files show of
    it, where it does not say itself what it did.
    """

    version: Version
    kind: Kind
    paths: Sequence[str]
    operations: Sequence[Operation] = ()
    reason: str = ""
    reverts: str = ""
    seen: Sequence[Operation] = ()

    @property
    def is_reversal(self) -> bool:
        """Whether it took something back."""
        return self.kind in ("restore", "undo")


def owned(scope: Scope) -> Callable[[str], bool]:
    """Whether a file, by its path in the workspace, is one of the scope that Dream may write."""
    places = Places(scope)
    return lambda path: path in places.fixed.values() or places.is_note(path)


def is_of(scope: Scope, path: str) -> bool:
    """Whether a versioned file is of a scope. Tombstones are nobody's: those of all scopes lie together."""
    return not is_tombstone(path) and scope_of(PurePosixPath(path)) == scope.name


def is_tombstone(path: str) -> bool:
    return path.startswith(f"{FOLDER}/")


def entry_of(version: Version, scope: Scope) -> Entry | None:
    """The version as that scope sees it; None if it changed nothing there."""
    paths = [path for path in version.paths if is_of(scope, path)]
    if not paths:
        return None
    commit = commits.parse(version.message)
    kind = _kind(version, commit)
    if commit is None or kind == "hand":
        return Entry(version, kind, paths)
    is_alone = set(commit.scopes) <= {scope.name} and len(paths) == sum(not is_tombstone(p) for p in version.paths)
    operations = [operation for operation in commit.operations if is_of(scope, operation.file)]
    return Entry(version, kind, paths, operations, commit.reason if is_alone else "", commit.reverts)


class Timeline:
    """Reads the history for one scope at a time; whoever asks has made sure that the scope may be seen."""

    def __init__(self, versions: VersionStore) -> None:
        self._versions = versions

    async def latest(self, scope: Scope, count: int = LATEST) -> Sequence[Entry]:
        """The latest versions, hand edits up to now included, the newest first. Raises VersionError."""
        await self._versions.commit_hand_edits()
        every = map(_seen_by(scope), await self._versions.log(within=within(scope)))
        entries = list(islice(filter(None, every), count))
        silent = [entry for entry in entries[:LATEST] if entry.kind != "base" and _is_silent(entry)]
        diffs = await self._versions.diffs([entry.version for entry in silent])
        seen = {entry.version.id: _seen_of(scope, entry, changed) for entry, changed in zip(silent, diffs, strict=True)}
        return [replace(entry, seen=seen.get(entry.version.id, ())) for entry in entries]

    async def entry(self, scope: Scope, reference: str) -> Entry:
        """One version, by at least 4 of its first digits. Raises VersionError, also if it is not of this scope."""
        return (await self.shown(scope, reference))[0]

    async def shown(self, scope: Scope, reference: str) -> tuple[Entry, Sequence[FileDiff]]:
        """A version, and what it did to the files of the scope. Raises VersionError."""
        version, diffs = await self._versions.show(await self._versions.resolve(reference))
        entry = entry_of(version, scope)
        if entry is None:
            raise VersionError("unknown", f"version {version.id} changed nothing of {scope}")
        return entry, [diff for diff in diffs if is_of(scope, diff.path)]


def within(scope: Scope) -> Sequence[str]:
    """The files and folders that hold all of a scope's versioned files."""
    return (*VERSIONED_FILES, "memory", _SKILLS) if scope.is_owner else (folder_of(scope.name).as_posix(),)


def _seen_by(scope: Scope) -> Callable[[Version], Entry | None]:
    return lambda version: entry_of(version, scope)


def _is_silent(entry: Entry) -> bool:
    return not entry.operations or any(operation.says_nothing for operation in entry.operations)


def _seen_of(scope: Scope, entry: Entry, diffs: Sequence[FileDiff]) -> Sequence[Operation]:
    told = {operation.file for operation in entry.operations if not operation.says_nothing}
    return [one for diff in diffs if is_of(scope, diff.path) and diff.path not in told for one in _seen_in(diff)]


def _seen_in(diff: FileDiff) -> Iterator[Operation]:
    """The lines that came and went in a file. One that took the place of another that is like it replaced it."""
    old, new = _lines(diff.before), _lines(diff.after)
    gone = [line for line in old if line not in new]
    for line in (line for line in new if line not in old):
        alike = [other for other in gone if _is_about_the_same(line, other)]
        before = max(alike, key=lambda other: overlap(line, other), default="")
        if before:
            gone.remove(before)
        yield Operation("replace" if before else "add", diff.path, line, before)
    yield from (Operation("remove", diff.path, line) for line in gone)


def _is_about_the_same(one: str, other: str) -> bool:
    """Whether one says what the other said, be it otherwise. A word that both have makes no pair of two long lines."""
    mine, yours = content_words(one), content_words(other)
    return overlap(one, other) >= _ALIKE and len(mine & yours) >= _SHARED * max(len(mine), len(yours))


def _lines(side: bytes | None) -> Collection[str]:
    """What each line of a file says, each once; nothing of a file that is no text."""
    text = (side or b"").decode("utf-8", "replace")
    said = [] if "\0" in text else statements(without_comments(text).split("\n"))
    return dict.fromkeys(line for line in map(bare, said) if re.search(r"\w", line))


def _kind(version: Version, commit: Commit | None) -> Kind:
    """What a message says of itself counts as far as its author may say so: people write what they like."""
    if version.author == "dream":
        return "dream"
    if version.author == "person":
        return "base" if commit and commit.kind == "base" else "hand"
    return commit.kind if commit and commit.kind not in ("dream", "hand", "base") else "tool"
