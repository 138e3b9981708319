"""Landing: admitted proposals become one version, all of them or none."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from nanobot.authority import Scope, least
from nanobot.errors import VersionError
from nanobot.i18n import language_of, say
from nanobot.memory import changes as commits
from nanobot.memory.changes import Commit
from nanobot.memory.dream.evidence import Evidence
from nanobot.memory.dream.input import EpisodeBatch, InputReader
from nanobot.memory.dream.operations import Proposal, RefusedOperation
from nanobot.memory.dream.report import LeftOut, ReportedChange
from nanobot.memory.dream.validator import ProposalValidator, ValidatedDraft
from nanobot.memory.episodes.transcript_text import shortened
from nanobot.memory.facts import compared
from nanobot.memory.proposals import Proposals, changed_lines
from nanobot.ports import Edit, ProposedChange, VersionStore

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
class _Combined:
    """Edits and changes of all scopes together."""

    edits: dict[str, Edit] = field(default_factory=dict)
    changes: list[ReportedChange] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    left: list[LeftOut] = field(default_factory=list)
    asked: list[ProposedChange] = field(default_factory=list)
    staged: list[ReportedChange] = field(default_factory=list)


class Landing:
    """Puts the admitted proposals of a batch into memory."""

    def __init__(self, reader: InputReader, versions: VersionStore, proposals: Proposals) -> None:
        self._reader = reader
        self._versions = versions
        self._proposals = proposals

    async def land(self, batch: EpisodeBatch, proposals: Mapping[Scope, Sequence[Proposal]]) -> LandingResult:
        """Apply the proposals to the files as they are now, and commit. Raises VersionError; then nothing changed.

        Changes of SOUL.md wait for an owner's yes. They are kept before the commit, so that no crash loses them.
        """
        for left in reversed(range(_TRIES)):
            combined = _Combined()
            for scope, of_scope in proposals.items():
                await self._apply(of_scope, scope, batch, combined)
            await self._stage(combined)
            if not combined.edits:
                return LandingResult(left=combined.left, staged=combined.staged)
            try:
                version = await self._versions.commit(combined.edits, _message(batch, combined), "dream")
            except VersionError as error:
                if error.kind == "refused":
                    self._reader.lock(error.paths)
                if not left or error.kind not in ("conflict", "refused") or not error.paths:
                    raise
                log.info("dream: %s; once more on top of it", error)
            else:
                return LandingResult(
                    version or "", combined.staged, combined.edits.keys(), combined.changes, combined.left
                )
        raise AssertionError("unreachable")

    async def _stage(self, combined: _Combined) -> None:
        for proposal in combined.asked:
            if refused := await self._proposals.put(proposal):
                log.info("dream: a change of SOUL.md is left out: %s", refused)
                combined.staged.clear()

    async def _apply(
        self, proposals: Sequence[Proposal], scope: Scope, batch: EpisodeBatch, combined: _Combined
    ) -> None:
        """Add to `combined` what the proposals of one scope come to."""
        given = await self._reader.read(scope, batch)
        draft, validator = given.draft, ProposalValidator(given)
        proposed, waiting = draft.places.proposed, await self._waiting(scope)
        admitted: list[ValidatedDraft] = []
        for proposal in proposals:
            if proposal.file in (*proposed, *proposed.values()) and _changes(proposal) & waiting:
                continue  # somebody is to decide about just this
            try:
                admitted.append(validator.admit(proposal, draft))
            except RefusedOperation as refused:
                log.info("dream: left out of %s: %s (%s)", scope, proposal.do, refused.kind)
                combined.left.append(LeftOut(scope, "late" if refused.kind == "missing" else refused.kind))
                continue
            draft = admitted[-1].draft
        edits = dict(draft.edits())
        if held := {path: edits.pop(path) for path in proposed.values() if path in edits}:
            of_held = [one for one in admitted if one.operation.file in held and one.is_news]
            combined.asked.append(_proposed(scope, held, of_held))
            combined.staged += [ReportedChange(scope, one.operation) for one in of_held]
        combined.evidence += [one.evidence for one in admitted if one.evidence]
        if edits:
            combined.edits |= edits
            operations = dict.fromkeys(one.operation for one in admitted if one.operation.file not in proposed.values())
            combined.changes += [ReportedChange(scope, operation) for operation in operations]

    async def _waiting(self, scope: Scope) -> set[str]:
        """The lines that a dream would change already, as in a diff, if somebody said yes."""
        edits = (edit for one in await self._proposals.waiting(scope) for edit in one.edits.values())
        return {f"{line[:1]}{compared(line[1:])}" for edit in edits for line in changed_lines(edit)}


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


def _message(batch: EpisodeBatch, combined: _Combined) -> str:
    counts = {verb: sum(change.operation.verb == verb for change in combined.changes) for verb in _VERBS}
    told = ", ".join(f"{count} {_VERBS[verb]}" for verb, count in counts.items() if count)
    left = ", ".join(sorted({one.kind for one in combined.left}))
    staged = "\nWhat SOUL.md shall say waits for an owner's yes." if combined.staged else ""
    read = f"summary {batch.first}" if batch.first == batch.last else f"summaries {batch.first} to {batch.last}"
    return commits.write(
        Commit(
            kind="dream",
            subject=f"Dream: {told}",
            reason=f"Read {read} of what was said." + (f"\nLeft out: {left}." if left else "") + staged,
            operations=tuple(change.operation for change in combined.changes),
            scopes=tuple(sorted({change.scope.name for change in combined.changes})),
            origin=least(*(one.origin for one in combined.evidence)) if combined.evidence else None,
            cursor=batch.through,
        )
    )
