"""Which texts answer a question best: the reasons, weighed."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

from nanobot.memory.recall.features import Weights, circumstances, learnt, lexical, teachers
from nanobot.memory.recall.page import Page, Values
from nanobot.memory.recall.question import Question
from nanobot.memory.recall.words import words_of

# Fitted to dialogues, each left out in turn and tried on the rest; see docs/decisions/0005-recall.md.
# The first are shares of a sum, the second exponents of a factor.
LEXICAL: Mapping[str, float] = {
    "own": 1.0,
    "before": 0.41,
    "before_asks": 2.28,
    "after": 1.6,
    "before_2": 2.08,
    "after_2": 1.75,
    "synonyms": 1.51,
    "covered": 1.39,
    "covered_widely": 9.42,
    "learnt": 1.46,
    "learnt_beside": 0.46,
    "similar": 3.37,
}
CIRCUMSTANCES: Mapping[str, float] = {
    "speaker": 0.74,
    "asks": -0.21,
    "own_words": 0.16,
    "tells_time": 0.37,
    "then": 0.55,
}
_FLOOR = 0.23  # what a text is worth that matches nothing: it can still be the one from that day
_FIRST_LOOK: Mapping[str, float] = {"own": 1.0, "before": 0.4, "before_asks": 0.4, "after": 0.2}
_FIRST_LOOK_SPEAKER = 0.8


def features(
    page: Page,
    question: Question,
    alike: Mapping[str, Sequence[str]],
    similar: Sequence[str],
    weights: Weights,
) -> tuple[dict[str, Values], dict[str, Values]]:
    """Every reason for every text of the page: the lexical ones, and the circumstances.

    Args:
        page: the texts to choose from.
        question: what is asked for.
        alike: synonyms of its words.
        similar: words of the index that are spelt like those of the question.
        weights: how telling words are.
    """
    reasons = lexical(page, question, alike, weights)
    around = circumstances(page, question)
    first = _sum(reasons, _FIRST_LOOK)
    first = [value * (1 + _FIRST_LOOK_SPEAKER * speaks) for value, speaks in zip(first, around["speaker"], strict=True)]
    names = {word for speaker in {entry.said.speaker for entry in page.entries} for word in words_of(speaker)}
    more = learnt(teachers(page, first), question, names, weights)
    reasons["learnt"] = page.each(partial(weights.bm25, words=more))
    reasons["learnt_beside"] = page.both_beside(reasons["learnt"])
    reasons["similar"] = page.each(partial(weights.bm25, words=dict.fromkeys(similar, 1.0)))
    return reasons, around


def scores(reasons: Mapping[str, Values], around: Mapping[str, Values]) -> Values:
    """One number for each text, comparable within one question."""
    return [
        (_FLOOR + value) * math.exp(exponent)
        for value, exponent in zip(_sum(reasons, LEXICAL), _sum(around, CIRCUMSTANCES), strict=True)
    ]


def _sum(values: Mapping[str, Values], shares: Mapping[str, float]) -> Values:
    used = [(share, values[name]) for name, share in shares.items() if share]
    return [sum(share * column[place] for share, column in used) for place in range(len(used[0][1]))]
