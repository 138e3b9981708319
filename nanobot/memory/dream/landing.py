"""Landing: the episodes read at once, and how a draft becomes a version, all of it or nothing."""

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nanobot.authority import Scope, least
from nanobot.errors import StoreError, VersionError
from nanobot.i18n import language_of, say
from nanobot.memory import changes as commits
from nanobot.memory import tombstones
from nanobot.memory.changes import Commit
from nanobot.memory.dream.draft import Draft
from nanobot.memory.dream.evidence import Evidence, EvidenceIndex
from nanobot.memory.dream.operations import DreamLimits, Proposal, RefusedOperation
from nanobot.memory.dream.report import LeftOut, ReportedChange
from nanobot.memory.dream.validator import ProposalValidator, ValidatedDraft
from nanobot.memory.episodes.transcript_text import shortened
from nanobot.memory.facts import compared
from nanobot.memory.history import MOST, Ages
from nanobot.memory.proposals import Proposals, changed_lines
from nanobot.memory.scopes import ScopePaths
from nanobot.ports import Clock, DreamBook, Edit, Episode, Episodes, ProposedChange, SessionStore, VersionStore
from nanobot.transcript import Message, Span

# The episodes that are read at once, and what they were made of.


CALLS_PER_SCOPE = 2
"""The question, and what is told once about the answer."""

LEAST_TOKENS = 6000
"""Of one call; where a run may spend less on each, fewer scopes are asked about."""


@dataclass(frozen=True, slots=True)
class DreamStores:
    """Stores that Dream reads and writes."""

    episodes: Episodes
    sessions: SessionStore
    versions: VersionStore
    book: DreamBook
    proposals: Proposals


@dataclass(frozen=True)
class EpisodeBatch:
    """A contiguous piece of history behind the cursor, or an episode once more that was given up.

    All through `taken_in` was taken in before.
    """

    episodes: Sequence[Episode]
    witnesses: Mapping[Scope, EvidenceIndex]
    taken_in: int = 0

    @property
    def first(self) -> int:
        return self.episodes[0].cursor

    @property
    def last(self) -> int:
        return self.episodes[-1].cursor

    @property
    def through(self) -> int:
        """All through this episode is taken in when it has landed."""
        return max(self.last, self.taken_in)

    @property
    def is_again(self) -> bool:
        """True if it was given up before."""
        return self.last <= self.taken_in

    @property
    def scopes(self) -> Sequence[Scope]:
        """In the order in which they come up."""
        return list(dict.fromkeys(episode.scope for episode in self.episodes))

    def of(self, scope: Scope) -> Sequence[Episode]:
        return [episode for episode in self.episodes if episode.scope == scope]


async def next_batch(stores: DreamStores, cursor: int, limits: DreamLimits, most: int) -> EpisodeBatch:
    """At most so many episodes behind the cursor, of as many scopes as one run can ask about. Raises StoreError."""
    found = await stores.episodes.after(cursor, most)
    scopes_at_once = max(1, min(limits.steps, limits.tokens // LEAST_TOKENS) // CALLS_PER_SCOPE)
    return await _with_witnesses(stores, _few_scopes(found, scopes_at_once), cursor)


async def once_more(stores: DreamStores, cursor: int, taken_in: int) -> EpisodeBatch:
    """An episode that was given up; nothing if it is there no more. Raises StoreError."""
    episode = await stores.episodes.get(cursor)
    return await _with_witnesses(stores, [episode] if episode else [], taken_in)


async def _with_witnesses(stores: DreamStores, episodes: Sequence[Episode], taken_in: int) -> EpisodeBatch:
    spans: defaultdict[str, set[Span]] = defaultdict(set)
    for episode in episodes:
        spans[episode.session].add(episode.messages)
    sessions = {key: await _messages(stores.sessions, key, wanted) for key, wanted in spans.items()}
    scopes = {episode.scope for episode in episodes}
    return EpisodeBatch(episodes, {scope: EvidenceIndex(scope, episodes, sessions) for scope in scopes}, taken_in)


def _few_scopes(episodes: Sequence[Episode], most: int) -> Sequence[Episode]:
    """The first ones, up to where one more scope would come up than can be asked about."""
    seen: set[Scope] = set()
    for place, episode in enumerate(episodes):
        seen.add(episode.scope)
        if len(seen) > most:
            return episodes[:place]
    return episodes


async def _messages(sessions: SessionStore, key: str, spans: Collection[Span]) -> Sequence[Message]:
    """The messages of a session's episodes; none if it cannot be read, so that its episodes must do as evidence."""
    try:
        return await sessions.between(key, spans)
    except (StoreError, ValueError):
        return ()


# How a draft becomes a version: all of it or nothing, on top of what is there by then.


log = logging.getLogger(__name__)

_TRIES = 4
_LONGEST_REASON = 500  # characters

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
class LandingResult:
    """Result of landing; `version` is "" if there was nothing to commit, or no history to commit to.

    `staged` waits for an owner's yes.
    """

    version: str = ""
    staged: Sequence[ReportedChange] = ()
    paths: Collection[str] = ()
    changes: list[ReportedChange] = field(default_factory=list)
    left: list[LeftOut] = field(default_factory=list)


@dataclass
class _Whole:
    """Edits and changes of all scopes together."""

    edits: dict[str, Edit] = field(default_factory=dict)
    changes: list[ReportedChange] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    left: list[LeftOut] = field(default_factory=list)
    asked: list[ProposedChange] = field(default_factory=list)
    staged: list[ReportedChange] = field(default_factory=list)


class Landing:
    """The memory of all scopes, as it is: drafts are begun on it, and at the end put down on it."""

    def __init__(self, stores: DreamStores, clock: Clock, limits: DreamLimits) -> None:
        self._versions = stores.versions
        self._episodes = stores.episodes
        self._proposals = stores.proposals
        self._clock = clock
        self._limits = limits
        self._skipped: set[str] = set()
        self._ages: dict[Scope, Ages] = {}

    async def commit_hand_edits(self) -> None:
        """Commit the hand edits as people's own. Raises VersionError."""
        self._skipped |= (await self._versions.commit_hand_edits()).skipped.keys()

    async def open(self, scope: Scope) -> tuple[Draft, Collection[tombstones.Tombstone], Ages]:
        """The files of a scope, its tombstones, and how old its memories are. Raises VersionError, StoreError."""
        files = await self._versions.files([*ScopePaths(scope).within, tombstones.FOLDER])
        if scope not in self._ages:
            self._ages[scope] = await self._read_ages(scope)
        own = [stone for stone in tombstones.read(files).values() if stone.scope == scope.name]
        buried = [await self._with_messages(stone) for stone in own]
        return Draft.of(scope, files, self._skipped), buried, self._ages[scope]

    def gate(
        self, scope: Scope, batch: EpisodeBatch, buried: Collection[tombstones.Tombstone], ages: Ages
    ) -> ProposalValidator:
        """Return the validator of a scope."""
        return ProposalValidator(batch.witnesses[scope], buried, ages, self._limits, self._clock.now())

    async def put_down(self, batch: EpisodeBatch, wished: Mapping[Scope, Sequence[Proposal]]) -> LandingResult:
        """Apply the proposals to the files as they are now, and commit. Raises VersionError; then nothing changed.

        What SOUL.md shall say waits for an owner's yes, and does so before the commit: it is not lost with the process.
        """
        for left in reversed(range(_TRIES)):
            whole = await self._whole(batch, wished)
            for proposal in whole.asked:
                if refused := await self._proposals.put(proposal):
                    log.info("dream: a change of SOUL.md is left out: %s", refused)
                    whole.staged.clear()
            if not whole.edits:
                return LandingResult(left=whole.left, staged=whole.staged)
            try:
                version = await self._versions.commit(whole.edits, _message(batch, whole), "dream")
            except VersionError as error:
                self._skipped |= set(error.paths) if error.kind == "refused" else set()
                if not left or error.kind not in ("conflict", "refused") or not error.paths:
                    raise
                log.info("dream: %s; once more on top of it", error)
            else:
                return LandingResult(version or "", whole.staged, whole.edits.keys(), whole.changes, whole.left)
        raise AssertionError("unreachable")

    async def _whole(self, batch: EpisodeBatch, wished: Mapping[Scope, Sequence[Proposal]]) -> _Whole:
        whole = _Whole()
        for scope, proposals in wished.items():
            draft, buried, ages = await self.open(scope)
            gate = self.gate(scope, batch, buried, ages)
            proposed, waiting = draft.places.proposed, await self._waiting(scope)
            admitted: list[ValidatedDraft] = []
            for proposal in proposals:
                if proposal.file in (*proposed, *proposed.values()) and _changes(proposal) & waiting:
                    continue  # somebody is to decide about just this
                try:
                    admitted.append(gate.admit(proposal, draft))
                except RefusedOperation as refused:
                    log.info("dream: left out of %s: %s (%s)", scope, proposal.do, refused.kind)
                    whole.left.append(LeftOut(scope, "late" if refused.kind == "missing" else refused.kind))
                    continue
                draft = admitted[-1].draft
            edits = dict(draft.edits())
            if held := {path: edits.pop(path) for path in proposed.values() if path in edits}:
                of_held = [one for one in admitted if one.operation.file in held and one.is_news]
                whole.asked.append(_proposed(scope, held, of_held))
                whole.staged += [ReportedChange(scope, one.operation) for one in of_held]
            whole.evidence += [one.evidence for one in admitted if one.evidence]
            if edits:
                whole.edits |= edits
                told = dict.fromkeys(one.operation for one in admitted if one.operation.file not in proposed.values())
                whole.changes += [ReportedChange(scope, operation) for operation in told]
        return whole

    async def _waiting(self, scope: Scope) -> set[str]:
        """The lines that a dream would change already, as in a diff, if somebody said yes."""
        edits = (edit for one in await self._proposals.waiting(scope) for edit in one.edits.values())
        return {f"{line[:1]}{compared(line[1:])}" for edit in edits for line in changed_lines(edit)}

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
            return Ages(await self._versions.log(MOST, within=ScopePaths(scope).within))
        except VersionError as error:
            if error.kind not in ("missing", "unknown"):
                raise
            return Ages()


def _changes(proposal: Proposal) -> set[str]:
    """The lines that a proposal would change, as in a diff."""
    new, old = proposal.do in ("add", "replace"), proposal.do in ("remove", "replace")
    return {*([f"+{compared(proposal.text)}"] if new else ()), *([f"-{compared(proposal.old)}"] if old else ())}


def _proposed(scope: Scope, edits: Mapping[str, Edit], admitted: Sequence[ValidatedDraft]) -> ProposedChange:
    """Return the proposal to ask about, with its evidence."""
    evidence = [one.evidence for one in admitted if one.evidence]
    said = "\n".join(dict.fromkeys(one.own_words for one in evidence))
    language = language_of(said)
    return ProposedChange(
        id="",
        scope=scope.name,
        edits=edits,
        source="dream",
        origin=least(*(one.origin for one in evidence)) if evidence else None,
        reason=say("dream.soul_reason", language, said=shortened(" ".join(said.split()), _LONGEST_REASON)),
        messages=tuple(dict.fromkeys(name for one in evidence for name in one.ids)),
        language=language,
    )


def _message(batch: EpisodeBatch, whole: _Whole) -> str:
    counts = {verb: sum(change.operation.verb == verb for change in whole.changes) for verb in _VERBS}
    told = ", ".join(f"{count} {_VERBS[verb]}" for verb, count in counts.items() if count)
    left = ", ".join(sorted({one.kind for one in whole.left}))
    staged = "\nWhat SOUL.md shall say waits for an owner's yes." if whole.staged else ""
    read = f"summary {batch.first}" if batch.first == batch.last else f"summaries {batch.first} to {batch.last}"
    return commits.write(
        Commit(
            kind="dream",
            subject=f"Dream: {told}",
            reason=f"Read {read} of what was said." + (f"\nLeft out: {left}." if left else "") + staged,
            operations=tuple(change.operation for change in whole.changes),
            scopes=tuple(sorted({change.scope.name for change in whole.changes})),
            origin=least(*(one.origin for one in whole.evidence)) if whole.evidence else None,
            cursor=batch.through,
        )
    )
