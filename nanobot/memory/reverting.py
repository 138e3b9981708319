"""Going back to what was remembered before, with a receipt."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nanobot.authority import Scope
from nanobot.errors import VersionError
from nanobot.memory import commits
from nanobot.memory.burying import Burials
from nanobot.memory.commits import Commit
from nanobot.memory.facts import compared
from nanobot.memory.files import Places
from nanobot.memory.keeping import Asked, Keeping
from nanobot.memory.operations import facts_in, lines_brought, operations
from nanobot.memory.passage import Passage
from nanobot.memory.shelves import Shelves
from nanobot.memory.timeline import Entry, Timeline, entry_of, owned
from nanobot.memory.tombstones import FOLDER
from nanobot.ports import Clock, FileDiff, Plan, VersionStore

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
class Receipt:
    """What came of going back.

    `target` is the version that was named, `version` the id of the one that this made, "" if nothing was changed:
    then there are `conflicts`, or nothing was left to take back. `undone` are the other versions whose changes were
    taken back with it, the newest first. `buried` and `lifted` count tombstones.
    """

    how: How
    target: Entry
    version: str = ""
    paths: Sequence[str] = ()
    undone: Sequence[Entry] = ()
    conflicts: Sequence[Conflict] = ()
    buried: int = 0
    lifted: int = 0


class Reverting:
    """Restores and undoes, each as a version of its own. Asks nobody: whoever calls has made sure that they may."""

    def __init__(
        self,
        versions: VersionStore,
        timeline: Timeline,
        keeping: Keeping,
        shelves: Shelves,
        clock: Clock,
        passage: Passage,
    ) -> None:
        """`passage`: whoever erases is alone in it, so that nothing brings back what they erase."""
        self._versions = versions
        self._timeline = timeline
        self._keeping = keeping
        self._shelves = shelves
        self._clock = clock
        self._passage = passage

    async def go_back(self, how: How, reference: str, asked: Asked) -> Receipt:
        """Restore the files of the asker's scope to what they were before a version, or undo just that version.

        Only files that Dream may write. Waits while something is being erased. Raises VersionError; then nothing has
        changed.
        """
        async with self._passage.passing():
            return await self._go_back(how, reference, asked)

    async def _go_back(self, how: How, reference: str, asked: Asked) -> Receipt:
        scope = asked.authority.scope
        target, diffs = await self._timeline.shown(scope, reference)
        for left in reversed(range(_TRIES)):
            plan = await self._plan(how, target, scope)
            if plan.conflicts:
                return Receipt(how, target, conflicts=await self._conflicts(plan, diffs))
            try:
                return await self._commit(how, target, plan, asked)
            except VersionError as error:
                if not left or error.kind != "conflict":
                    raise
        raise AssertionError("unreachable")

    async def _plan(self, how: How, target: Entry, scope: Scope) -> Plan:
        plan = self._versions.plan_restore if how == "restore" else self._versions.plan_undo
        return await plan(target.version.id, owned(scope))

    async def _commit(self, how: How, target: Entry, plan: Plan, asked: Asked) -> Receipt:
        scope, grounds = asked.authority.scope, await self._keeping.grounds(asked)
        undone = [entry for entry in (entry_of(version, scope) for version in plan.undone) if entry]
        files = await self._versions.files([*Places(scope).within, FOLDER])
        burials = Burials(scope, files, plan.edits, self._clock.now().isoformat(timespec="seconds"))
        changes = await self._versions.diffs([entry.version for entry in undone])
        for entry, diffs in zip(undone, changes, strict=True):
            burials.take_back(entry, diffs)
        commit = Commit(
            kind=how,
            subject=_SUBJECTS[how].format(version=target.version.id[:7]),
            operations=operations(plan.edits, grounds.messages),
            scopes=(scope.name,),
            origin=grounds.origin,
            reverts=target.version.id,
            buried=burials.buried,
            lifted=burials.lifted,
        )
        edits = {**plan.edits, **burials.edits}
        version = await self._versions.commit(edits, commits.write(commit)) if edits else None
        if version:
            await asyncio.to_thread(self._shelves.of(scope).notebook.update)
        return Receipt(
            how,
            target,
            version or "",
            paths=sorted(plan.edits),
            undone=[entry for entry in undone if entry.version.id != target.version.id],
            buried=len(burials.buried),
            lifted=len(burials.lifted),
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
