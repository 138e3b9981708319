"""Changes that wait for somebody's yes, and how they are made when it comes."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Literal

from nanobot.aio import ReadersWriterLock
from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.errors import VersionError
from nanobot.ids import new_token
from nanobot.memory.changes import Commit, VersionedWriter
from nanobot.memory.facts import operations
from nanobot.memory.redaction import Redaction
from nanobot.memory.scopes import MemoryRegistry
from nanobot.memory.tombstones import all_names, bury, encode
from nanobot.nlp.matcher import beginning
from nanobot.ports import Caller, Clock, Edit, ErasedPiece, ErasurePlan, ProposalStore, ProposedChange, StoreFindings
from nanobot.text import LineChange, line_changes, parse_time
from nanobot.workspace import is_versioned

log = logging.getLogger(__name__)

MOST = 20
"""Proposals of one scope that wait at the same time."""

MOST_CHANGED = 30_000
"""Characters of changed lines in one proposal: a person is to read all of them."""

MOST_HELD = 2_000_000
"""Bytes of all files of one proposal, as they are and as they shall be."""

LASTS = timedelta(days=30)
"""For which a proposal waits."""

_TRIES = 5
_MOST_LINES = 500  # that are compared with each other: that takes its time


@dataclass(frozen=True, slots=True)
class WorkspaceFiles:
    """Access to the files of the workspace, by path there. Both functions block.

    `replace` raises VersionError `conflict` if the file is not as the edit says that it was; both raise StoreError.
    """

    read: Callable[[str], bytes | None]
    replace: Callable[[str, Edit], None]


@dataclass(frozen=True, slots=True)
class Decision:
    """Outcome of a yes or a no.

    made      the files are changed now; `agreed` is who said yes
    rejected  nothing was changed, and the proposal is gone
    unfit     nothing was changed: the files have changed since, and `left` does not fit in any more (lines as in a
              diff, by path). `anew` is what is left of the proposal, None if nothing is.
    made_before  the same, when somebody had said yes earlier
    over      there is no such proposal (any more)
    not_yours somebody else has to decide
    """

    outcome: Literal["made", "made_before", "rejected", "unfit", "over", "not_yours"]
    proposal: ProposedChange | None = None
    left: Mapping[str, Sequence[str]] = field(default_factory=dict)
    anew: ProposedChange | None = None


class Proposals:
    """Proposals: kept before anybody is told of them, and gone once decided. One decision at a time."""

    def __init__(
        self,
        store: ProposalStore,
        writer: VersionedWriter,
        files: WorkspaceFiles,
        registry: MemoryRegistry,
        clock: Clock,
        erasure_lock: ReadersWriterLock,
    ) -> None:
        """`erasure_lock`: whoever erases is alone in it, so that nothing brings back what they erase."""
        self._store = store
        self._writer = writer
        self._files = files
        self._registry = registry
        self._clock = clock
        self._erasure_lock = erasure_lock
        self._deciding = asyncio.Lock()

    async def waiting(self, scope: Scope) -> Sequence[ProposedChange]:
        """Return the proposals of a scope, the oldest first. One that is `agreed` could not be made yet.

        Raises StoreError.
        """
        return [one for one in await self._all() if one.scope == scope.name]

    async def of_turn(self, turn: str) -> ProposedChange | None:
        """Return the proposals of a turn. Raises StoreError."""
        return next((one for one in await self._all() if turn and one.turn == turn and not one.agreed), None)

    async def unasked(self) -> Sequence[ProposedChange]:
        """Return the proposals whose question is to be put somewhere, and was not. Raises StoreError."""
        return [one for one in await self._all() if one.address and not (one.is_asked or one.agreed)]

    async def asked(self, name: str) -> None:
        """The question about this one is on its way. Raises StoreError."""
        await self._store.change(lambda every: [replace(one, is_asked=one.is_asked or one.id == name) for one in every])

    async def stage(
        self, path: PurePosixPath, edit: Edit, caller: Caller, origin: Origin, messages: Sequence[str]
    ) -> str:
        """Take a change of a file into the proposal of the caller's turn; why that cannot be, "" if it is done.

        What the turn changes again it has read as it stands there: the change counts from the file as it is.
        Raises StoreError.
        """
        refused = ""

        def add(every: Sequence[ProposedChange]) -> Sequence[ProposedChange]:
            nonlocal refused
            old = next((one for one in every if one.turn == caller.turn != "" and not one.agreed), None)
            known = old.edits if old else {}
            first = known.get(str(path), edit)
            edits = {**known, str(path): Edit(first.before, edit.after)}
            new = ProposedChange(
                id="",
                scope=caller.authority.scope.name,
                edits={name: one for name, one in edits.items() if one.before != one.after},
                origin=origin,
                messages=tuple(messages),
                turn=caller.turn,
                address=caller.address,
                person=caller.person,
                language=caller.language,
            )
            others = [one for one in every if one is not old]
            refused = _too_much(new, others) if new.edits else ""
            return every if refused else self._with(new, others)

        await self._store.change(add)
        return refused

    async def put(self, proposal: ProposedChange) -> str:
        """Let a whole one wait: what Dream would change. Its id and time are given here.

        Returns why that cannot be, "" if it is done. The same edits do not wait twice. Raises StoreError.
        """
        refused = ""

        def add(every: Sequence[ProposedChange]) -> Sequence[ProposedChange]:
            nonlocal refused
            refused = _too_much(proposal, every)
            is_known = any((one.scope, one.edits) == (proposal.scope, proposal.edits) for one in every)
            return every if refused or is_known else self._with(proposal, every)

        await self._store.change(add)
        return refused

    async def accept(self, name: str, authority: Authority, by: str) -> Decision:
        """Make the change, as whoever may has said (`by`: `channel:id`). Waits while something is being erased.

        Raises StoreError and VersionError: then it is made at the next start, or when yes is said again.
        """
        async with self._deciding, self._erasure_lock.passing():
            found = await self._find(name)
            if found is None:
                is_made = await self._writer.has_made(name.upper(), authority.scope.name)
                return Decision("made_before" if is_made else "over")
            if not _may_decide(authority, found):
                return Decision("not_yours", found)
            return await self._carry_out(found, by)

    async def reject(self, name: str, authority: Authority) -> Decision:
        """Leave the files as they are. What Dream would have changed does not come back from the same words.

        Raises StoreError, and VersionError `conflict`.
        """
        async with self._deciding:
            found = await self._find(name)
            if found is None or found.agreed:
                return Decision("over", found)
            if not _may_decide(authority, found):
                return Decision("not_yours", found)
            if found.source == "dream":
                await self._bury(found)
            await self._drop(found)
            return Decision("rejected", found)

    async def _bury(self, proposal: ProposedChange) -> None:
        at = self._clock.now().isoformat(timespec="seconds")
        known = operations(proposal.edits, all_names(proposal.messages))
        stones = [stone for operation in known for stone in bury(operation, scope=proposal.scope, at=at)]
        edits = {stone.path: Edit(None, encode(stone)) for stone in stones}
        files = ", ".join(proposal.edits)
        commit = Commit(kind="tool", subject=f"Not agreed to: {files}", scopes=(proposal.scope,))
        if edits:
            await self._writer.keep(edits, commit)

    async def resume(self) -> Sequence[Decision]:
        """Make what somebody had said yes to when a process ended. Raises StoreError and VersionError."""
        async with self._deciding, self._erasure_lock.passing():
            return [await self._carry_out(one, one.agreed) for one in await self._all() if one.agreed]

    async def _carry_out(self, proposal: ProposedChange, by: str) -> Decision:
        """Mark the proposal as agreed, and make the change: now, or after a crash, and only once."""
        if proposal.agreed and await self._writer.has_made(proposal.id, proposal.scope):
            await self._drop(proposal)
            return Decision("made", proposal)
        agreed = replace(proposal, agreed=by)
        await self._swap(proposal, agreed)
        for left in reversed(range(_TRIES)):
            now = {path: await asyncio.to_thread(self._files.read, path) for path in proposal.edits}
            fits = {path: put_in(edit, now[path]) for path, edit in proposal.edits.items()}
            edits = {path: Edit(now[path], fit.text) for path, fit in fits.items() if fit.text != now[path]}
            if unfit := {path: fit.left for path, fit in fits.items() if fit.left}:
                return await self._ask_anew(agreed, edits, unfit)
            try:
                await self._make(agreed, edits)
            except VersionError as error:
                if not left or error.kind != "conflict":
                    raise
                continue  # somebody else changed a file just now
            await self._drop(agreed)
            return Decision("made", agreed)
        raise AssertionError("unreachable")

    async def _make(self, proposal: ProposedChange, edits: Mapping[str, Edit]) -> None:
        messages = tuple(proposal.messages)
        commit = Commit(
            kind="tool",
            subject=f"Agreed to: {', '.join(edits)}",
            reason=proposal.reason,
            operations=operations(edits, messages),
            scopes=(proposal.scope,),
            origin=proposal.origin,
            turn=proposal.turn,
            proposal=proposal.id,
            agreed=proposal.agreed,
        )
        versioned = {path: edit for path, edit in edits.items() if is_versioned(PurePosixPath(path))}
        is_kept = bool(versioned) and await self._writer.keep(versioned, commit)
        for path, edit in edits.items():
            if not (is_kept and path in versioned):
                await asyncio.to_thread(self._files.replace, path, edit)
        await asyncio.to_thread(self._registry.of(Scope(proposal.scope)).notebook.update)

    async def _ask_anew(
        self, proposal: ProposedChange, edits: Mapping[str, Edit], left: Mapping[str, Sequence[str]]
    ) -> Decision:
        """Keep what still fits of a proposal as another one: nobody has seen that alone."""
        anew = replace(proposal, id=await self._new_id(), edits=edits, agreed="", is_asked=False) if edits else None
        await self._swap(proposal, anew)
        return Decision("unfit", proposal, left, anew)

    async def _find(self, name: str) -> ProposedChange | None:
        return next((one for one in await self._all() if one.id == name.upper()), None)

    async def _all(self) -> Sequence[ProposedChange]:
        """Return the proposals that are not too old: older ones are dropped."""
        now, every = self._clock.now(), await self._store.read()
        still = [one for one in every if one.agreed or not _is_old(one, now)]
        if len(still) != len(every):
            log.info("%d proposals are gone: nobody has answered for %s", len(every) - len(still), LASTS)
            kept = {one.id for one in still}
            await self._store.change(lambda them: [one for one in them if one.id in kept])
        return still

    async def _drop(self, proposal: ProposedChange) -> None:
        await self._swap(proposal, None)

    async def _swap(self, proposal: ProposedChange, other: ProposedChange | None) -> None:
        new = [other] if other else []
        await self._store.change(
            lambda every: [each for one in every for each in (new if one.id == proposal.id else [one])]
        )

    def _with(self, proposal: ProposedChange, others: Sequence[ProposedChange]) -> Sequence[ProposedChange]:
        """Add a proposal under an id that none of the others has: whoever says yes means what they have seen."""
        if not proposal.edits:
            return others
        at = self._clock.now().isoformat(timespec="seconds")
        return [*others, replace(proposal, id=_new_id({one.id for one in others}), at=proposal.at or at)]

    async def _new_id(self) -> str:
        return _new_id({one.id for one in await self._store.read()})


class ErasableProposals:
    """Erasable over what waits for a yes: it loses what the files lose, and goes with its turn, or with its person."""

    place = "proposals"

    def __init__(self, store: ProposalStore, path: Path) -> None:
        """`path` is where the store keeps them."""
        self._store = store
        self._path = path

    def owns(self, path: Path) -> bool:
        return path.parent == self._path.parent and path.name.startswith(self._path.name)

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        every = await self._store.read()
        pieces = [ErasedPiece(self._path.name, _told(one)) for one in every if _left_of(one, meant) != one]
        return StoreFindings(len(pieces), pieces)

    async def erase(self, meant: ErasurePlan) -> None:
        await self._store.change(lambda every: [left for one in every if (left := _left_of(one, meant))])


def _left_of(proposal: ProposedChange, meant: ErasurePlan) -> ProposedChange | None:
    """Return the remaining part of a proposal; None if nothing remains."""
    if not meant.reaches(proposal.scope):
        return proposal
    where = proposal.address
    messages = tuple(name for name in proposal.messages if not meant.takes_evidence(name))
    if (
        proposal.scope in meant.emptied
        or proposal.turn in meant.turns
        or (where and where.session_key in meant.sessions)
        or (where and f"{where.channel}:{proposal.person}" in meant.people)
        or (proposal.messages and not messages)
    ):
        return None
    rewriting = Redaction(meant)

    def kept(path: str, data: bytes | None) -> bytes | None:
        return None if data is None else rewriting.file(path, data)

    edits = {path: Edit(kept(path, one.before), kept(path, one.after)) for path, one in proposal.edits.items()}
    changing = {path: one for path, one in edits.items() if one.before != one.after}
    reason = meant.traces.without(proposal.reason, quoted=True)
    left = replace(proposal, edits=changing, reason=reason, messages=messages)
    return left if changing else None


def _told(proposal: ProposedChange) -> str:
    """Return the beginning of the first new line."""
    lines = (line for edit in proposal.edits.values() for line in changed_lines(edit))
    return beginning(next(lines, ", ".join(proposal.edits))[1:])


@dataclass(frozen=True, slots=True)
class Fit:
    """A file with a change put into it, as far as that can be told; `left` are lines of it, as in a diff, that cannot
    be: what stood there has become something else.
    """

    text: bytes | None
    left: Sequence[str] = ()


def put_in(edit: Edit, now: bytes | None) -> Fit:
    """Make a change in a file as it is now. What others did there since stays; what is there already is not made twice.

    A line that is new goes to its place, unless that place is gone.
    """
    if now in (edit.before, edit.after):
        return Fit(edit.after)
    if edit.before is None or edit.after is None or now is None or b"\0" in edit.before + edit.after + now:
        return Fit(now, changed_lines(edit))
    base = _lines(edit.before)
    mine, theirs = _changes(base, _lines(edit.after)), _changes(base, _lines(now))
    mine = [left for one in mine if (left := _without_known(one, theirs))]
    fitting = [one for one in mine if not any(one.overlaps(other) for other in theirs)]
    lines = list(base)
    for change in sorted([*fitting, *theirs], key=lambda one: (one.start, one.stop, one in theirs), reverse=True):
        lines[change.start : change.stop] = change.lines
    text = b"".join(lines)
    has_no_end = not edit.after.endswith(b"\n") and not now.endswith(b"\n")
    unfit = tuple(line for one in mine if one not in fitting for line in _told_lines(one, base))
    return Fit(text.removesuffix(b"\n") if has_no_end else text, unfit)


def changed_lines(edit: Edit) -> Sequence[str]:
    """The lines that a change takes away and brings, as in a diff."""
    base = _lines(edit.before or b"")
    return tuple(line for one in _changes(base, _lines(edit.after or b"")) for line in _told_lines(one, base))


def _told_lines(change: LineChange, base: Sequence[bytes]) -> Iterator[str]:
    yield from (f"-{_shown(line)}" for line in base[change.start : change.stop])
    yield from (f"+{_shown(line)}" for line in change.lines)


def _without_known(change: LineChange, others: Sequence[LineChange]) -> LineChange | None:
    """Return the part of a change that others have not made at the same place meanwhile."""
    there = [line for one in others if (one.start, one.stop) == (change.start, change.stop) for line in one.lines]
    if change.start < change.stop:
        same = any((one.start, one.stop) == (change.start, change.stop) and one.lines == change.lines for one in others)
        return None if same else change
    new = [line for line in change.lines if line not in there]
    return replace(change, lines=new) if new else None


def _changes(base: Sequence[bytes], lines: Sequence[bytes]) -> Sequence[LineChange]:
    """Return the changed parts; one part for all where much lies between the first and the last."""
    shorter = min(len(base), len(lines))
    head = next((at for at in range(shorter) if base[at] != lines[at]), shorter)
    tail = next((at for at in range(shorter - head) if base[-1 - at] != lines[-1 - at]), shorter - head)
    old, new = base[head : len(base) - tail], lines[head : len(lines) - tail]
    if max(len(old), len(new)) > _MOST_LINES:
        return [LineChange(head, head + len(old), new)]
    return [LineChange(head + one.start, head + one.stop, one.lines) for one in line_changes(old, new)]


def _lines(data: bytes) -> Sequence[bytes]:
    """Lines, each with an end: a line is the same one where it is not the last any more."""
    lines = data.splitlines(keepends=True)
    return [*lines[:-1], lines[-1] + b"\n"] if lines and not lines[-1].endswith(b"\n") else lines


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")


def _too_much(proposal: ProposedChange, others: Sequence[ProposedChange]) -> str:
    """Return the reason why a change cannot wait, for whoever proposes it; "" if it can."""
    if sum(one.scope == proposal.scope for one in others) >= MOST:
        return f"{MOST} changes wait for an answer already. The user must answer them first: /proposals lists them."
    edits = proposal.edits.values()
    if sum(len(edit.before or b"") + len(edit.after or b"") for edit in edits) > MOST_HELD:
        return f"the files are too large to be proposed: more than {MOST_HELD:,} bytes."
    if (length := sum(len(line) for edit in edits for line in changed_lines(edit))) > MOST_CHANGED:
        return (
            f"somebody has to read all of it before they say yes, and {length:,} characters are too many, the limit "
            f"is {MOST_CHANGED:,} for all changes of one answer. Propose less."
        )
    return ""


def _may_decide(authority: Authority, proposal: ProposedChange) -> bool:
    """An owner, for what lies where they speak; a member for their own memory."""
    if authority.role is Role.GUEST or authority.scope.name != proposal.scope:
        return False
    return authority.role is Role.OWNER or authority.scope.is_person


def is_waiting(proposal: ProposedChange, now: datetime) -> bool:
    """True if somebody may still say yes or no to it."""
    return not (proposal.agreed or _is_old(proposal, now))


def _is_old(proposal: ProposedChange, now: datetime) -> bool:
    """True if it waited for too long; a time that nobody can read is over."""
    began = parse_time(proposal.at)
    return began is None or began + LASTS < now


def _new_id(taken: Collection[str]) -> str:
    while (name := new_token()) in taken:
        pass
    return name
