"""The texts among which the best are chosen, seen with their neighbours."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from nanobot.ports import Said

REACH = 2  # neighbours on each side that count
_PAUSE = 6 * 3600  # seconds; what was said after a longer one is another conversation
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|this|ago|week(?:end)?s?|months?|years?|since|recently|just"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december|19\d\d|20\d\d)\b|[今明昨前后去]天|[今明去前]年|[上下这]个?(?:周|月|星期|礼拜)|周[一二三四五六日末]"
    r"|星期|[\d一二三四五六七八九十][月号日点]|天前|年前",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:[?？]|[吗呢])\s*$")

Values = list[float]
"""One number for each text of a page."""


def asks(said: Said) -> bool:
    """Whether a text ends in a question."""
    return bool(_ASKS.search(said.text))


def tells_time(said: Said) -> bool:
    """Whether a text says when something is."""
    return bool(_TIME.search(said.text))


class Page:
    """Texts in the order in which they were said or written, file by file."""

    def __init__(self, texts: Sequence[Said]) -> None:
        self.texts = texts
        self.words = [said.words.split() for said in texts]
        self._holding: dict[str, dict[int, int]] = {}
        self._links = {offset: self._neighbours(offset) for offset in range(-REACH, REACH + 1) if offset}

    def _neighbours(self, offset: int) -> list[int]:
        """For each text the place of the one so many messages later in its conversation, or -1."""
        places = {(said.file, said.position): place for place, said in enumerate(self.texts)}
        links = []
        for said in self.texts:
            place = places.get((said.file, said.position + offset), -1)
            near = place >= 0 and abs(self.texts[place].when - said.when) <= _PAUSE
            links.append(place if near else -1)
        return links

    def look_for(self, words: Iterable[str]) -> None:
        """Find out where these words stand; `holding` knows only such words."""
        wanted = set(words) - self._holding.keys()
        found: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for place, standing in enumerate(self.words):
            for word in wanted.intersection(standing):
                found[word][place] = standing.count(word)
        self._holding.update((word, found[word]) for word in wanted)

    def holding(self, word: str) -> Mapping[int, int]:
        """How often the word stands where it stands, by place."""
        return self._holding[word]

    def beside(self, values: Values, offset: int) -> Values:
        """For each text the value of the one so many messages later (negative: earlier); 0 where there is none."""
        return [values[place] if place >= 0 else 0.0 for place in self._links[offset]]

    def both_beside(self, values: Values) -> Values:
        """For each text what the one before it and the one after it have together."""
        return [one + other for one, other in zip(self.beside(values, -1), self.beside(values, 1), strict=True)]

    def beside_or_at(self, place: int) -> Iterable[int]:
        """The text itself, and those right before and after it."""
        return (place, *(near for offset in (-1, 1) if (near := self._links[offset][place]) >= 0))

    def beside_what_holds(self, words: Iterable[str]) -> frozenset[int]:
        """The places of texts that hold none of the words, and do not answer a question that does."""
        self.look_for(words)
        holding = {place for word in words for place in self._holding[word]}
        asked = {place for place in holding if asks(self.texts[place])}
        return frozenset(
            place for place in range(len(self.texts)) if place not in holding and self._links[-1][place] not in asked
        )

    def each(self, measure: Callable[[Said], float]) -> Values:
        return [float(measure(said)) for said in self.texts]
