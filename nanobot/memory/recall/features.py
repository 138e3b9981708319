"""What speaks for a text as the answer to a question, one number for each reason."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from nanobot.memory.recall.dates import Days
from nanobot.memory.recall.page import Entry, Page, Values
from nanobot.memory.recall.question import Question
from nanobot.memory.recall.words import is_stop
from nanobot.ports import Extent

_SATURATION, _BY_LENGTH = 0.7, 0.6  # bm25's k1 and b: a word said twice in a short message hardly tells more than once
_LEADERS, _LEARNT = 5, 8  # so many of the best texts teach so many further words
_NEAR = {-1: 0.8, 1: 0.5}  # how much a word counts that stands so many messages away
_WIDE = {-2: 0.4, -1: 0.8, 1: 0.5, 2: 0.3}
_SIMILAR = 0.5  # how much a synonym covers of the word that was asked for
_SOON = 7  # days after it happened in which people still tell of it
_MONTHS = 100  # days; a longer stretch ("in 2022") tells little


class Weights:
    """How telling words are in an index."""

    def __init__(self, extent: Extent, counts: Callable[[Sequence[str]], Mapping[str, int]]) -> None:
        self._extent, self._look_up = extent, counts
        self._mean_words = extent.mean_words or 1.0
        self._counts: dict[str, int] = {}

    def know(self, words: Iterable[str]) -> None:
        """Look these words up, all at once; rarity knows only such words."""
        unknown = [word for word in dict.fromkeys(words) if word not in self._counts]
        if unknown:
            self._counts.update(dict.fromkeys(unknown, 0) | dict(self._look_up(unknown)))

    def count(self, word: str) -> int:
        """In how many texts it stands."""
        return self._counts[word]

    def rarity(self, word: str) -> float:
        """The inverse document frequency of bm25."""
        texts = self._extent.texts
        count = min(self._counts[word], texts)
        return math.log(1 + (texts - count + 0.5) / (count + 0.5))

    def bm25(self, entry: Entry, words: Mapping[str, float]) -> float:
        """How well a text matches these words, each with its weight."""
        total = 0.0
        room = _SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * entry.length / self._mean_words)
        for word, weight in words.items():
            if count := entry.counts.get(word, 0):
                total += weight * self.rarity(word) * count * (_SATURATION + 1) / (count + room)
        return total


def lexical(page: Page, question: Question, alike: Mapping[str, Sequence[str]], weights: Weights) -> dict[str, Values]:
    """What the words of the question say, in the units of bm25.

    `alike` holds, for each word of the question, its synonyms.
    """
    asked = dict.fromkeys(question.words, 1.0)
    others = {word: 1.0 for words in alike.values() for word in words if word not in asked}
    own = page.each(lambda entry: weights.bm25(entry, asked))
    asking = [value * entry.asks for value, entry in zip(own, page.entries, strict=True)]
    return {
        "own": own,
        "before": page.beside(own, -1),
        "before_asks": page.beside(asking, -1),
        "after": page.beside(own, 1),
        "before_2": page.beside(own, -2),
        "after_2": page.beside(own, 2),
        "synonyms": page.each(lambda entry: weights.bm25(entry, others)) if others else [0.0] * len(own),
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
    total = [0.0] * len(page.entries)
    everything = 0.0
    for word in question.words:
        here = page.each(partial(_holds, word=word, others=alike.get(word, ())))
        if not any(here):
            continue
        columns = [here, *([value * share for value in page.beside(here, offset)] for offset, share in shares.items())]
        rarity = weights.rarity(word)
        everything += rarity
        total = [sofar + rarity * max(values) for sofar, values in zip(total, zip(*columns, strict=True), strict=True)]
    return [value * value / everything if everything else 0.0 for value in total]


def _holds(entry: Entry, word: str, others: Sequence[str]) -> float:
    if word in entry.counts:
        return 1.0
    return _SIMILAR if any(other in entry.counts for other in others) else 0.0


def teachers(page: Page, values: Values) -> list[tuple[Entry, float]]:
    """The best texts so far; what else they speak of is likely to be on the subject."""
    order = sorted(range(len(values)), key=lambda place: -values[place])[:_LEADERS]
    return [(page.entries[place], values[place]) for place in order if values[place] > 0]


def learnt(
    best: Sequence[tuple[Entry, float]], question: Question, names: set[str], weights: Weights
) -> dict[str, float]:
    """Words that the best texts share beside those that were asked for, each with its weight up to 1."""
    dull = {*question.words, *names}
    told = [(value, [word for word in entry.counts if word not in dull and _is_telling(word)]) for entry, value in best]
    weights.know(word for _, words in told for word in words)
    tally: dict[str, float] = {}
    for value, words in told:
        for word in words:
            tally[word] = tally.get(word, 0.0) + value * weights.rarity(word)
    chosen = sorted(tally.items(), key=lambda pair: (-pair[1], pair[0]))[:_LEARNT]
    return {word: value / chosen[0][1] for word, value in chosen}


def _is_telling(word: str) -> bool:
    return not is_stop(word) and (len(word) > 2 or not word.isascii())


def circumstances(page: Page, question: Question) -> dict[str, Values]:
    """Who said it, when and how."""
    return {
        "speaker": page.each(lambda entry: _is_about(entry, question)),
        "asks": page.each(lambda entry: entry.asks),
        "own_words": page.each(lambda entry: entry.own),
        "tells_time": page.each(lambda entry: question.asks_when and entry.tells_time),
        "then": page.each(lambda entry: max((_nearness(entry.said.day, days) for days in question.days), default=0)),
    }


def _is_about(entry: Entry, question: Question) -> bool:
    if len(question.about) == 1:
        return entry.said.speaker in question.about
    return (question.own and entry.said.role == "user") or (question.bots and entry.said.role == "assistant")


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
