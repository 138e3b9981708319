"""Whether what a person undid may come back: only if somebody whose memory it is has said it since."""

import re
from collections.abc import Iterable, Iterator, Sequence

from nanobot.memory.alike import content_words, difference, overlap
from nanobot.memory.dream.evidence import Spoken
from nanobot.memory.dream.refused import Refused
from nanobot.memory.own_words import without_who
from nanobot.memory.recall.synonyms import synonyms
from nanobot.memory.tombstones import Tombstone

_ALIKE = 0.5
_FEW, _SAME = 2, 1 / 3
"""So many words, and this share of them, say the same thing in other words; one alone may be about anything."""
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof"})
_ASKS = re.compile(r"(?:[?？]|[吗呢])\s*$")
_SENTENCE = re.compile(r"(?<=[.!?;])(?<!\bM[rs]\.)(?<!\bDr\.)(?<!\bMrs\.)\s+|(?<=[。！？；])")
_OPENING = re.compile(
    r"(?:(?:no|nope|yes|yeah|oh|ok|okay|well|really|actually|sorry|again)\b\s*)+[,:]\s*|(?:不|不对|不是|是的|对|好的|其实)[，,]",
    re.IGNORECASE,
)


def check_return(tombstone: Tombstone, claim: str, spoken: Sequence[Spoken]) -> bool:
    """Look at a claim that a tombstone is about, and at what people said.

    True if it is what was undone, and new words speak for it; False if it only resembles that, and is said by words
    of its own. Raises Refused otherwise.
    """
    fresh = [one for one in spoken if not tombstone.covers([one.names])]
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
            raise Refused("undone", f"{line[:80]!r} was undone by a person. Do not bring it back.")
        returns = returns or is_same
    return returns


def _about(claim: str, undone: Sequence[str]) -> Sequence[str]:
    """The lines of a claim that have to be said; a word by itself claims nothing, unless all is so short."""
    lines = [line for line in claim.split("\n") if line.strip()]
    alike = [line for line in lines if not undone or any(overlap(line, old) >= _ALIKE for old in undone)]
    return [line for line in alike if len(content_words(line)) > 1] or alike or lines


def _is_another(claim: str, undone: str) -> bool:
    """Whether a claim has a name, a number, a date or a negation in the place of one that the undone one has."""
    if content_words(undone) <= content_words(claim):
        return False
    return difference(undone, f"{undone}. {claim}") is not None


def _says(said: str, claim: str) -> bool:
    """Whether a sentence says that, be it in other words: it speaks of the same, and nothing in it says otherwise."""
    bare = without_who(claim)
    if _ASKS.search(said) or difference(_begun(bare), _begun(said), in_passing=True):
        return False
    words, there = content_words(bare) - _TITLES, content_words(said)
    shared = sum(not there.isdisjoint({word, *synonyms().get(word, ())}) for word in words)
    return shared > _ALIKE * len(words) or (shared >= _FEW and shared >= _SAME * len(words))


def _begun(sentence: str) -> str:
    """A sentence with a small letter at its beginning, where any word has a capital."""
    text = sentence.lstrip()
    return text[:1].lower() + text[1:]


def _share(claim: str, said: str) -> float:
    words = content_words(without_who(claim))
    return len(words & content_words(said)) / len(words) if words else 0.0


def _sentences(spoken: Iterable[Spoken]) -> Iterator[str]:
    """What may speak for a claim: each line, and each sentence of it, without a word that only answers."""
    for one in spoken:
        for line in one.text.split("\n"):
            for part in dict.fromkeys([line, *_SENTENCE.split(line)]):
                sentence = part.strip()
                opening = _OPENING.match(sentence)
                yield sentence[opening.end() :] if opening else sentence
