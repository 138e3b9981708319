"""The search itself: a question, the candidates of the index, the best of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from difflib import get_close_matches

from nanobot.memory.recall.days import Days
from nanobot.memory.recall.features import Weights
from nanobot.memory.recall.of_days import said_on, speaking_of
from nanobot.memory.recall.page import REACH, Page, Values
from nanobot.memory.recall.question import Question, read_question, without_names
from nanobot.memory.recall.rank import features, scores
from nanobot.memory.recall.receipts import is_receipt
from nanobot.memory.recall.relevance import Relevance, speaks_of_oneself, telling
from nanobot.memory.recall.synonyms import synonyms
from nanobot.ports import EVERYWHERE, Hit, RecallIndex, Said, Within

_CANDIDATES = 80  # texts that hold the words of the question, before their neighbours join
_FROM_THEN = 25  # texts from each time that the question names, whatever their words
# Occurrences that the index walks through for one question, the rarest words first: a share of all texts, in limits.
# Less than that share costs quality, more of it does not help.
_POSTINGS = 0.04  # half as many for words that only stand for those of the question
_FEWEST, _MOST = 4_000, 40_000
_NEAR = 40  # texts that are closest in meaning, where a model knows that
_LONGEST_STRETCH = 40  # days; texts of a whole year are no candidates for that alone
_SOON = 7  # days after it happened in which people still tell of it
_BY_OTHER_WORDS = 15
_LONG_WORD, _STEM_PREFIX, _KIN = 5, 5, 12
_SHORTEST_STEM = 4
_SPELLING_PREFIX, _SPELLINGS, _SPELT_ALIKE = 3, 100, 0.8


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question as it was typed and in the terms of the index, and how telling its words are."""

    text: str
    question: Question
    weights: Weights


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The texts among which the best are, and what each is worth."""

    page: Page
    values: Values
    order: Sequence[int]  # the places of those that may be answers, the best first
    beside: Collection[int]  # the places of those that are here for what stands beside them


class LocalRecall:
    """Ranks what the index finds. No model, no network."""

    def __init__(self, index: RecallIndex) -> None:
        self._index = index

    def search(
        self, query: str, *, now: datetime, k: int = 10, within: Within = EVERYWHERE, around: int = 0
    ) -> Sequence[Hit]:
        """The k texts that answer a query best, the best first; equal ones in the order in which they were said."""
        asked = self._read(query, now.date(), within)
        if asked.question.days and not any(telling(asked.question)):
            return self._of_days(asked, within, k, around)
        ranked = self._rank(asked, within)
        return self._hits(ranked, ranked.order[:k], around)

    def relevant(self, message: str, *, now: datetime, k: int = 10, within: Within = EVERYWHERE) -> Sequence[Hit]:
        """At most k texts that are worth knowing when answering a message; most messages need none."""
        asked = self._read(message, now.date(), within)
        relevance = Relevance(asked.question, asked.weights, now.date(), personal=speaks_of_oneself(message))
        if not relevance.is_possible:
            return ()
        ranked = self._rank(asked, within)
        return self._hits(ranked, [place for place in ranked.order[:k] if relevance.of(ranked.page, place)], 0)

    def _read(self, query: str, today: date, within: Within) -> _Asked:
        extent = self._index.extent(within)
        question = read_question(query, today, extent.speakers, extent.years)
        weights = Weights(extent, self._index.counts)
        weights.know(question.words)
        return _Asked(query, question, weights)

    def _rank(self, asked: _Asked, within: Within) -> _Ranked:
        question, weights = asked.question, asked.weights
        alike = {word: sorted(synonyms()[word]) for word in question.words if word in synonyms()}
        similar = self._similar(question)
        others = [*dict.fromkeys(word for words in alike.values() for word in words), *similar]
        weights.know([*question.words, *others])
        near = self._index.near(without_names(asked.text, question.about), within, _NEAR)
        keys = list(dict.fromkeys([*self._candidates(question, others, within, weights), *near.keys]))
        page = Page([said for said in self._index.passages(keys, REACH) if _is_before(said, within)])
        values = scores(*features(page, question, alike, similar, weights, near)) if page.texts else []
        inside = [place for place in _inside(page, within) if not is_receipt(page.texts[place])]
        order = sorted(inside, key=lambda place: -values[place])
        beside = page.beside_what_holds([*question.words, *others]) if page.texts else frozenset()
        near_keys = set(near.keys)
        return _Ranked(page, values, order, {place for place in beside if page.texts[place].key not in near_keys})

    def _of_days(self, asked: _Asked, within: Within, k: int, around: int) -> Sequence[Hit]:
        """What was said then, and if that is little, what speaks of then."""
        days, about = asked.question.days, asked.question.about
        then = said_on(self._index, days, within, k)
        then = [said for said in then if not about or said.speaker in about]
        known = {said.key for said in then}
        more = speaking_of(self._index, asked.text, days, within, k) if len(then) < k else ()
        worth = [(said, 1.0) for said in then] + [(said, 0.5) for said in more if said.key not in known]
        hits = [(said, value) for said, value in worth if _is_before(said, within)][:k]
        related = self._index.related([said.key for said, _ in hits])
        return [Hit(said, value, self._around(said, around), related.get(said.key, ())) for said, value in hits]

    def _hits(self, ranked: _Ranked, places: Sequence[int], around: int) -> Sequence[Hit]:
        texts = [ranked.page.texts[place] for place in places]
        related = self._index.related([said.key for said in texts])
        return [
            Hit(
                said,
                round(ranked.values[place], 4),
                self._around(said, around),
                related.get(said.key, ()),
                is_beside=place in ranked.beside,
            )
            for place, said in zip(places, texts, strict=True)
        ]

    def _similar(self, question: Question) -> list[str]:
        """Words of the index that begin like a word of the question, or that it may be a misspelling of."""
        found: dict[str, None] = {}
        for word in question.words:
            if not (word.isascii() and word.isalpha() and len(word) >= _LONG_WORD):
                continue
            akin = [*self._index.starting_with(word[:_STEM_PREFIX], _KIN)]
            if word not in akin:
                near = self._index.starting_with(word[:_SPELLING_PREFIX], _SPELLINGS)
                akin += get_close_matches(word, near, 2, _SPELT_ALIKE)
                akin += [word[:length] for length in range(_SHORTEST_STEM, len(word))]  # an ending nobody knows
            found.update(dict.fromkeys(other for other in akin if other not in question.words))
        return list(found)

    def _candidates(self, question: Question, others: Sequence[str], within: Within, weights: Weights) -> Sequence[int]:
        postings = min(max(_POSTINGS * weights.texts, _FEWEST), _MOST)
        words = _affordable(question.words, weights, postings)
        keys = list(self._index.matching(words, within, _CANDIDATES))
        keys += self._index.matching(_affordable(others, weights, postings / 2), within, _BY_OTHER_WORDS)
        for days in question.days:
            if days.length <= _LONGEST_STRETCH and (then := _during(days, within)):
                keys += self._index.matching(words, then, _FROM_THEN)
                keys += self._index.on_days(then, _FROM_THEN)
        return list(dict.fromkeys(keys))

    def _around(self, said: Said, reach: int) -> Sequence[Said]:
        if not reach:
            return ()
        return [other for other in self._index.passages([said.key], reach) if other.key != said.key]


def _affordable(words: Sequence[str], weights: Weights, postings: float) -> list[str]:
    """The rarest words, as many as can be looked for in the time that a person waits; the ranking sees them all."""
    chosen: list[str] = []
    cost = 0
    for word in sorted((word for word in dict.fromkeys(words) if weights.count(word)), key=weights.count):
        cost += weights.count(word)
        if chosen and cost > postings:
            break
        chosen.append(word)
    return chosen


def _during(days: Days, within: Within) -> Within | None:
    """The part of what may be searched in which people told of these days; None if there is none."""
    first = max(days.first.toordinal(), within.first_day or 0)
    last = min(days.last.toordinal() + _SOON, within.last_day or date.max.toordinal())
    return replace(within, first_day=first, last_day=last) if first <= last else None


def _is_before(said: Said, within: Within) -> bool:
    return within.before is None or said.session != within.before[0] or said.position < within.before[1]


def _inside(page: Page, within: Within) -> list[int]:
    """The places of texts that may be answers; neighbours from other days only lend their words."""
    first, last = within.first_day or 0, within.last_day or date.max.toordinal()
    return [place for place, said in enumerate(page.texts) if first <= said.day <= last]
