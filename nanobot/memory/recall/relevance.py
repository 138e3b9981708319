"""Whether something that was found is worth knowing when a message is answered."""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache
from importlib import resources

from nanobot.memory.recall.features import Weights
from nanobot.memory.recall.page import Page
from nanobot.memory.recall.question import Question
from nanobot.memory.recall.words import is_stop, words_of

# Set on conversations with small talk and with the questions of others put to them; docs/decisions/0005-recall.md has
# the figures. What is found must hold so much that is telling, measured by the rarest word that there can be ...
_ENOUGH = 1.25
_ENOUGH_FOR_ONES_OWN = 0.8
# ... and such a share of all that is telling in the message.
_SHARE = 0.4
_OF_UNKNOWN = 0.25  # two characters side by side that nobody ever wrote are seldom a word

_SERVICE = re.compile(
    r"\b(?:tell|give|show|help|teach|explain|write|let|to|for)\s+me\b|[帮给教让]我|告诉我|我想要?", re.IGNORECASE
)


class Relevance:
    """Judges texts by a message."""

    def __init__(self, question: Question, weights: Weights, today: date, *, personal: bool) -> None:
        """`weights` know the words of the question; `personal`: whether it speaks of whoever wrote it."""
        self._weights = weights
        self._then = [days for days in question.days if days.last < today]
        self._words = list(telling(question))
        is_personal = personal or question.about or question.days
        self._enough = _ENOUGH_FOR_ONES_OWN if is_personal else _ENOUGH

    @property
    def is_possible(self) -> bool:
        """Whether any text could be relevant: most messages hold nothing that is telling, and need no search."""
        if not self._words:
            return bool(self._then)
        return self._is_enough(word for word in self._words if self._weights.count(word))

    def of(self, page: Page, place: int) -> bool:
        """Whether a text, with what stands right beside it, holds enough of what the message speaks of.

        For a message that speaks of nothing but a day in the past, it must be of that day.
        """
        if not self._words:
            day = page.texts[place].day
            return any(days.first.toordinal() <= day <= days.last.toordinal() for days in self._then)
        near = page.beside_or_at(place)
        return self._is_enough(word for word in self._words if not page.holding(word).keys().isdisjoint(near))

    def _is_enough(self, words: Iterable[str]) -> bool:
        found = sum(map(self._weights.rarity, words))
        wanted = sum(map(self._wanted, self._words))
        return found >= self._enough * self._weights.rarest and found >= _SHARE * wanted and found > 0

    def _wanted(self, word: str) -> float:
        is_unknown = not word.isascii() and not self._weights.count(word)
        return self._weights.rarity(word) * (_OF_UNKNOWN if is_unknown else 1)


def telling(question: Question) -> Iterator[str]:
    """The words that say what a message is about, courtesies left out; of Chinese, pairs rather than characters."""
    pairs = [word for word in question.words if not word.isascii() and len(word) > 1]
    words = [word for word in question.words if not is_stop(word) and word not in _small_talk()]
    for word in words:
        is_part = not word.isascii() and len(word) == 1 and any(word in pair for pair in pairs)
        if not is_part:
            yield word


def speaks_of_oneself(text: str) -> bool:
    """Whether a message is about whoever wrote it, not only for them ("tell me a joke")."""
    return bool(re.search(r"\b(?:i|my|mine|me|myself|we|us|our|ours)\b|我|咱", _SERVICE.sub(" ", text), re.IGNORECASE))


@cache
def _small_talk() -> frozenset[str]:
    text = resources.files(__package__).joinpath("small_talk.txt").read_text(encoding="utf-8")
    return frozenset(word for one in text.split() for word in words_of(one) if word.isascii() or len(word) > 1)
