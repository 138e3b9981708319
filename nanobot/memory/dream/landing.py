"""How a draft becomes a version: all of it or nothing, on top of what is there by then."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nanobot.authority import Scope, least
from nanobot.errors import VersionError
from nanobot.memory import commits, tombstones
from nanobot.memory.commits import Commit, Operation
from nanobot.memory.dream.ages import MOST, Ages
from nanobot.memory.dream.batch import Batch, Stores
from nanobot.memory.dream.draft import Draft, Places
from nanobot.memory.dream.evidence import Evidence
from nanobot.memory.dream.gate import Gate
from nanobot.memory.dream.limits import Limits
from nanobot.memory.dream.proposals import Proposal
from nanobot.memory.dream.refused import Refused
from nanobot.memory.dream.report import Change, Left
from nanobot.ports import Clock, Edit

log = logging.getLogger(__name__)

_TRIES = 4

_VERBS = {
    "add": "added",
    "replace": "changed",
    "remove": "removed",
    "confirm": "confirmed",
    "write": "notes written",
    "delete": "notes dropped",
    "merge": "notes merged",
}


@dataclass
class Landed:
    """What came of it; `version` is "" if there was nothing to commit, or no history to commit to."""

    version: str = ""
    paths: Collection[str] = ()
    changes: list[Change] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)


@dataclass
class _Whole:
    """What all scopes together come to."""

    edits: dict[str, Edit] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)


class Land:
    """The memory of all scopes, as it is: drafts are begun on it, and at the end put down on it."""

    def __init__(self, stores: Stores, clock: Clock, limits: Limits) -> None:
        self._versions = stores.versions
        self._episodes = stores.episodes
        self._clock = clock
        self._limits = limits
        self._skipped: set[str] = set()
        self._ages: dict[Scope, Ages] = {}

    async def commit_hand_edits(self) -> None:
        """What people changed is theirs. Raises VersionError."""
        self._skipped |= (await self._versions.commit_hand_edits()).skipped.keys()

    async def open(self, scope: Scope) -> tuple[Draft, Collection[tombstones.Tombstone], Ages]:
        """The files of a scope, its tombstones, and how old its memories are. Raises VersionError, StoreError."""
        files = await self._versions.files([*Places(scope).within, tombstones.FOLDER])
        if scope not in self._ages:
            self._ages[scope] = await self._read_ages(scope)
        own = [stone for stone in tombstones.read(files).values() if stone.scope == scope.name]
        buried = [await self._with_messages(stone) for stone in own]
        return Draft.of(scope, files, self._skipped), buried, self._ages[scope]

    def gate(self, scope: Scope, batch: Batch, buried: Collection[tombstones.Tombstone], ages: Ages) -> Gate:
        """Who decides what gets in."""
        return Gate(batch.witnesses[scope], buried, ages, self._limits, self._clock.now())

    async def put_down(self, batch: Batch, wished: Mapping[Scope, Sequence[Proposal]]) -> Landed:
        """Apply the proposals to the files as they are now, and commit. Raises VersionError; then nothing changed."""
        for left in reversed(range(_TRIES)):
            whole = await self._whole(batch, wished)
            if not whole.edits:
                return Landed(left=whole.left)
            try:
                version = await self._versions.commit(whole.edits, _message(batch, whole), "dream")
            except VersionError as error:
                self._skipped |= set(error.paths) if error.kind == "refused" else set()
                if not left or error.kind not in ("conflict", "refused") or not error.paths:
                    raise
                log.info("dream: %s; once more on top of it", error)
            else:
                return Landed(version or "", whole.edits.keys(), whole.changes, whole.left)
        raise AssertionError("unreachable")

    async def _whole(self, batch: Batch, wished: Mapping[Scope, Sequence[Proposal]]) -> _Whole:
        whole = _Whole()
        for scope, proposals in wished.items():
            draft, buried, ages = await self.open(scope)
            gate = self.gate(scope, batch, buried, ages)
            operations: dict[Operation, None] = {}
            for proposal in proposals:
                try:
                    admitted = gate.admit(proposal, draft)
                except Refused as refused:
                    log.info("dream: left out of %s: %s (%s)", scope, proposal.do, refused.kind)
                    whole.left.append(Left(scope, "late" if refused.kind == "missing" else refused.kind))
                    continue
                draft = admitted.draft
                operations[admitted.operation] = None
                whole.evidence += [admitted.evidence] if admitted.evidence else []
            if edits := draft.edits():
                whole.edits |= edits
                whole.changes += [Change(scope, operation) for operation in operations]
        return whole

    async def _with_messages(self, stone: tombstones.Tombstone) -> tombstones.Tombstone:
        """The tombstone that knows its episodes by their messages, too: they may have become another episode."""
        names: list[str] = []
        for name in stone.evidence:
            kind, _, number = name.partition(":")
            episode = await self._episodes.get(int(number)) if kind == "episode" and number.isdecimal() else None
            if episode is not None:
                names += [*episode.messages, *(message for fact in episode.facts for message in fact.messages)]
        return replace(stone, evidence=(*stone.evidence, *names))

    async def _read_ages(self, scope: Scope) -> Ages:
        try:
            return Ages(await self._versions.log(MOST, within=Places(scope).within))
        except VersionError as error:
            if error.kind not in ("missing", "unknown"):
                raise
            return Ages()


def _message(batch: Batch, whole: _Whole) -> str:
    counts = {verb: sum(change.operation.verb == verb for change in whole.changes) for verb in _VERBS}
    told = ", ".join(f"{count} {_VERBS[verb]}" for verb, count in counts.items() if count)
    left = ", ".join(sorted({one.kind for one in whole.left}))
    read = f"summary {batch.first}" if batch.first == batch.last else f"summaries {batch.first} to {batch.last}"
    return commits.write(
        Commit(
            kind="dream",
            subject=f"Dream: {told}",
            reason=f"Read {read} of what was said." + (f"\nLeft out: {left}." if left else ""),
            operations=tuple(change.operation for change in whole.changes),
            scopes=tuple(sorted({change.scope.name for change in whole.changes})),
            origin=least(*(one.origin for one in whole.evidence)) if whole.evidence else None,
            cursor=batch.through,
        )
    )
