"""The texts among which the best are chosen, seen with their neighbours."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache

from nanobot.memory.recall.words import words_of
from nanobot.ports import Said

REACH = 2  # neighbours on each side that count
_PAUSE = 6 * 3600  # seconds; what was said after a longer one is another conversation
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|this|ago|week(?:end)?s?|months?|years?|since|recently|just"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december|19\d\d|20\d\d)\b|[今明昨前后去]天|[今明去前]年|[上下这]个?(?:周|月|星期|礼拜)|周[一二三四五六日末]"
    r"|星期|[\d一二三四五六七八九十]+[月号日点]|天前|年前",
    re.IGNORECASE,
)
_SELF = frozenset(words_of("I my me we our mine 我"))
_ASKS = re.compile(r"(?:[?？]|[吗呢])\s*$")


class Entry:
    """One text with what the ranking looks at."""

    def __init__(self, said: Said) -> None:
        self.said = said
        self.counts = Counter(words_of(said.text))
        self.length = self.counts.total()
        self.asks = bool(_ASKS.search(said.text))
        self.own = not _SELF.isdisjoint(self.counts)

    @cached_property
    def tells_time(self) -> bool:
        return bool(_TIME.search(self.said.text))


_entry = lru_cache(maxsize=4096)(Entry)  # a person's own talk is asked about again and again


Values = list[float]


class Page:
    """Entries in the order in which they were said, session by session."""

    def __init__(self, texts: Sequence[Said]) -> None:
        self.entries = [_entry(said) for said in texts]
        self._links = {offset: self._neighbours(offset) for offset in range(-REACH, REACH + 1) if offset}

    def _neighbours(self, offset: int) -> list[int]:
        """For each entry the place of the one so many messages later in its conversation, or -1."""
        places = {(entry.said.session, entry.said.position): place for place, entry in enumerate(self.entries)}
        links = []
        for entry in self.entries:
            place = places.get((entry.said.session, entry.said.position + offset), -1)
            near = place >= 0 and abs(self.entries[place].said.when - entry.said.when) <= _PAUSE
            links.append(place if near else -1)
        return links

    def beside(self, values: Values, offset: int) -> Values:
        """For each entry the value of the one so many messages later (negative: earlier); 0 where there is none."""
        return [values[place] if place >= 0 else 0.0 for place in self._links[offset]]

    def both_beside(self, values: Values) -> Values:
        """For each entry what the one before it and the one after it have together."""
        return [one + other for one, other in zip(self.beside(values, -1), self.beside(values, 1), strict=True)]

    def each(self, measure: Callable[[Entry], float]) -> Values:
        return [float(measure(entry)) for entry in self.entries]
