"""The one way into a draft: every check that code makes of a proposal."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from nanobot.memory.commits import Operation
from nanobot.memory.dream.again import check_return
from nanobot.memory.dream.ages import Ages
from nanobot.memory.dream.draft import Draft
from nanobot.memory.dream.editing import Change, apply, is_same
from nanobot.memory.dream.evidence import Evidence, Witnesses
from nanobot.memory.dream.head import facts_of
from nanobot.memory.dream.limits import Limits
from nanobot.memory.dream.origins import worded
from nanobot.memory.dream.proposals import Proposal
from nanobot.memory.dream.refused import Refused
from nanobot.memory.dream.shares import check_merge, check_share
from nanobot.memory.dream.texts import fit
from nanobot.memory.tombstones import Tombstone, Undone


@dataclass(frozen=True)
class Admitted:
    """The draft with a proposal in it, and what the commit says of it; `is_news` is False if nothing changed."""

    draft: Draft
    operation: Operation
    evidence: Evidence | None
    is_news: bool = True


class Gate:
    """Lets in what may be in the memory of one scope."""

    def __init__(
        self, witnesses: Witnesses, tombstones: Collection[Tombstone], ages: Ages, limits: Limits, now: datetime
    ) -> None:
        """`tombstones`: those of this scope."""
        self._witnesses = witnesses
        self._tombstones = tombstones
        self._ages = ages
        self._limits = limits
        self._now = now

    def admit(self, proposal: Proposal, draft: Draft) -> Admitted:
        """Carry out a proposal on a draft. Raises Refused; then the draft is as it was."""
        fitted = fit(proposal, self._limits)
        evidence = self._evidence(fitted, draft)
        day, ids = (evidence.day, evidence.ids) if evidence else (self._today, ())
        change = apply(fitted, draft, day)
        if change.known:
            confirmed = replace(change.operation, verb="confirm", messages=ids)
            return Admitted(draft, confirmed, evidence, is_news=False)
        remark = self._check_undone(change, evidence)
        fitting = worded(fitted, change, evidence)
        change = change if fitting == fitted else apply(fitting, draft, day)
        operation = replace(change.operation, messages=ids)
        self._check_amount(fitting, change, draft)
        return Admitted(change.draft, replace(operation, remark=remark), evidence)

    @property
    def _today(self) -> date:
        return self._now.date()

    def _evidence(self, proposal: Proposal, draft: Draft) -> Evidence | None:
        """What a proposal rests on; None for what only tidies up and brings nothing new."""
        if proposal.evidence or proposal.do in ("add", "replace", "write"):
            return self._witnesses.of(proposal.evidence)
        if proposal.do == "remove":
            path = draft.file(proposal.file)
            alike = [line for _, line in facts_of(draft.text(path)) if is_same(line, proposal.old)]
            if len(alike) < 2:
                return self._witnesses.of(())
        return None

    def _check_amount(self, proposal: Proposal, change: Change, draft: Draft) -> None:
        limits, after, operation = self._limits, change.draft, change.operation
        if operation.verb == "merge":
            check_merge(draft, operation.merged, after.text(operation.file), limits.max_removed)
        elif operation.verb == "delete":
            self._check_drop(operation.file, draft, has_evidence=bool(proposal.evidence))
        else:
            check_share(after, [operation.file], limits.max_removed)
        grown = len(after.text(operation.file).encode("utf-8", "surrogateescape"))
        if grown > max(limits.file, len(draft.text(operation.file).encode("utf-8", "surrogateescape"))):
            raise Refused("size", f"{operation.file} would be longer than {limits.file:,} bytes. Write a note instead.")
        if len(after.notes) > max(limits.max_notes, len(draft.notes)):
            raise Refused("full", f"There are {limits.max_notes} notes, and there may be no more. Merge some first.")

    def _check_drop(self, path: str, draft: Draft, *, has_evidence: bool) -> None:
        """A note goes as a whole only if it says next to nothing, or if it is stale and there are too many."""
        if has_evidence and len(facts_of(draft.text(path))) <= 1:
            return
        before = [note for note in draft.before if draft.places.is_note(note)]
        age = self._ages.of_note(path)
        days = (self._now - age.confirmed).days if age else None
        if len(before) <= self._limits.max_notes or days is None or days < self._limits.stale_days:
            raise Refused("share", f"{path} is neither stale nor one of too many notes. Keep it.")
        dropped = [note for note in before if note not in draft.notes]
        if len(dropped) + 1 > max(1, int(self._limits.max_removed * len(before))):
            raise Refused("share", "That would drop too many notes at once. Keep the others.")

    def _check_undone(self, change: Change, evidence: Evidence | None) -> str:
        """What the commit says if new words bring back what was undone. Raises Refused if there are none."""
        spoken = evidence.spoken if evidence else ()
        remark = ""
        for undone, claim in _claims(change):
            for tombstone in self._tombstones:
                if tombstone.is_about(undone, claim) and check_return(tombstone, claim, spoken):
                    remark = f"was undone on {tombstone.at[:10]}; this evidence is new"
        return remark


def _claims(change: Change) -> Sequence[tuple[Undone, str]]:
    operation = change.operation
    claims: Mapping[str, Sequence[tuple[Undone, str]]] = {
        "add": [("add", operation.text)],
        "replace": [("add", operation.text), ("remove", operation.before)],
        "remove": [("remove", operation.text)],
        "write": [("add", "\n".join([*change.titles, *change.brought]))],
        "delete": [("remove", operation.text or operation.file)],
        "merge": [("merge", "\n".join(sorted(operation.merged)))],
    }
    return claims[operation.verb]
