"""The history of memory: its versions as people see them, the age of each line, and going back with a receipt."""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import PurePosixPath
from typing import Literal

from nanobot.aio import ReadersWriterLock
from nanobot.authority import Scope
from nanobot.errors import VersionError
from nanobot.memory import changes as commits
from nanobot.memory.changes import ChangeRequest, Commit, Kind, Operation, VersionedWriter
from nanobot.memory.facts import bare, compared, facts_in, lines_brought, operations
from nanobot.memory.markdown import statements, without_comments
from nanobot.memory.scopes import MemoryRegistry, ScopePaths
from nanobot.memory.tombstones import FOLDER, Tombstone, all_names, bury, decode, encode
from nanobot.memory_files import NOTES_FOLDER
from nanobot.nlp.words import content_words, overlap
from nanobot.ports import Clock, Edit, FileDiff, Plan, Version, VersionStore
from nanobot.workspace import VERSIONED_FILES, folder_of, scope_of

# Timeline: the versions of one scope's memory.


LATEST = 10
"""Versions that are told where nobody says how many."""

_SKILLS = "skills"
_ALIKE, _SHARED = 0.5, 1 / 3
"""Shares of the words of the shorter and of the longer one of two lines about the same."""


@dataclass(frozen=True)
class TimelineEntry:
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
        """True if it took something back."""
        return self.kind in ("restore", "undo")


def owned(scope: Scope) -> Callable[[str], bool]:
    """True if a file, by its path in the workspace, is one of the scope that Dream may write."""
    places = ScopePaths(scope)
    return lambda path: path in places.fixed.values() or places.is_note(path)


def is_of(scope: Scope, path: str) -> bool:
    """True if a versioned file is of a scope. Tombstones are nobody's: those of all scopes lie together."""
    return not is_tombstone(path) and scope_of(PurePosixPath(path)) == scope.name


def is_tombstone(path: str) -> bool:
    return path.startswith(f"{FOLDER}/")


def entry_of(version: Version, scope: Scope) -> TimelineEntry | None:
    """The version as that scope sees it; None if it changed nothing there."""
    paths = [path for path in version.paths if is_of(scope, path)]
    if not paths:
        return None
    commit = commits.parse(version.message)
    kind = _kind(version, commit)
    if commit is None or kind == "hand":
        return TimelineEntry(version, kind, paths)
    is_alone = set(commit.scopes) <= {scope.name} and len(paths) == sum(not is_tombstone(p) for p in version.paths)
    operations = [operation for operation in commit.operations if is_of(scope, operation.file)]
    return TimelineEntry(version, kind, paths, operations, commit.reason if is_alone else "", commit.reverts)


class Timeline:
    """Reads the history for one scope at a time; whoever asks has made sure that the scope may be seen."""

    def __init__(self, versions: VersionStore) -> None:
        self._versions = versions

    async def latest(self, scope: Scope, count: int = LATEST) -> Sequence[TimelineEntry]:
        """The latest versions, hand edits up to now included, the newest first. Raises VersionError."""
        await self._versions.commit_hand_edits()
        every = (entry_of(version, scope) for version in await self._versions.log(within=within(scope)))
        entries = list(islice(filter(None, every), count))
        silent = [entry for entry in entries[:LATEST] if entry.kind != "base" and _is_silent(entry)]
        diffs = await self._versions.diffs([entry.version for entry in silent])
        seen = {entry.version.id: _seen_of(scope, entry, changed) for entry, changed in zip(silent, diffs, strict=True)}
        return [replace(entry, seen=seen.get(entry.version.id, ())) for entry in entries]

    async def entry(self, scope: Scope, reference: str) -> TimelineEntry:
        """Version by at least 4 of its first digits. Raises VersionError, also if it is not of this scope."""
        return (await self.shown(scope, reference))[0]

    async def shown(self, scope: Scope, reference: str) -> tuple[TimelineEntry, Sequence[FileDiff]]:
        """A version, and what it did to the files of the scope. Raises VersionError."""
        version, diffs = await self._versions.show(await self._versions.resolve(reference))
        entry = entry_of(version, scope)
        if entry is None:
            raise VersionError("unknown", f"version {version.id} changed nothing of {scope}")
        return entry, [diff for diff in diffs if is_of(scope, diff.path)]


def within(scope: Scope) -> Sequence[str]:
    """The files and folders that hold all of a scope's versioned files."""
    return (*VERSIONED_FILES, NOTES_FOLDER, _SKILLS) if scope.is_owner else (folder_of(scope.name).as_posix(),)


def _is_silent(entry: TimelineEntry) -> bool:
    return not entry.operations or any(operation.says_nothing for operation in entry.operations)


def _seen_of(scope: Scope, entry: TimelineEntry, diffs: Sequence[FileDiff]) -> Sequence[Operation]:
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
    """True if one says what the other said, be it otherwise. A word that both have makes no pair of two long lines."""
    mine, yours = content_words(one), content_words(other)
    return overlap(one, other) >= _ALIKE and len(mine & yours) >= _SHARED * max(len(mine), len(yours))


def _lines(side: bytes | None) -> Collection[str]:
    """Return the lines of a file, each once; none of a file that is no text."""
    text = (side or b"").decode("utf-8", "replace")
    said = [] if "\0" in text else statements(without_comments(text).split("\n"))
    return dict.fromkeys(line for line in map(bare, said) if re.search(r"\w", line))


def _kind(version: Version, commit: Commit | None) -> Kind:
    """Return the kind of a version; its message counts as far as its author may say so: people write what they like."""
    if version.author == "dream":
        return "dream"
    if version.author == "person":
        return "base" if commit and commit.kind == "base" else "hand"
    return commit.kind if commit and commit.kind not in ("dream", "hand", "base") else "tool"


# Tombstones that going back makes and takes away.


class TombstoneChanges:
    """Changes to a scope's tombstones when versions are taken back, the newest first."""

    def __init__(self, scope: Scope, files: Mapping[str, bytes], edits: Mapping[str, Edit], at: str) -> None:
        """`files` as they are, tombstones included; `edits` is what going back does to them; `at` is now, RFC 3339."""
        self._scope = scope
        self._owned = owned(scope)
        self._after = {**files, **{path: edit.after for path, edit in edits.items()}}
        self._at = at
        self._before = {path: data for path, data in files.items() if self._is_ours(path, data)}
        self._stones = dict(self._before)
        self._claims = {path: _timeless(stone) for path, data in self._stones.items() if (stone := decode(data))}

    def take_back(self, entry: TimelineEntry, diffs: Sequence[FileDiff]) -> None:
        """Take back one version. What it had taken back itself holds again: its tombstones are lifted."""
        if entry.is_reversal:
            for diff in diffs:
                if self._is_ours(diff.path, diff.after or diff.before or b""):
                    self._put(diff.path, diff.before)
            return
        for operation in filter(lambda operation: self._owned(operation.file), entry.operations):
            for stone in self._made(operation, diffs):
                if _timeless(stone) not in self._claims.values():
                    self._put(stone.path, encode(stone))

    @property
    def edits(self) -> Mapping[str, Edit]:
        """Edits to commit."""
        paths = self._before.keys() | self._stones.keys()
        edits = {path: Edit(self._before.get(path), self._stones.get(path)) for path in sorted(paths)}
        return {path: edit for path, edit in edits.items() if edit.before != edit.after}

    @property
    def buried(self) -> tuple[str, ...]:
        """The names of those that are there now and were not before."""
        return _names(self._stones.keys() - self._before.keys())

    @property
    def lifted(self) -> tuple[str, ...]:
        """The names of those that were there."""
        return _names(self._before.keys() - self._stones.keys())

    def _is_ours(self, path: str, data: bytes) -> bool:
        stone = decode(data) if is_tombstone(path) else None
        return stone is not None and stone.scope == self._scope.name

    def _put(self, path: str, data: bytes | None) -> None:
        self._stones.pop(path, None)
        self._claims.pop(path, None)
        if data is not None:
            self._stones[path] = data
            if stone := decode(data):
                self._claims[path] = _timeless(stone)

    def _made(self, operation: Operation, diffs: Sequence[FileDiff]) -> Iterator[Tombstone]:
        """The tombstones of an operation, as far as going back does away with what it did."""
        after = self._after.get(operation.file)
        standing = {compared(line) for line in facts_in(after)}
        brought = [
            line for diff in diffs if diff.path == operation.file for line in lines_brought(diff.before, diff.after)
        ]
        lines = [line for line in brought if compared(line) not in standing] if operation.verb == "write" else []
        known = replace(operation, messages=all_names(operation.messages))
        for stone in bury(known, scope=self._scope.name, at=self._at, lines=lines):
            if self._holds(stone, operation, standing, is_note_changed=after is None or bool(lines)):
                yield stone

    def _holds(self, stone: Tombstone, operation: Operation, standing: set[str], *, is_note_changed: bool) -> bool:
        """True if the claim is true of the files as they will be."""
        if stone.undone == "merge":
            return any(self._after.get(path) is not None for path in operation.merged if path != operation.file)
        if operation.verb == "write":
            return is_note_changed
        if operation.verb == "delete":
            return self._after.get(operation.file) is not None
        return (compared(stone.claim) in standing) == (stone.undone == "remove")


def _timeless(stone: Tombstone) -> Tombstone:
    """Return a tombstone without the time of the undo."""
    return replace(stone, at="")


def _names(paths: "set[str]") -> tuple[str, ...]:
    return tuple(sorted(PurePosixPath(path).stem for path in paths))


# Restore and undo, with a receipt.


How = Literal["restore", "undo"]

_TRIES = 4
_SUBJECTS: Mapping[How, str] = {
    "restore": "Memory as it was before version {version}",
    "undo": "Without what version {version} did",
}


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file in which later changes are in the way; `lines` are those of the change that are not as it left them."""

    path: str
    lines: Sequence[str]


@dataclass(frozen=True)
class RevertReceipt:
    """Result of going back.

    `target` is the version that was named, `version` the id of the one that this made, "" if nothing was changed:
    then there are `conflicts`, or nothing was left to take back. `undone` are the other versions whose changes were
    taken back with it, the newest first. `buried` and `lifted` count tombstones.
    """

    how: How
    target: TimelineEntry
    version: str = ""
    paths: Sequence[str] = ()
    undone: Sequence[TimelineEntry] = ()
    conflicts: Sequence[Conflict] = ()
    buried: int = 0
    lifted: int = 0


class Revert:
    """Restores and undoes, each as a version of its own. Asks nobody: whoever calls has made sure that they may."""

    def __init__(
        self,
        versions: VersionStore,
        timeline: Timeline,
        writer: VersionedWriter,
        registry: MemoryRegistry,
        clock: Clock,
        erasure_lock: ReadersWriterLock,
    ) -> None:
        """`erasure_lock`: whoever erases is alone in it, so that nothing brings back what they erase."""
        self._versions = versions
        self._timeline = timeline
        self._writer = writer
        self._registry = registry
        self._clock = clock
        self._erasure_lock = erasure_lock

    async def go_back(self, how: How, reference: str, asked: ChangeRequest) -> RevertReceipt:
        """Restore the files of the asker's scope to what they were before a version, or undo just that version.

        Only files that Dream may write. Waits while something is being erased. Raises VersionError; then nothing has
        changed.
        """
        async with self._erasure_lock.passing():
            return await self._go_back(how, reference, asked)

    async def _go_back(self, how: How, reference: str, asked: ChangeRequest) -> RevertReceipt:
        scope = asked.authority.scope
        target, diffs = await self._timeline.shown(scope, reference)
        plan_of = self._versions.plan_restore if how == "restore" else self._versions.plan_undo
        for left in reversed(range(_TRIES)):
            plan = await plan_of(target.version.id, owned(scope))
            if plan.conflicts:
                return RevertReceipt(how, target, conflicts=await self._conflicts(plan, diffs))
            try:
                return await self._commit(how, target, plan, asked)
            except VersionError as error:
                if not left or error.kind != "conflict":
                    raise
        raise AssertionError("unreachable")

    async def _commit(self, how: How, target: TimelineEntry, plan: Plan, asked: ChangeRequest) -> RevertReceipt:
        scope, evidence = asked.authority.scope, await self._writer.evidence(asked)
        undone = [entry for entry in (entry_of(version, scope) for version in plan.undone) if entry]
        files = await self._versions.files([*ScopePaths(scope).within, FOLDER])
        tombstones = TombstoneChanges(scope, files, plan.edits, self._clock.now().isoformat(timespec="seconds"))
        changes = await self._versions.diffs([entry.version for entry in undone])
        for entry, diffs in zip(undone, changes, strict=True):
            tombstones.take_back(entry, diffs)
        commit = Commit(
            kind=how,
            subject=_SUBJECTS[how].format(version=target.version.id[:7]),
            operations=operations(plan.edits, evidence.messages),
            scopes=(scope.name,),
            origin=evidence.origin,
            reverts=target.version.id,
            buried=tombstones.buried,
            lifted=tombstones.lifted,
        )
        edits = {**plan.edits, **tombstones.edits}
        version = await self._versions.commit(edits, commits.write(commit)) if edits else None
        if version:
            await asyncio.to_thread(self._registry.of(scope).notebook.update)
        return RevertReceipt(
            how,
            target,
            version or "",
            paths=sorted(plan.edits),
            undone=[entry for entry in undone if entry.version.id != target.version.id],
            buried=len(tombstones.buried),
            lifted=len(tombstones.lifted),
        )

    async def _conflicts(self, plan: Plan, diffs: Sequence[FileDiff]) -> Sequence[Conflict]:
        files = await self._versions.files(plan.conflicts)
        return [
            Conflict(diff.path, _changed_since(diff, files.get(diff.path)))
            for diff in diffs
            if diff.path in plan.conflicts
        ]


def _changed_since(diff: FileDiff, now: bytes | None) -> Sequence[str]:
    """The lines that a version brought and that do not stand any more; if all do, those it did away with."""
    standing = {compared(line) for line in facts_in(now)}
    gone = [line for line in lines_brought(diff.before, diff.after) if compared(line) not in standing]
    return gone or lines_brought(diff.after, diff.before)


# Ages of lines and notes, from the history of their files.


MOST = 2000
"""Versions that are looked at; what is older than those is of unknown age."""


@dataclass(frozen=True, slots=True)
class Age:
    """Age of a line: when it was first written down, and when it was last confirmed or changed."""

    since: datetime
    confirmed: datetime


class Ages:
    """Ages of lines, by path and words, and of notes, by path."""

    def __init__(self, versions: Iterable[Version] = ()) -> None:
        """`versions`: the newest first."""
        self._lines: dict[tuple[str, str], Age] = {}
        self._files: dict[str, Age] = {}
        for version in reversed(list(versions)):
            commit = commits.parse(version.message)
            for operation in commit.operations if commit else ():
                self._take_in(operation, version.at)

    def of_line(self, path: str, line: str) -> Age | None:
        return self._lines.get((path, compared(line)))

    def of_note(self, path: str) -> Age | None:
        return self._files.get(path)

    def as_told(self, age: Age | None, now: datetime) -> Mapping[str, int]:
        """Fields for the model: days since a line was written down and since it was last confirmed."""
        if age is None:
            return {}
        return {"days_old": (now - age.since).days, "days_since_confirmed": (now - age.confirmed).days}

    def _take_in(self, operation: Operation, at: datetime) -> None:
        self._files[operation.file] = self._again(self._files.get(operation.file), at)
        if operation.verb in ("add", "replace", "confirm"):
            key = operation.file, compared(operation.text)
            self._lines[key] = self._again(self._lines.get(key), at)

    def _again(self, age: Age | None, at: datetime) -> Age:
        return Age(age.since if age else at, at)
