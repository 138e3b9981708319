"""The tombstones that going back makes and takes away."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from nanobot.authority import Scope
from nanobot.memory.commits import Operation
from nanobot.memory.facts import compared
from nanobot.memory.operations import facts_in, lines_brought
from nanobot.memory.timeline import Entry, is_tombstone, owned
from nanobot.memory.tombstones import Tombstone, all_names, bury, decode, encode
from nanobot.ports import Edit, FileDiff


class Burials:
    """What becomes of a scope's tombstones when versions are taken back, the newest first."""

    def __init__(self, scope: Scope, files: Mapping[str, bytes], edits: Mapping[str, Edit], at: str) -> None:
        """`files` as they are, tombstones included; `edits` is what going back does to them; `at` is now, RFC 3339."""
        self._scope = scope
        self._owned = owned(scope)
        self._after = {**files, **{path: edit.after for path, edit in edits.items()}}
        self._at = at
        self._before = {path: data for path, data in files.items() if self._is_ours(path, data)}
        self._stones = dict(self._before)
        self._claims = {path: _timeless(stone) for path, data in self._stones.items() if (stone := decode(data))}

    def take_back(self, entry: Entry, diffs: Sequence[FileDiff]) -> None:
        """One version is taken back. What it had taken back itself, holds again: its tombstones are lifted."""
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
        """What is to be committed."""
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
        brought = [line for diff in diffs if diff.path == operation.file for line in _brought(diff)]
        lines = [line for line in brought if compared(line) not in standing] if operation.verb == "write" else []
        known = replace(operation, messages=all_names(operation.messages))
        for stone in bury(known, scope=self._scope.name, at=self._at, lines=lines):
            if self._holds(stone, operation, standing, is_note_changed=after is None or bool(lines)):
                yield stone

    def _holds(self, stone: Tombstone, operation: Operation, standing: set[str], *, is_note_changed: bool) -> bool:
        """Whether the claim is true of the files as they will be."""
        if stone.undone == "merge":
            return any(self._after.get(path) is not None for path in operation.merged if path != operation.file)
        if operation.verb == "write":
            return is_note_changed
        if operation.verb == "delete":
            return self._after.get(operation.file) is not None
        return (compared(stone.claim) in standing) == (stone.undone == "remove")


def _brought(diff: FileDiff) -> Sequence[str]:
    return lines_brought(diff.before, diff.after)


def _timeless(stone: Tombstone) -> Tombstone:
    """What it says, whenever that was undone."""
    return replace(stone, at="")


def _names(paths: "set[str]") -> tuple[str, ...]:
    return tuple(sorted(PurePosixPath(path).stem for path in paths))
