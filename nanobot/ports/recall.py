"""Finding again what was said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Said:
    """One searchable text: a message, or later an episode, a note, a line of memory.

    `key` is the index's own number, `position` the place within its session, `when` seconds since
    the epoch of `at`, `day` the local day of `at` as an ordinal (0 where it has none), `words` the
    words by which it is indexed, in their order, with blanks between them.
    """

    key: int
    source: str
    session: str
    position: int
    message: str
    at: str
    when: float
    day: int
    role: str
    speaker: str
    text: str
    words: str


@dataclass(frozen=True, slots=True)
class Within:
    """Where to look; empty means everywhere. Days are ordinals, both ends included."""

    scopes: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    first_day: int | None = None
    last_day: int | None = None


EVERYWHERE = Within()


@dataclass(frozen=True, slots=True)
class Extent:
    """How much an index holds: texts, words per text, the years spoken in, and who spoke."""

    texts: int
    mean_words: float
    years: Sequence[int]
    speakers: Sequence[str]


class RecallIndex(Protocol):
    """Finds what was said by words and days. Derived: may be deleted, and is then built anew. Blocks briefly."""

    def extent(self) -> Extent: ...

    def counts(self, words: Sequence[str]) -> Mapping[str, int]:
        """In how many texts each word stands; absent ones are left out."""
        ...

    def starting_with(self, prefix: str, limit: int) -> Mapping[str, int]:
        """Words that start like this, with the same count."""
        ...

    def matching(self, words: Sequence[str], within: Within, limit: int) -> Sequence[int]:
        """Keys of the texts that hold any of the words, the best by bm25 first."""
        ...

    def on_days(self, within: Within, limit: int) -> Sequence[int]:
        """Keys of what was said there and then, the latest first."""
        ...

    def passages(self, keys: Sequence[int], reach: int) -> Sequence[Said]:
        """These texts with so many neighbours on each side, in the order of session and position."""
        ...


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found. `around` holds what was said right before and after it."""

    said: Said
    score: float
    around: Sequence[Said] = ()


class Recall(Protocol):
    """Brings up what was said long ago."""

    def search(
        self, query: str, *, now: datetime, k: int = 10, within: Within = EVERYWHERE, around: int = 0
    ) -> Sequence[Hit]:
        """The k texts that answer a query best, the best first. Takes milliseconds; call it in a thread."""
        ...
