"""Ranking: a question's terms, the features of candidates, their scores, and which of them are relevant to a message.

In the order of the file: `read_question` turns a text into a RecallQuestion. A CandidatePage holds the texts among
which the best are chosen, with the postings of the terms in them. `features` gives each candidate a number for each
feature, `scores` weighs these. Relevance decides if a candidate is worth showing with a message.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache

from nanobot.languages import expression, tables
from nanobot.memory.recall.ports import IndexSize, SearchableText, SemanticMatches
from nanobot.nlp.dates import Days, days_in, without_days
from nanobot.nlp.words import is_stop, words_of

# The question: terms, speakers, days.


@dataclass(frozen=True, slots=True)
class RecallQuestion:
    """Question in the terms of the index.

    `words` are the stems to look for, each once; `speakers` those it names, `days` the time it names.
    """

    words: Sequence[str]
    speakers: frozenset[str]
    days: Sequence[Days]
    asks_when: bool
    is_about_asker: bool
    is_about_bot: bool


def read_question(text: str, today: date, speakers: Sequence[str], years: Sequence[int]) -> RecallQuestion:
    """Read a question.

    Args:
        text: as it was typed.
        today: the day on which it is asked; "yesterday" is the day before.
        speakers: the names of all who ever spoke; a name that is asked about is not looked for as a word.
        years: the years in which anything was said; "in May" may mean each of them.
    """
    days = days_in(text, today, years)
    every = words_of(expression("recall", "asking").sub(" ", without_days(text, today)))
    named = {speaker: set(words_of(speaker)) for speaker in speakers}
    about = frozenset(speaker for speaker, name in named.items() if name and not name.isdisjoint(every))
    names = {word for speaker in about for word in named[speaker]}
    words = [word for word in every if word not in names]
    telling = [word for word in words if not is_stop(word)]
    own, bots = bool(expression("recall", "self").search(text)), bool(expression("recall", "other").search(text))
    return RecallQuestion(
        words=list(dict.fromkeys(telling or ([] if days else words))),
        speakers=about,
        days=days,
        asks_when=bool(expression("recall", "when").search(text)),
        is_about_asker=own and not about,
        is_about_bot=bots and not own and not about,
    )


def without_names(text: str, speakers: Iterable[str]) -> str:
    """Return the text without these names, which are in everything that is said to these people."""
    names = sorted({part for speaker in speakers for part in (speaker, *speaker.split())}, key=len, reverse=True)
    for name in names:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?:['\u2019]s)?(?!\w)", "", text, flags=re.IGNORECASE)
    return text


# Candidates, seen with their neighbours.


REACH = 2  # neighbours on each side that count
_PAUSE = 6 * 3600  # seconds; what was said after a longer one is another conversation

Values = list[float]
"""A column: one number for each candidate of a page."""


def asks(said: SearchableText) -> bool:
    """True if a text ends in a question."""
    return ends_in_question(said.text)


def ends_in_question(text: str) -> bool:
    """Return True if a text ends as a question does."""
    return _question_end().search(text) is not None


@cache
def _question_end() -> re.Pattern[str]:
    particles = "".join(each.get("particles", "") for each in tables("recall"))
    return re.compile(rf"[?？{particles}]\s*$")


def tells_time(said: SearchableText) -> bool:
    """True if a text says when something is."""
    return bool(expression("recall", "time").search(said.text))


class CandidatePage:
    """Candidates in the order in which they were said or written, file by file; `place` is an index into them."""

    def __init__(self, texts: Sequence[SearchableText]) -> None:
        self.texts = texts
        self.words = [said.words.split() for said in texts]
        self._postings: dict[str, dict[int, int]] = {}
        self._links = {offset: self._neighbours(offset) for offset in range(-REACH, REACH + 1) if offset}

    def _neighbours(self, offset: int) -> list[int]:
        """Return for each text the place of the one so many messages later in its conversation, or -1."""
        places = {(said.file, said.position): place for place, said in enumerate(self.texts)}
        links = []
        for said in self.texts:
            place = places.get((said.file, said.position + offset), -1)
            near = place >= 0 and abs(self.texts[place].when - said.when) <= _PAUSE
            links.append(place if near else -1)
        return links

    def load_postings(self, words: Iterable[str]) -> None:
        """Count these words in all texts; `postings` knows only words that were loaded."""
        wanted = set(words) - self._postings.keys()
        found: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for place, standing in enumerate(self.words):
            for word in wanted.intersection(standing):
                found[word][place] = standing.count(word)
        self._postings.update((word, found[word]) for word in wanted)

    def postings(self, word: str) -> Mapping[int, int]:
        """Return the number of times that the word occurs, by place."""
        return self._postings[word]

    def beside(self, values: Values, offset: int) -> Values:
        """Return for each text the value of the one so many messages later or, negative, earlier; 0 for none."""
        return [values[place] if place >= 0 else 0.0 for place in self._links[offset]]

    def both_beside(self, values: Values) -> Values:
        """Return for each text the sum of the values right before and after it."""
        return [one + other for one, other in zip(self.beside(values, -1), self.beside(values, 1), strict=True)]

    def beside_or_at(self, place: int) -> Iterable[int]:
        """Return the places of a text and of those right before and after it."""
        return (place, *(near for offset in (-1, 1) if (near := self._links[offset][place]) >= 0))

    def beside_what_holds(self, words: Iterable[str]) -> frozenset[int]:
        """Return the places of texts that hold none of the words, and do not answer a question that does."""
        self.load_postings(words)
        holding = {place for word in words for place in self._postings[word]}
        asked = {place for place in holding if asks(self.texts[place])}
        return frozenset(
            place for place in range(len(self.texts)) if place not in holding and self._links[-1][place] not in asked
        )

    def each(self, measure: Callable[[SearchableText], float]) -> Values:
        """Return a measure of each text."""
        return [float(measure(said)) for said in self.texts]


# Features of a candidate: reasons why it may be the answer.


_SATURATION, _BY_LENGTH = 0.7, 0.6  # bm25's k1 and b: a word said twice in a short message hardly tells more than once
_LEADERS, _LEARNT = 5, 8  # so many of the best texts teach so many further words
_NEAR = {-1: 0.8, 1: 0.5}  # how much a word counts that stands so many messages away
_WIDE = {-2: 0.4, -1: 0.8, 1: 0.5, 2: 0.3}
_SIMILAR = 0.5  # how much a synonym covers of the word that was asked for
_SOON = 7  # days after it happened in which people still tell of it
_ONES_OWN = ("user", "memory")  # what people say, and what is remembered of them
_MONTHS = 100  # days; a longer stretch ("in 2022") tells little


class TermWeights:
    """Weights of terms in an index: the rarer, the more telling."""

    def __init__(self, extent: IndexSize, counts: Callable[[Sequence[str]], Mapping[str, int]]) -> None:
        self._texts, self._look_up = extent.texts, counts
        self._mean_words = extent.mean_words or 1.0
        self._counts: dict[str, int] = {}

    def load(self, words: Iterable[str]) -> None:
        """Look up how many texts hold these words; the other methods know only words that were loaded."""
        unknown = [word for word in dict.fromkeys(words) if word not in self._counts]
        if unknown:
            self._counts.update(dict.fromkeys(unknown, 0) | dict(self._look_up(unknown)))

    def document_frequency(self, word: str) -> int:
        """Number of texts in which it stands."""
        return self._counts[word]

    def idf(self, word: str) -> float:
        """The inverse document frequency of bm25."""
        count = min(self._counts[word], self._texts)
        return math.log(1 + (self._texts - count + 0.5) / (count + 0.5))

    @property
    def texts(self) -> int:
        """Number of texts."""
        return self._texts

    @property
    def highest_idf(self) -> float:
        """Scale of the weights: about that of a word that stands in a single text."""
        return math.log(1 + self._texts)

    def bm25(self, page: CandidatePage, words: Mapping[str, float]) -> Values:
        """Return the BM25 score of each text for these words, each with its weight."""
        self.load(words)
        page.load_postings(words)
        values = [0.0] * len(page.texts)
        for word, weight in words.items():
            worth = weight * self.idf(word) * (_SATURATION + 1)
            for place, count in page.postings(word).items():
                length = len(page.words[place]) / self._mean_words
                room = _SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * length)
                values[place] += worth * count / (count + room)
        return values


def lexical_features(
    page: CandidatePage, question: RecallQuestion, synonyms: Mapping[str, Sequence[str]], weights: TermWeights
) -> dict[str, Values]:
    """Return the features made of terms, in the units of BM25; `synonyms` by word of the question."""
    own = weights.bm25(page, dict.fromkeys(question.words, 1.0))
    asking = [value * asks(said) if value else 0.0 for value, said in zip(own, page.texts, strict=True)]
    return {
        "bm25": own,
        "bm25_before": page.beside(own, -1),
        "bm25_of_question_before": page.beside(asking, -1),
        "bm25_after": page.beside(own, 1),
        "bm25_2_before": page.beside(own, -2),
        "bm25_2_after": page.beside(own, 2),
        "coverage": _coverage(page, question, {}, _NEAR, weights),
        "coverage_with_synonyms": _coverage(page, question, synonyms, _WIDE, weights),
    }


def _coverage(
    page: CandidatePage,
    question: RecallQuestion,
    synonyms: Mapping[str, Sequence[str]],
    shares: Mapping[int, float],
    weights: TermWeights,
) -> Values:
    """Return the share of the question that a passage covers: all words in one place beat one word many times."""
    total = [0.0] * len(page.texts)
    everything = 0.0
    for word in question.words:
        here = _term_match(page, word, synonyms.get(word, ()))
        if not any(here):
            continue
        columns = [here, *([value * share for value in page.beside(here, offset)] for offset, share in shares.items())]
        rarity = weights.idf(word)
        everything += rarity
        total = [sofar + rarity * best for sofar, best in zip(total, map(max, *columns), strict=True)]
    return [value * value / everything if everything else 0.0 for value in total]


def _term_match(page: CandidatePage, word: str, others: Sequence[str]) -> Values:
    """1 where the word stands, less where only one of the others does."""
    values = [0.0] * len(page.texts)
    for other in others:
        for place in page.postings(other):
            values[place] = _SIMILAR
    for place in page.postings(word):
        values[place] = 1.0
    return values


def feedback_terms(page: CandidatePage, values: Values, known: set[str], weights: TermWeights) -> dict[str, float]:
    """Terms that the best texts of a first pass share, each with its weight up to 1 (pseudo-relevance feedback)."""
    best = sorted(range(len(values)), key=lambda place: -values[place])[:_LEADERS]
    told = {
        place: sorted({word for word in page.words[place] if word not in known and _is_telling(word)})
        for place in best
        if values[place] > 0
    }
    weights.load(word for words in told.values() for word in words)
    tally: dict[str, float] = {}
    for place, words in told.items():
        for word in words:
            tally[word] = tally.get(word, 0.0) + values[place] * weights.idf(word)
    chosen = sorted(tally.items(), key=lambda pair: (-pair[1], pair[0]))[:_LEARNT]
    return {word: value / chosen[0][1] for word, value in chosen}


def _is_telling(word: str) -> bool:
    return not is_stop(word) and (len(word) > 2 or not word.isascii())


def context_features(page: CandidatePage, question: RecallQuestion) -> dict[str, Values]:
    """Return the features made of speaker, time and kind of a text."""
    return {
        "speaker": page.each(lambda said: _is_about(said, question)),
        "is_question": page.each(asks),
        "tells_time": page.each(lambda said: question.asks_when and tells_time(said)),
        "on_days": page.each(lambda said: max((_nearness(said.day, days) for days in question.days), default=0)),
    }


def _is_about(said: SearchableText, question: RecallQuestion) -> bool:
    if len(question.speakers) == 1:
        return said.speaker in question.speakers
    return (question.is_about_asker and said.role in _ONES_OWN) or (question.is_about_bot and said.role == "assistant")


def _nearness(day: int, days: Days) -> float:
    """1 on the days themselves, falling to 0 over the week after."""
    first, last = days.first.toordinal(), days.last.toordinal()
    if first <= day <= last:
        return 1.0 if days.length <= _MONTHS else 0.3
    if days.length > _MONTHS:
        return 0.0
    if last < day <= last + _SOON:
        return 1 - (day - last) / (_SOON + 1)
    return 0.2 if first - 3 <= day < first else 0.0


# Scores: the features, weighed.


# Fitted to dialogues, each left out in turn and tried on the rest; see docs/decisions/0005-recall.md.
# The first are shares of a sum, the second exponents of a factor.
LEXICAL_WEIGHTS: Mapping[str, float] = {
    "bm25": 1.0,
    "bm25_before": 0.43,
    "bm25_of_question_before": 2.63,
    "bm25_after": 1.73,
    "bm25_2_before": 2.31,
    "bm25_2_after": 2.0,
    "coverage": 1.29,
    "coverage_with_synonyms": 12.94,
    "feedback": 1.71,
    "feedback_beside": 0.52,
    "spelling": 3.8,
    "meaning": 20.0,
    "meaning_beside": 10.0,
}
CONTEXT_WEIGHTS: Mapping[str, float] = {"speaker": 0.75, "is_question": -0.26, "tells_time": 0.42, "on_days": 0.58}
_FLOOR = 0.26  # what a text is worth that matches nothing: it can still be the one from that day
_FIRST_PASS: Mapping[str, float] = {"bm25": 1.0, "bm25_before": 0.4, "bm25_of_question_before": 0.4, "bm25_after": 0.2}
_FIRST_PASS_SPEAKER = 0.8


def features(
    page: CandidatePage,
    question: RecallQuestion,
    synonyms: Mapping[str, Sequence[str]],
    spelt_alike: Sequence[str],
    weights: TermWeights,
    matches: SemanticMatches,
) -> tuple[dict[str, Values], dict[str, Values]]:
    """Return all features of all candidates: those made of terms, and those of the context.

    Args:
        page: the candidates.
        question: as it was read.
        synonyms: synonyms by word of the question.
        spelt_alike: terms of the index that are spelt like those of the question.
        weights: of the terms.
        matches: closeness in meaning.
    """
    page.load_postings([*question.words, *(word for words in synonyms.values() for word in words), *spelt_alike])
    lexical = lexical_features(page, question, synonyms, weights)
    context = context_features(page, question)
    first = _sum(lexical, _FIRST_PASS)
    first = [
        value * (1 + _FIRST_PASS_SPEAKER * speaks) for value, speaks in zip(first, context["speaker"], strict=True)
    ]
    names = {word for speaker in {said.speaker for said in page.texts} for word in words_of(speaker)}
    more = feedback_terms(page, first, {*question.words, *names}, weights)
    lexical["feedback"] = weights.bm25(page, more)
    lexical["feedback_beside"] = page.both_beside(lexical["feedback"])
    lexical["spelling"] = weights.bm25(page, dict.fromkeys(spelt_alike, 1.0))
    lexical["meaning"] = page.each(lambda said: matches.closeness(said.key))
    lexical["meaning_beside"] = page.both_beside(lexical["meaning"])
    return lexical, context


def scores(lexical: Mapping[str, Values], context: Mapping[str, Values]) -> Values:
    """Return the score of each candidate, comparable within one question."""
    return [
        (_FLOOR + value) * math.exp(exponent)
        for value, exponent in zip(_sum(lexical, LEXICAL_WEIGHTS), _sum(context, CONTEXT_WEIGHTS), strict=True)
    ]


def _sum(values: Mapping[str, Values], shares: Mapping[str, float]) -> Values:
    total = [0.0] * len(next(iter(values.values())))
    for name, share in shares.items():
        total = [sofar + share * value for sofar, value in zip(total, values[name], strict=True)]
    return total


# Relevance: candidates worth showing with a message, which asks for nothing.


# Set on conversations with small talk and with the questions of others put to them; docs/decisions/0005-recall.md has
# the figures. What is found must hold so much that is telling, measured by the rarest word that there can be ...
_ENOUGH = 1.25
_ENOUGH_IF_PERSONAL = 0.8
# ... and such a share of all that is telling in the message.
_SHARE = 0.4
_OF_UNKNOWN = 0.25  # two characters side by side that nobody ever wrote are seldom a word


class Relevance:
    """Decides which candidates are worth showing with a message."""

    def __init__(self, question: RecallQuestion, weights: TermWeights, today: date, *, personal: bool) -> None:
        """`weights` know the words of the question; `personal`: whether it speaks of whoever wrote it."""
        self._weights = weights
        self._then = [days for days in question.days if days.last < today]
        self._words = list(content_terms(question))
        is_personal = personal or question.speakers or question.days
        self._enough = _ENOUGH_IF_PERSONAL if is_personal else _ENOUGH

    @property
    def is_possible(self) -> bool:
        """True if any text could be relevant: most messages hold nothing that is telling, and need no search."""
        if not self._words:
            return bool(self._then)
        return self._is_enough(word for word in self._words if self._weights.document_frequency(word))

    def holds(self, page: CandidatePage, place: int) -> bool:
        """True if a text, with what stands right beside it, holds enough of what the message speaks of.

        For a message that speaks of nothing but a day in the past, it must be of that day.
        """
        if not self._words:
            day = page.texts[place].day
            return any(days.first.toordinal() <= day <= days.last.toordinal() for days in self._then)
        near = page.beside_or_at(place)
        return self._is_enough(word for word in self._words if not page.postings(word).keys().isdisjoint(near))

    def _is_enough(self, words: Iterable[str]) -> bool:
        found = sum(map(self._weights.idf, words))
        wanted = sum(map(self._wanted, self._words))
        return found >= self._enough * self._weights.highest_idf and found >= _SHARE * wanted and found > 0

    def _wanted(self, word: str) -> float:
        is_unknown = not word.isascii() and not self._weights.document_frequency(word)
        return self._weights.idf(word) * (_OF_UNKNOWN if is_unknown else 1)


def content_terms(question: RecallQuestion) -> Iterator[str]:
    """Return the terms that tell a subject: no courtesies; of Chinese, pairs rather than characters."""
    pairs = [word for word in question.words if not word.isascii() and len(word) > 1]
    words = [word for word in question.words if not is_stop(word) and word not in _small_talk()]
    for word in words:
        is_part = not word.isascii() and len(word) == 1 and any(word in pair for pair in pairs)
        if not is_part:
            yield word


def speaks_of_oneself(text: str) -> bool:
    """True if a message is about whoever wrote it, not only for them ("tell me a joke")."""
    return expression("recall", "oneself").search(expression("recall", "service").sub(" ", text)) is not None


@cache
def _small_talk() -> frozenset[str]:
    text = " ".join(each.get("small_talk", "") for each in tables("recall"))
    return frozenset(word for one in text.split() for word in words_of(one) if word.isascii() or len(word) > 1)
