"""Validation of proposals: every check that code makes before a draft changes.

`ProposalValidator.admit` makes them in this order: form and secrets (`sanitize`), the file and line exist (`apply` in
draft.py), undone changes do not come back (`check_return`), own words support it (`supported` in evidence.py), and it
takes away and adds no more than a run may (`check_share`, `check_merge` in draft.py, `_check_amount`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from nanobot.languages import expression
from nanobot.memory.changes import Operation
from nanobot.memory.dream.draft import Draft, DraftChange, apply, check_merge, check_share, is_same
from nanobot.memory.dream.evidence import Evidence, SpokenWords, supported
from nanobot.memory.dream.input import DreamInput
from nanobot.memory.dream.operations import DreamLimits, Proposal, RefusedOperation
from nanobot.memory.markdown import body_of, facts_of
from nanobot.memory.recall.ranking import ends_in_question
from nanobot.memory.tombstones import Tombstone, Undone
from nanobot.nlp.own_words import without_who
from nanobot.nlp.secrets import REDACTED, redact, refusal
from nanobot.nlp.words import content_words, difference, overlap, synonyms
from nanobot.text import is_treacherous

# Form: what may stand in memory at all, whoever said it.


_OUR_MARK = re.compile(
    r"<\s*/?\s*(?:[a-z]+(?:_[a-z]+)+|context|quoted|episodes?|history|memory|system|assistant|user|tool|instructions?)"
    r"\b[^<>\n]{0,80}>|<!--\s*index\b",
    re.IGNORECASE,
)
_TYPE = re.compile(r"[^\W\d_][\w -]{0,29}")
_LONGEST_NAME = 100
_LONGEST_SUMMARY = 160


def sanitize(proposal: Proposal, limits: DreamLimits) -> Proposal:
    """Return a proposal without secrets and in a form that files can hold. Raises RefusedOperation."""
    is_note = proposal.do in ("write", "merge")
    fitted = replace(
        proposal,
        text=_safe(body_of(proposal.text) if is_note else proposal.text),
        section=_one_line(_safe(proposal.section), _LONGEST_NAME),
        summary=_one_line(_safe(proposal.summary), _LONGEST_SUMMARY),
    )
    if proposal.type and not _TYPE.fullmatch(proposal.type):
        raise RefusedOperation("malformed", "type is one word, such as project or reference.")
    if is_note and len(fitted.text) > limits.note:
        raise RefusedOperation(
            "size", f"The note is too long: at most {limits.note:,} characters. Split it, or shorten it."
        )
    return fitted if is_note else replace(fitted, text=_one_line(fitted.text, limits.fact))


def _safe(text: str) -> str:
    if is_treacherous(text) or _OUR_MARK.search(text):
        raise RefusedOperation(
            "unsafe", "It holds invisible characters, tokens of a chat template, or tags. Leave them out."
        )
    redacted = redact(text)
    if refusal(redacted) or (redacted != text and not redacted.replace(REDACTED, "").strip(" \t\n-:.,;")):
        raise RefusedOperation("secret", "Passwords, keys and tokens do not belong in memory. Leave it out.")
    return redacted


def _one_line(text: str, most: int) -> str:
    if "\n" in text.strip():
        raise RefusedOperation("size", "A line of memory is one line; what needs more is a note (write).")
    if len(text) > most:
        raise RefusedOperation(
            "size", f"It is too long: at most {most} characters in one line; what needs more is a note."
        )
    return " ".join(text.split()).lstrip("#> ")


# Tombstones: a change that a person undid comes back only on new words of somebody whose memory it is.


_ALIKE = 0.5
_FEW, _SAME = 2, 1 / 3
"""So many words, and this share of them, say the same thing in other words; one alone may be about anything."""
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof"})
_SENTENCE = re.compile(r"(?<=[.!?;])(?<!\bM[rs]\.)(?<!\bDr\.)(?<!\bMrs\.)\s+|(?<=[。！？；])")


def check_return(tombstone: Tombstone, claim: str, spoken: Sequence[SpokenWords]) -> bool:
    """Check a claim that resembles an undone one against what people said.

    Returns True if it is the undone claim and new words support it, False if it is another claim with words of its
    own. Raises RefusedOperation otherwise.
    """
    fresh = [one for one in spoken if not tombstone.covers([one.ids])]
    newer = list(_sentences(one for one in fresh if tombstone.is_before(one.at)))
    undone = [line for line in tombstone.claim.split("\n") if line.strip()]
    returns = False
    for line in _about(claim, undone):
        if tombstone.undone == "remove":  # what does away with a line does not say the same as it
            is_said, is_same = any(overlap(line, said) >= _ALIKE for said in newer), True
        elif is_same := all(not _is_another(line, old) for old in undone if overlap(line, old) >= _ALIKE):
            is_said = any(_says(said, line) for said in newer)
        else:
            said_before = any(_says(said, line) for said in _sentences(fresh))
            is_said = said_before or any(_share(line, said) >= _ALIKE for said in newer)
        if not is_said or tombstone.undone == "merge":  # of merging notes nothing that is said speaks
            raise RefusedOperation("undone", f"{line[:80]!r} was undone by a person. Do not bring it back.")
        returns = returns or is_same
    return returns


def _about(claim: str, undone: Sequence[str]) -> Sequence[str]:
    """Return the lines of a claim that need support; single words need none, unless there is nothing else."""
    lines = [line for line in claim.split("\n") if line.strip()]
    alike = [line for line in lines if not undone or any(overlap(line, old) >= _ALIKE for old in undone)]
    return [line for line in alike if len(content_words(line)) > 1] or alike or lines


def _is_another(claim: str, undone: str) -> bool:
    """True if a claim has a name, a number, a date or a negation in the place of one that the undone one has."""
    if content_words(undone) <= content_words(claim):
        return False
    return difference(undone, f"{undone}. {claim}") is not None


def _says(said: str, claim: str) -> bool:
    """True if a sentence supports a claim, be it in other words: same subject, and no contradiction."""
    bare = without_who(claim)
    if ends_in_question(said) or difference(_begun(bare), _begun(said), in_passing=True):
        return False
    words, there = content_words(bare) - _TITLES, content_words(said)
    shared = sum(not there.isdisjoint({word, *synonyms().get(word, ())}) for word in words)
    return shared > _ALIKE * len(words) or (shared >= _FEW and shared >= _SAME * len(words))


def _begun(sentence: str) -> str:
    """Return a sentence with a small first letter, as its capital makes no name."""
    text = sentence.lstrip()
    return text[:1].lower() + text[1:]


def _share(claim: str, said: str) -> float:
    words = content_words(without_who(claim))
    return len(words & content_words(said)) / len(words) if words else 0.0


def _sentences(spoken: Iterable[SpokenWords]) -> Iterator[str]:
    """Return the pieces that may support a claim: lines and sentences, without a leading yes or no."""
    for one in spoken:
        for line in one.text.split("\n"):
            for part in dict.fromkeys([line, *_SENTENCE.split(line)]):
                sentence = part.strip()
                opening = expression("talk", "opening").match(sentence)
                yield sentence[opening.end() :] if opening else sentence


# Validation: the one way into a draft.


@dataclass(frozen=True)
class ValidatedDraft:
    """Draft with a proposal in it, and its operation as the commit tells it; `is_news` is False if nothing changed."""

    draft: Draft
    operation: Operation
    evidence: Evidence | None
    is_news: bool = True


class ProposalValidator:
    """Admits what may be in the memory of one scope."""

    def __init__(self, given: DreamInput) -> None:
        self._evidence_index = given.evidence
        self._tombstones = given.tombstones
        self._ages = given.ages
        self._limits = given.limits
        self._now = given.now

    def admit(self, proposal: Proposal, draft: Draft) -> ValidatedDraft:
        """Carry out a proposal on a draft. Raises RefusedOperation; then the draft is as it was."""
        fitted = sanitize(proposal, self._limits)
        evidence = self._evidence(fitted, draft)
        day, ids = (evidence.day, evidence.ids) if evidence else (self._today, ())
        change = apply(fitted, draft, day)
        if change.known:
            confirmed = replace(change.operation, verb="confirm", messages=ids)
            return ValidatedDraft(draft, confirmed, evidence, is_news=False)
        remark = self._check_undone(change, evidence)
        fitting = supported(fitted, change, evidence)
        change = change if fitting == fitted else apply(fitting, draft, day)
        operation = replace(change.operation, messages=ids)
        self._check_amount(fitting, change, draft)
        return ValidatedDraft(change.draft, replace(operation, remark=remark), evidence)

    @property
    def _today(self) -> date:
        return self._now.date()

    def _evidence(self, proposal: Proposal, draft: Draft) -> Evidence | None:
        """Return the evidence of a proposal; None for one that only tidies up and brings nothing new."""
        if proposal.evidence or proposal.do in ("add", "replace", "write"):
            return self._evidence_index.of(proposal.evidence)
        if proposal.do == "remove":
            path = draft.file(proposal.file)
            alike = [line for _, line in facts_of(draft.text(path)) if is_same(line, proposal.old)]
            if len(alike) < 2:
                return self._evidence_index.of(())
        return None

    def _check_amount(self, proposal: Proposal, change: DraftChange, draft: Draft) -> None:
        limits, after, operation = self._limits, change.draft, change.operation
        if operation.verb == "merge":
            check_merge(draft, operation.merged, after.text(operation.file), limits.max_removed)
        elif operation.verb == "delete":
            self._check_drop(operation.file, draft, has_evidence=bool(proposal.evidence))
        else:
            check_share(after, [operation.file], limits.max_removed)
        grown = len(after.text(operation.file).encode("utf-8", "surrogateescape"))
        if grown > max(limits.file, len(draft.text(operation.file).encode("utf-8", "surrogateescape"))):
            raise RefusedOperation(
                "size", f"{operation.file} would be longer than {limits.file:,} bytes. Write a note instead."
            )
        if len(after.notes) > max(limits.max_notes, len(draft.notes)):
            raise RefusedOperation(
                "full", f"There are {limits.max_notes} notes, and there may be no more. Merge some first."
            )

    def _check_drop(self, path: str, draft: Draft, *, has_evidence: bool) -> None:
        """Refuse to drop a note, unless it is nearly empty, or it is stale and there are too many."""
        if has_evidence and len(facts_of(draft.text(path))) <= 1:
            return
        before = [note for note in draft.before if draft.places.is_note(note)]
        age = self._ages.of_note(path)
        days = (self._now - age.confirmed).days if age else None
        if len(before) <= self._limits.max_notes or days is None or days < self._limits.stale_days:
            raise RefusedOperation("share", f"{path} is neither stale nor one of too many notes. Keep it.")
        dropped = [note for note in before if note not in draft.notes]
        if len(dropped) + 1 > max(1, int(self._limits.max_removed * len(before))):
            raise RefusedOperation("share", "That would drop too many notes at once. Keep the others.")

    def _check_undone(self, change: DraftChange, evidence: Evidence | None) -> str:
        """Return the remark that new words bring back an undone claim. Raises RefusedOperation without such."""
        spoken = evidence.spoken if evidence else ()
        remark = ""
        for undone, claim in _claims(change):
            for tombstone in self._tombstones:
                if tombstone.is_about(undone, claim) and check_return(tombstone, claim, spoken):
                    remark = f"was undone on {tombstone.at[:10]}; this evidence is new"
        return remark


def _claims(change: DraftChange) -> Sequence[tuple[Undone, str]]:
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
