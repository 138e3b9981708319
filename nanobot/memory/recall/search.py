"""The search: a query becomes a question, the index gives candidates, the best of these are the hits."""

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
    Relevance,
    TermWeights,
    Values,
    asks,
    content_terms,
    features,
    read_question,
    scores,
    speaks_of_oneself,
    without_names,
)
from nanobot.nlp.dates import Days, days_in
from nanobot.nlp.words import is_stop, synonyms, words_of

# Confirmations of the bot, which nobody looks for.


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


# Texts of a day, where nothing but the day is asked for.


_MOST_READ = 400  # texts of one stretch
_MENTIONING = 200  # texts that hold a word of the date
_FEW = 2  # telling words; a text with no more is small talk
_LONGEST = 40  # days


def said_on(index: RecallIndex, days: Sequence[Days], within: SearchLimits, k: int) -> Sequence[SearchableText]:
    """Return the k texts of these days that tell most, in the order in which they were said."""
    stretches = [then for one in days if (then := _during(one, within))]
    keys = [key for then in stretches for key in index.on_days(then, _MOST_READ)]
    texts = [said for said in _texts(index, keys) if not is_receipt(said)]
    chosen = sorted(texts, key=_telling, reverse=True)[:k]
    return sorted(chosen, key=lambda said: (said.when, said.file, said.position))


def speaking_of(
    index: RecallIndex, query: str, days: Sequence[Days], within: SearchLimits, k: int
) -> Sequence[SearchableText]:
    """Return at most k texts from other days that name one of these days, the latest first."""
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
    """Return a sort key: a person's words over the bot's, statements over questions, more telling words over fewer."""
    words = len({word for word in said.words.split() if not is_stop(word)})
    return words > _FEW, words - (words // 2 if said.role == "assistant" or asks(said) else 0), -said.position


def _texts(index: RecallIndex, keys: Sequence[int]) -> Sequence[SearchableText]:
    wanted = set(keys)
    return [said for said in index.passages(list(wanted), 0) if said.key in wanted] if wanted else []


def _during(days: Days, within: SearchLimits, after: int = 0) -> SearchLimits | None:
    """Return the part of the limits that falls on these days, or so many days `after` them; None if there is none."""
    first = max(days.first.toordinal(), within.first_day or 0)
    last = min(days.last.toordinal() + after, within.last_day or date.max.toordinal())
    return replace(within, first_day=first, last_day=last) if first <= last else None


# The search itself.


_CANDIDATES = 80  # texts that hold the words of the question, before their neighbours join
_FROM_THEN = 25  # texts from each time that the question names, whatever their words
# Postings that the index walks through for one question, the rarest words first: a share of all texts, in limits.
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
class _Ranking:
    """Candidates with their scores. `order` holds the places of possible answers, the best first.

    `beside` holds the places of those that match no term, and are candidates for what stands beside them.
    """

    page: CandidatePage
    scores: Values
    order: Sequence[int]
    beside: Collection[int]


class LocalRecall:
    """Ranks what the index finds. No model, no network."""

    def __init__(self, index: RecallIndex) -> None:
        self._index = index

    def search(
        self, query: str, *, now: datetime, k: int = 10, within: SearchLimits = EVERYWHERE, around: int = 0
    ) -> Sequence[Hit]:
        """Return the k texts that answer a query best, the best first; equal ones in the order they were said."""
        search = _Search(self._index, query, now.date(), within)
        if search.question.days and not any(content_terms(search.question)):
            return search.hits_of_days(k, around)
        ranking = search.rank()
        return search.hits(ranking, ranking.order[:k], around)

    def relevant(self, message: str, *, now: datetime, k: int = 10, within: SearchLimits = EVERYWHERE) -> Sequence[Hit]:
        """Return at most k texts that are worth knowing when answering a message; most messages need none."""
        search = _Search(self._index, message, now.date(), within)
        relevance = Relevance(search.question, search.weights, now.date(), personal=speaks_of_oneself(message))
        if not relevance.is_possible:
            return ()
        ranking = search.rank()
        return search.hits(ranking, [place for place in ranking.order[:k] if relevance.holds(ranking.page, place)], 0)


class _Search:
    """One query put to the index: read as a question, expanded, answered by candidates, which are ranked."""

    def __init__(self, index: RecallIndex, query: str, today: date, within: SearchLimits) -> None:
        self._index = index
        self._query = query
        self._within = within
        extent = index.extent(within)
        self.question = read_question(query, today, extent.speakers, extent.years)
        self.weights = TermWeights(extent, index.counts)
        self.weights.load(self.question.words)

    def rank(self) -> _Ranking:
        """Rank the candidates of the question."""
        question, weights = self.question, self.weights
        alike = {word: sorted(synonyms()[word]) for word in question.words if word in synonyms()}
        spelt_alike = self._spelt_alike()
        expansion = [*dict.fromkeys(word for words in alike.values() for word in words), *spelt_alike]
        weights.load([*question.words, *expansion])
        matches = self._index.near(without_names(self._query, question.speakers), self._within, _NEAR)
        keys = list(dict.fromkeys([*self._candidates(expansion), *matches.keys]))
        page = CandidatePage([said for said in self._index.passages(keys, REACH) if _is_before(said, self._within)])
        if not page.texts:
            return _Ranking(page, [], [], frozenset())
        values = scores(*features(page, question, alike, spelt_alike, weights, matches))
        possible = [place for place in _inside(page, self._within) if not is_receipt(page.texts[place])]
        by_meaning = set(matches.keys)
        return _Ranking(
            page,
            values,
            order=sorted(possible, key=lambda place: -values[place]),
            beside={
                place
                for place in page.beside_what_holds([*question.words, *expansion])
                if page.texts[place].key not in by_meaning
            },
        )

    def hits(self, ranking: _Ranking, places: Sequence[int], around: int) -> Sequence[Hit]:
        """Return candidates as hits, each with so many neighbours `around` it."""
        texts = [ranking.page.texts[place] for place in places]
        related = self._index.related([said.key for said in texts])
        return [
            Hit(
                said,
                round(ranking.scores[place], 4),
                self._around(said, around),
                related.get(said.key, ()),
                is_beside=place in ranking.beside,
            )
            for place, said in zip(places, texts, strict=True)
        ]

    def hits_of_days(self, k: int, around: int) -> Sequence[Hit]:
        """Return the texts of the days that are asked for, and if they are few, texts that speak of these days."""
        days, speakers = self.question.days, self.question.speakers
        then = said_on(self._index, days, self._within, k)
        then = [said for said in then if not speakers or said.speaker in speakers]
        known = {said.key for said in then}
        more = speaking_of(self._index, self._query, days, self._within, k) if len(then) < k else ()
        scored = [(said, 1.0) for said in then] + [(said, 0.5) for said in more if said.key not in known]
        found = [(said, score) for said, score in scored if _is_before(said, self._within)][:k]
        related = self._index.related([said.key for said, _ in found])
        return [Hit(said, score, self._around(said, around), related.get(said.key, ())) for said, score in found]

    def _spelt_alike(self) -> list[str]:
        """Return terms of the index that begin like a word of the question, or that it may be a misspelling of."""
        found: dict[str, None] = {}
        for word in self.question.words:
            if not (word.isascii() and word.isalpha() and len(word) >= _LONG_WORD):
                continue
            akin = [*self._index.starting_with(word[:_STEM_PREFIX], _KIN)]
            if word not in akin:
                near = self._index.starting_with(word[:_SPELLING_PREFIX], _SPELLINGS)
                akin += get_close_matches(word, near, 2, _SPELT_ALIKE)
                akin += [word[:length] for length in range(_SHORTEST_STEM, len(word))]  # an ending nobody knows
            found.update(dict.fromkeys(other for other in akin if other not in self.question.words))
        return list(found)

    def _candidates(self, expansion: Sequence[str]) -> Sequence[int]:
        """Return the keys of texts that hold terms of the question or its expansion, or are of its days."""
        postings = min(max(_POSTINGS * self.weights.texts, _FEWEST), _MOST)
        words = self._rarest(self.question.words, postings)
        keys = list(self._index.matching(words, self._within, _CANDIDATES))
        keys += self._index.matching(self._rarest(expansion, postings / 2), self._within, _BY_OTHER_WORDS)
        for days in self.question.days:
            if days.length <= _LONGEST_STRETCH and (then := _during(days, self._within, _SOON)):
                keys += self._index.matching(words, then, _FROM_THEN)
                keys += self._index.on_days(then, _FROM_THEN)
        return list(dict.fromkeys(keys))

    def _rarest(self, words: Sequence[str], postings: float) -> list[str]:
        """Return the rarest words, as many as fit into so many postings; the features are made of all of them."""
        chosen: list[str] = []
        cost = 0
        count = self.weights.document_frequency
        for word in sorted((word for word in dict.fromkeys(words) if count(word)), key=count):
            cost += count(word)
            if chosen and cost > postings:
                break
            chosen.append(word)
        return chosen

    def _around(self, said: SearchableText, reach: int) -> Sequence[SearchableText]:
        if not reach:
            return ()
        return [other for other in self._index.passages([said.key], reach) if other.key != said.key]


def _is_before(said: SearchableText, within: SearchLimits) -> bool:
    return within.before is None or said.session != within.before[0] or said.position < within.before[1]


def _inside(page: CandidatePage, within: SearchLimits) -> list[int]:
    """Return the places of possible answers; neighbours from other days only lend their words."""
    first, last = within.first_day or 0, within.last_day or date.max.toordinal()
    return [place for place, said in enumerate(page.texts) if first <= said.day <= last]
