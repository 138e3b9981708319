"""A RecallIndex that is a plain list: slow, and easy to believe."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date

from nanobot.memory.recall.ports import IndexSize, Related, SearchableText, SearchLimits, SemanticMatches


class ListIndex:
    """Holds every text in memory, with the scope of each by its key; what has none is the owner's."""

    def __init__(self, texts: Sequence[SearchableText], scopes: Mapping[int, str] | None = None) -> None:
        self._texts = sorted(texts, key=lambda said: (said.file, said.position))
        self._scopes = scopes or {}

    def extent(self, within: SearchLimits) -> IndexSize:
        seen = [said for said in self._texts if self._is_open(said, within)]
        days = [date.fromordinal(said.day).year for said in seen if said.day]
        words = sum(len(said.words.split()) for said in self._texts)
        return IndexSize(
            texts=len(self._texts),
            mean_words=words / len(self._texts) if self._texts else 0.0,
            years=range(min(days), max(days) + 1) if days else (),
            speakers=sorted({said.speaker for said in seen if said.speaker}),
        )

    def counts(self, words: Sequence[str]) -> Mapping[str, int]:
        every = self._counts()
        return {word: every[word] for word in words if word in every}

    def starting_with(self, prefix: str, limit: int) -> Mapping[str, int]:
        every = self._counts()
        return {word: every[word] for word in sorted(every) if word.startswith(prefix)} if limit else {}

    def matching(self, words: Sequence[str], within: SearchLimits, limit: int) -> Sequence[int]:
        return [said.key for said in self._inside(within) if not set(words).isdisjoint(said.words.split())][:limit]

    def near(self, question: str, within: SearchLimits, limit: int) -> SemanticMatches:
        return SemanticMatches()

    def on_days(self, within: SearchLimits, limit: int) -> Sequence[int]:
        return [said.key for said in sorted(self._inside(within), key=lambda said: -said.when)][:limit]

    def passages(self, keys: Sequence[int], reach: int) -> Sequence[SearchableText]:
        near = {
            (said.file, said.position + offset, self._scope(said))
            for said in self._texts
            if said.key in set(keys)
            for offset in range(-reach, reach + 1)
        }
        return [said for said in self._texts if (said.file, said.position, self._scope(said)) in near]

    def related(self, keys: Sequence[int]) -> Mapping[int, Sequence[Related]]:
        return {}

    def turn_at(self, session: str, turn: str) -> int | None:
        return None

    def _counts(self) -> Counter[str]:
        return Counter(word for said in self._texts for word in set(said.words.split()))

    def _scope(self, said: SearchableText) -> str:
        return self._scopes.get(said.key, "owner")

    def _is_open(self, said: SearchableText, within: SearchLimits) -> bool:
        return not within.scopes or self._scope(said) in within.scopes

    def _inside(self, within: SearchLimits) -> list[SearchableText]:
        return [
            said
            for said in self._texts
            if self._is_open(said, within)
            and (within.first_day is None or said.day >= within.first_day)
            and (within.last_day is None or said.day <= within.last_day)
        ]
