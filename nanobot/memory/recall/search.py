"""The search: a question, the candidates of the index, the best of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from difflib import get_close_matches
from functools import cache

from nanobot.i18n import LANGUAGES, Language, say
from nanobot.memory.recall.ports import EVERYWHERE, Hit, RecallIndex, SearchableText, SearchLimits
from nanobot.memory.recall.ranking import (
    REACH,
    CandidatePage,
    RecallQuestion,
    Relevance,
    TermWeights,
    Values,
    asks,
    features,
    read_question,
    scores,
    speaks_of_oneself,
    telling,
    without_names,
)
from nanobot.nlp.dates import Days, days_in
from nanobot.nlp.words import is_stop, synonyms, words_of

# What the bot says when it has done as it was told: nobody looks for that, but for what they had told it.


_SENTENCES = ("memory.saved", "memory.known")


def is_receipt(said: SearchableText) -> bool:
    """True if a text only says that something is remembered now; what is remembered is found by itself."""
    return said.role == "assistant" and said.text.startswith(_beginnings())


@cache
def _beginnings() -> tuple[str, ...]:
    languages: Sequence[Language] = LANGUAGES
    return tuple(
        say(sentence, language, line="\0").partition("\0")[0] for sentence in _SENTENCES for language in languages
    )


# What was said on a day, where nothing but the day is asked for.


_MOST_READ = 400  # texts of one stretch
_MENTIONING = 200  # texts that hold a word of the date
_FEW = 2  # telling words; a text with no more is small talk
_LONGEST = 40  # days


def said_on(index: RecallIndex, days: Sequence[Days], within: SearchLimits, k: int) -> Sequence[SearchableText]:
    """The k texts of these days that tell most, in the order in which they were said."""
    stretches = [then for one in days if (then := _during(one, within))]
    keys = [key for then in stretches for key in index.on_days(then, _MOST_READ)]
    texts = [said for said in _texts(index, keys) if not is_receipt(said)]
    chosen = sorted(texts, key=_telling, reverse=True)[:k]
    return sorted(chosen, key=lambda said: (said.when, said.file, said.position))


def speaking_of(
    index: RecallIndex, query: str, days: Sequence[Days], within: SearchLimits, k: int
) -> Sequence[SearchableText]:
    """At most k texts from other days that name one of these days, the latest first."""
    short = [one for one in days if one.length <= _LONGEST]
    words = [word for word in words_of(query) if not is_stop(word)] or words_of(query)
    found = _texts(index, index.matching(words, within, _MENTIONING))
    naming = [said for said in found if not is_receipt(said) and _names(said, short)]
    return sorted(naming, key=lambda said: -said.when)[:k]


def _names(said: SearchableText, days: Sequence[Days]) -> bool:
    """True if a text names one of the days; a day of every year, such as a birthday, in whatever year."""
    if not said.day:
        return False
    named = [one for one in days_in(said.text, date.fromordinal(said.day)) if one.length <= _LONGEST]
    return any(_is_same(one, other) for one in days for other in named)


def _is_same(one: Days, other: Days) -> bool:
    if one.length == other.length == 1:
        return (one.first.month, one.first.day) == (other.first.month, other.first.day)
    return one.first <= other.last and other.first <= one.last


def _telling(said: SearchableText) -> tuple[bool, int, int]:
    """A person's words before the bot's, statements before questions, and the more they tell, the better."""
    words = len({word for word in said.words.split() if not is_stop(word)})
    return words > _FEW, words - (words // 2 if said.role == "assistant" or asks(said) else 0), -said.position


def _texts(index: RecallIndex, keys: Sequence[int]) -> Sequence[SearchableText]:
    wanted = set(keys)
    return [said for said in index.passages(list(wanted), 0) if said.key in wanted] if wanted else []


def _during(days: Days, within: SearchLimits) -> SearchLimits | None:
    first = max(days.first.toordinal(), within.first_day or 0)
    last = min(days.last.toordinal(), within.last_day or date.max.toordinal())
    return replace(within, first_day=first, last_day=last) if first <= last else None


# The search itself: a question, the candidates of the index, the best of them.


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
    question: RecallQuestion
    weights: TermWeights


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The texts among which the best are, and what each is worth."""

    page: CandidatePage
    values: Values
    order: Sequence[int]  # the places of those that may be answers, the best first
    beside: Collection[int]  # the places of those that are here for what stands beside them


class LocalRecall:
    """Ranks what the index finds. No model, no network."""

    def __init__(self, index: RecallIndex) -> None:
        self._index = index

    def search(
        self, query: str, *, now: datetime, k: int = 10, within: SearchLimits = EVERYWHERE, around: int = 0
    ) -> Sequence[Hit]:
        """The k texts that answer a query best, the best first; equal ones in the order in which they were said."""
        asked = self._read(query, now.date(), within)
        if asked.question.days and not any(telling(asked.question)):
            return self._of_days(asked, within, k, around)
        ranked = self._rank(asked, within)
        return self._hits(ranked, ranked.order[:k], around)

    def relevant(self, message: str, *, now: datetime, k: int = 10, within: SearchLimits = EVERYWHERE) -> Sequence[Hit]:
        """At most k texts that are worth knowing when answering a message; most messages need none."""
        asked = self._read(message, now.date(), within)
        relevance = Relevance(asked.question, asked.weights, now.date(), personal=speaks_of_oneself(message))
        if not relevance.is_possible:
            return ()
        ranked = self._rank(asked, within)
        return self._hits(ranked, [place for place in ranked.order[:k] if relevance.of(ranked.page, place)], 0)

    def _read(self, query: str, today: date, within: SearchLimits) -> _Asked:
        extent = self._index.extent(within)
        question = read_question(query, today, extent.speakers, extent.years)
        weights = TermWeights(extent, self._index.counts)
        weights.know(question.words)
        return _Asked(query, question, weights)

    def _rank(self, asked: _Asked, within: SearchLimits) -> _Ranked:
        question, weights = asked.question, asked.weights
        alike = {word: sorted(synonyms()[word]) for word in question.words if word in synonyms()}
        similar = self._similar(question)
        others = [*dict.fromkeys(word for words in alike.values() for word in words), *similar]
        weights.know([*question.words, *others])
        near = self._index.near(without_names(asked.text, question.about), within, _NEAR)
        keys = list(dict.fromkeys([*self._candidates(question, others, within, weights), *near.keys]))
        page = CandidatePage([said for said in self._index.passages(keys, REACH) if _is_before(said, within)])
        values = scores(*features(page, question, alike, similar, weights, near)) if page.texts else []
        inside = [place for place in _inside(page, within) if not is_receipt(page.texts[place])]
        order = sorted(inside, key=lambda place: -values[place])
        beside = page.beside_what_holds([*question.words, *others]) if page.texts else frozenset()
        near_keys = set(near.keys)
        return _Ranked(page, values, order, {place for place in beside if page.texts[place].key not in near_keys})

    def _of_days(self, asked: _Asked, within: SearchLimits, k: int, around: int) -> Sequence[Hit]:
        """Return the texts of those days, and if they are few, texts that speak of them."""
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

    def _similar(self, question: RecallQuestion) -> list[str]:
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

    def _candidates(
        self, question: RecallQuestion, others: Sequence[str], within: SearchLimits, weights: TermWeights
    ) -> Sequence[int]:
        postings = min(max(_POSTINGS * weights.texts, _FEWEST), _MOST)
        words = _affordable(question.words, weights, postings)
        keys = list(self._index.matching(words, within, _CANDIDATES))
        keys += self._index.matching(_affordable(others, weights, postings / 2), within, _BY_OTHER_WORDS)
        for days in question.days:
            if days.length <= _LONGEST_STRETCH and (then := _said_during(days, within)):
                keys += self._index.matching(words, then, _FROM_THEN)
                keys += self._index.on_days(then, _FROM_THEN)
        return list(dict.fromkeys(keys))

    def _around(self, said: SearchableText, reach: int) -> Sequence[SearchableText]:
        if not reach:
            return ()
        return [other for other in self._index.passages([said.key], reach) if other.key != said.key]


def _affordable(words: Sequence[str], weights: TermWeights, postings: float) -> list[str]:
    """The rarest words, as many as can be looked for in the time that a person waits; the ranking sees them all."""
    chosen: list[str] = []
    cost = 0
    for word in sorted((word for word in dict.fromkeys(words) if weights.count(word)), key=weights.count):
        cost += weights.count(word)
        if chosen and cost > postings:
            break
        chosen.append(word)
    return chosen


def _said_during(days: Days, within: SearchLimits) -> SearchLimits | None:
    """The part of what may be searched in which people told of these days; None if there is none."""
    first = max(days.first.toordinal(), within.first_day or 0)
    last = min(days.last.toordinal() + _SOON, within.last_day or date.max.toordinal())
    return replace(within, first_day=first, last_day=last) if first <= last else None


def _is_before(said: SearchableText, within: SearchLimits) -> bool:
    return within.before is None or said.session != within.before[0] or said.position < within.before[1]


def _inside(page: CandidatePage, within: SearchLimits) -> list[int]:
    """The places of texts that may be answers; neighbours from other days only lend their words."""
    first, last = within.first_day or 0, within.last_day or date.max.toordinal()
    return [place for place, said in enumerate(page.texts) if first <= said.day <= last]
