"""Which texts answer a question best: the reasons, weighed."""

import math
from collections.abc import Mapping, Sequence

from nanobot.memory.recall.features import Weights, circumstances, learnt, lexical
from nanobot.memory.recall.page import Page, Values
from nanobot.memory.recall.question import Question
from nanobot.memory.recall.words import words_of
from nanobot.ports import Near

# Fitted to dialogues, each left out in turn and tried on the rest; see docs/decisions/0005-recall.md.
# The first are shares of a sum, the second exponents of a factor.
LEXICAL: Mapping[str, float] = {
    "own": 1.0,
    "before": 0.43,
    "before_asks": 2.63,
    "after": 1.73,
    "before_2": 2.31,
    "after_2": 2.0,
    "covered": 1.29,
    "covered_widely": 12.94,
    "learnt": 1.71,
    "learnt_beside": 0.52,
    "similar": 3.8,
    "meaning": 20.0,
    "meaning_beside": 10.0,
}
CIRCUMSTANCES: Mapping[str, float] = {"speaker": 0.75, "asks": -0.26, "tells_time": 0.42, "then": 0.58}
_FLOOR = 0.26  # what a text is worth that matches nothing: it can still be the one from that day
_FIRST_LOOK: Mapping[str, float] = {"own": 1.0, "before": 0.4, "before_asks": 0.4, "after": 0.2}
_FIRST_LOOK_SPEAKER = 0.8


def features(
    page: Page,
    question: Question,
    alike: Mapping[str, Sequence[str]],
    similar: Sequence[str],
    weights: Weights,
    near: Near,
) -> tuple[dict[str, Values], dict[str, Values]]:
    """Every reason for every text of the page: the lexical ones, and the circumstances.

    Args:
        page: the texts to choose from.
        question: what is asked for.
        alike: synonyms of its words.
        similar: words of the index that are spelt like those of the question.
        weights: how telling words are.
        near: how close in meaning texts are.
    """
    page.look_for([*question.words, *(word for words in alike.values() for word in words), *similar])
    reasons = lexical(page, question, alike, weights)
    around = circumstances(page, question)
    first = _sum(reasons, _FIRST_LOOK)
    first = [value * (1 + _FIRST_LOOK_SPEAKER * speaks) for value, speaks in zip(first, around["speaker"], strict=True)]
    names = {word for speaker in {said.speaker for said in page.texts} for word in words_of(speaker)}
    more = learnt(page, first, {*question.words, *names}, weights)
    reasons["learnt"] = weights.bm25(page, more)
    reasons["learnt_beside"] = page.both_beside(reasons["learnt"])
    reasons["similar"] = weights.bm25(page, dict.fromkeys(similar, 1.0))
    reasons["meaning"] = page.each(lambda said: near.closeness(said.key))
    reasons["meaning_beside"] = page.both_beside(reasons["meaning"])
    return reasons, around


def scores(reasons: Mapping[str, Values], around: Mapping[str, Values]) -> Values:
    """One number for each text, comparable within one question."""
    return [
        (_FLOOR + value) * math.exp(exponent)
        for value, exponent in zip(_sum(reasons, LEXICAL), _sum(around, CIRCUMSTANCES), strict=True)
    ]


def _sum(values: Mapping[str, Values], shares: Mapping[str, float]) -> Values:
    total = [0.0] * len(next(iter(values.values())))
    for name, share in shares.items():
        total = [sofar + share * value for sofar, value in zip(total, values[name], strict=True)]
    return total
