"""What speaks for a text as the answer to a question, one number for each reason."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from nanobot.memory.recall.days import Days
from nanobot.memory.recall.page import Page, Values, asks, tells_time
from nanobot.memory.recall.question import Question
from nanobot.memory.recall.words import is_stop
from nanobot.ports import Extent, Said

_SATURATION, _BY_LENGTH = 0.7, 0.6  # bm25's k1 and b: a word said twice in a short message hardly tells more than once
_LEADERS, _LEARNT = 5, 8  # so many of the best texts teach so many further words
_NEAR = {-1: 0.8, 1: 0.5}  # how much a word counts that stands so many messages away
_WIDE = {-2: 0.4, -1: 0.8, 1: 0.5, 2: 0.3}
_SIMILAR = 0.5  # how much a synonym covers of the word that was asked for
_SOON = 7  # days after it happened in which people still tell of it
_ONES_OWN = ("user", "memory")  # what people say, and what is remembered of them
_MONTHS = 100  # days; a longer stretch ("in 2022") tells little


class Weights:
    """How telling words are in an index."""

    def __init__(self, extent: Extent, counts: Callable[[Sequence[str]], Mapping[str, int]]) -> None:
        self._texts, self._look_up = extent.texts, counts
        self._mean_words = extent.mean_words or 1.0
        self._counts: dict[str, int] = {}

    def know(self, words: Iterable[str]) -> None:
        """Look these words up, all at once; count and rarity know only such words."""
        unknown = [word for word in dict.fromkeys(words) if word not in self._counts]
        if unknown:
            self._counts.update(dict.fromkeys(unknown, 0) | dict(self._look_up(unknown)))

    def count(self, word: str) -> int:
        """In how many texts it stands."""
        return self._counts[word]

    def rarity(self, word: str) -> float:
        """The inverse document frequency of bm25."""
        count = min(self._counts[word], self._texts)
        return math.log(1 + (self._texts - count + 0.5) / (count + 0.5))

    @property
    def texts(self) -> int:
        """How many texts there are."""
        return self._texts

    @property
    def rarest(self) -> float:
        """The scale of rarity: about that of a word that stands in a single text."""
        return math.log(1 + self._texts)

    def bm25(self, page: Page, words: Mapping[str, float]) -> Values:
        """How well each text matches these words, each with its weight."""
        self.know(words)
        page.look_for(words)
        values = [0.0] * len(page.texts)
        for word, weight in words.items():
            worth = weight * self.rarity(word) * (_SATURATION + 1)
            for place, count in page.holding(word).items():
                length = len(page.words[place]) / self._mean_words
                room = _SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * length)
                values[place] += worth * count / (count + room)
        return values


def lexical(page: Page, question: Question, alike: Mapping[str, Sequence[str]], weights: Weights) -> dict[str, Values]:
    """What the words of the question say, in the units of bm25.

    `alike` holds, for each word of the question, its synonyms.
    """
    own = weights.bm25(page, dict.fromkeys(question.words, 1.0))
    asking = [value * asks(said) if value else 0.0 for value, said in zip(own, page.texts, strict=True)]
    return {
        "own": own,
        "before": page.beside(own, -1),
        "before_asks": page.beside(asking, -1),
        "after": page.beside(own, 1),
        "before_2": page.beside(own, -2),
        "after_2": page.beside(own, 2),
        "covered": _covered(page, question, {}, _NEAR, weights),
        "covered_widely": _covered(page, question, alike, _WIDE, weights),
    }


def _covered(
    page: Page,
    question: Question,
    alike: Mapping[str, Sequence[str]],
    shares: Mapping[int, float],
    weights: Weights,
) -> Values:
    """How much of the question a passage covers: all words in one place beat one word many times."""
    total = [0.0] * len(page.texts)
    everything = 0.0
    for word in question.words:
        here = _held(page, word, alike.get(word, ()))
        if not any(here):
            continue
        columns = [here, *([value * share for value in page.beside(here, offset)] for offset, share in shares.items())]
        rarity = weights.rarity(word)
        everything += rarity
        total = [sofar + rarity * best for sofar, best in zip(total, map(max, *columns), strict=True)]
    return [value * value / everything if everything else 0.0 for value in total]


def _held(page: Page, word: str, others: Sequence[str]) -> Values:
    """1 where the word stands, less where only one of the others does."""
    values = [0.0] * len(page.texts)
    for other in others:
        for place in page.holding(other):
            values[place] = _SIMILAR
    for place in page.holding(word):
        values[place] = 1.0
    return values


def learnt(page: Page, values: Values, known: set[str], weights: Weights) -> dict[str, float]:
    """Words that the best texts share beside those known, each with its weight up to 1: what the subject is about."""
    best = sorted(range(len(values)), key=lambda place: -values[place])[:_LEADERS]
    told = {
        place: sorted({word for word in page.words[place] if word not in known and _is_telling(word)})
        for place in best
        if values[place] > 0
    }
    weights.know(word for words in told.values() for word in words)
    tally: dict[str, float] = {}
    for place, words in told.items():
        for word in words:
            tally[word] = tally.get(word, 0.0) + values[place] * weights.rarity(word)
    chosen = sorted(tally.items(), key=lambda pair: (-pair[1], pair[0]))[:_LEARNT]
    return {word: value / chosen[0][1] for word, value in chosen}


def _is_telling(word: str) -> bool:
    return not is_stop(word) and (len(word) > 2 or not word.isascii())


def circumstances(page: Page, question: Question) -> dict[str, Values]:
    """Who said it, when and how."""
    return {
        "speaker": page.each(lambda said: _is_about(said, question)),
        "asks": page.each(asks),
        "tells_time": page.each(lambda said: question.asks_when and tells_time(said)),
        "then": page.each(lambda said: max((_nearness(said.day, days) for days in question.days), default=0)),
    }


def _is_about(said: Said, question: Question) -> bool:
    if len(question.about) == 1:
        return said.speaker in question.about
    return (question.own and said.role in _ONES_OWN) or (question.bots and said.role == "assistant")


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
