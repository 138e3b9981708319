"""The ports of recall: the index, its keeper, the embedder, and the records that they exchange."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from nanobot.authority import Authority, Origin

Source = Literal["session", "quote", "episode", "note", "memory"]
"""A message, what it passed on from somebody else, a summary, a note, or a line of MEMORY.md or USER.md."""


@dataclass(frozen=True, slots=True)
class SearchableText:
    """One searchable text.

    `key` is the index's own number, `file` where the text stands, relative to the workspace, `position` its
    place there; `session` is the conversation it is from, `message` the id of the message or, of an episode,
    its number. `when` is in seconds since the epoch, `day` the local day of `at` as an ordinal (0 where it has
    none), `words` the words by which it is indexed, in their order, with blanks between them.
    """

    key: int
    source: Source
    file: str
    session: str
    position: int
    message: str
    at: str
    when: float
    day: int
    role: str
    speaker: str
    origin: Origin
    text: str
    words: str

    @property
    def is_kept(self) -> bool:
        """True if a file of memory holds it: it was let in there before."""
        return self.source in ("note", "memory")


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits of a search; empty means everywhere. Days are ordinals, both ends included.

    `before`: of this session only what stands before this position.
    """

    scopes: frozenset[str] = frozenset()
    first_day: int | None = None
    last_day: int | None = None
    before: tuple[str, int] | None = None


EVERYWHERE = SearchLimits()


@dataclass(frozen=True, slots=True)
class IndexSize:
    """Size of an index: texts, and words per text; the years spoken in and the speakers, as far as asked."""

    texts: int
    mean_words: float
    years: Sequence[int]
    speakers: Sequence[str]


@dataclass(frozen=True, slots=True)
class Related:
    """A note to which another one leads; the kind is empty where it just names it. `text` is how it begins."""

    kind: str
    name: str
    text: str


class Embedder(Protocol):
    """A model that turns texts into vectors; the closer two point, the closer is what the texts mean.

    Vectors are signed bytes, of any length (what counts is the direction), the same number of them for every text.
    Blocks, and takes its time; one call at a time. Raises EmbedderError when the model cannot be used, nothing else.
    """

    @property
    def name(self) -> str:
        """Vectors of different models cannot be compared."""
        ...

    def of_text(self, text: str) -> bytes: ...

    def of_question(self, text: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class SemanticMatches:
    """Texts closest in meaning to a question: their keys, and how close any text is, from 0."""

    keys: Sequence[int] = ()
    closeness: Callable[[int], float] = lambda _: 0.0


class RecallIndex(Protocol):
    """Finds texts by words and days. Derived: may be deleted, and is then built anew. Blocks briefly."""

    def extent(self, within: SearchLimits) -> IndexSize: ...

    def counts(self, words: Sequence[str]) -> Mapping[str, int]:
        """In how many texts each word stands; absent ones are left out."""
        ...

    def starting_with(self, prefix: str, limit: int) -> Mapping[str, int]:
        """Words that start like this, with the same count."""
        ...

    def matching(self, words: Sequence[str], within: SearchLimits, limit: int) -> Sequence[int]:
        """Keys of the texts that hold any of the words, the best by bm25 first."""
        ...

    def near(self, question: str, within: SearchLimits, limit: int) -> SemanticMatches:
        """Return the texts closest in meaning; none without a model for that."""
        ...

    def on_days(self, within: SearchLimits, limit: int) -> Sequence[int]:
        """Keys of what was said there and then, the latest first."""
        ...

    def passages(self, keys: Sequence[int], reach: int) -> Sequence[SearchableText]:
        """These texts with so many neighbours of their own scope on each side, in the order of file and position."""
        ...

    def related(self, keys: Sequence[int]) -> Mapping[int, Sequence[Related]]:
        """Return the notes that these texts link to."""
        ...

    def turn_at(self, session: str, turn: str) -> int | None:
        """The position at which the last turn of a session begins, if it is this one."""
        ...


class RecallKeeper(Protocol):
    """Keeps an index in step with the files it is made of. Blocks; one call at a time. Raises StoreError."""

    def sync(self, progress: "Progress | None" = None) -> int:
        """Take in all that appeared, changed or vanished; returns how many files that were.

        Safe to interrupt by an exception out of `progress`: the next one goes on.
        """
        ...

    def appended(self, session: str) -> None:
        """Take in what was just added to a session. Costs a fraction of a millisecond."""
        ...

    def look(self, scope: str) -> None:
        """Take in what changed in the notes and memory files of a scope, and new episodes. Cheap if nothing did."""
        ...

    def embed(self) -> bool:
        """Have a model take in the meaning of a few more texts, if there is one; whether some are left."""
        ...

    def rebuild(self, progress: "Progress | None" = None) -> None:
        """Build the index anew and swap it: nothing is left in it, nor on the disk, of what is not in the files."""
        ...

    def close(self) -> None: ...


Progress = Callable[[int, int], None]
"""Told now and then how many bytes of how many are done."""

OpenRecall = Callable[[], tuple[RecallIndex, RecallKeeper]]
"""Opens the index and its keeper, or makes an empty one. Blocks; raises StoreError."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found.

    `around` holds what was said right before and after it, `related` where the note leads that it stands in.
    `is_beside`: it holds nothing of what was asked for, but stands beside what does.
    """

    said: SearchableText
    score: float
    around: Sequence[SearchableText] = ()
    related: Sequence[Related] = ()
    is_beside: bool = False


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Results of a search; `unread` is the share of files that the index does not hold yet, 0 when it is whole."""

    hits: Sequence[Hit]
    unread: float = 0.0


class Searching(Protocol):
    """Searches on somebody's behalf, within what they may see."""

    async def find(
        self, query: str, authority: Authority, *, k: int = 10, around: int = 0, but: tuple[str, str] | None = None
    ) -> RecallResult:
        """The k best texts with so many neighbours, without those of one turn: `but` is its session and its id.

        Raises StoreError.
        """
        ...


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text in a file that people edit; `at` is the day it is from, as 2026-11-02, "" if nobody knows."""

    text: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """Texts of a note or memory file in order, and the notes it links to, as pairs of kind and name."""

    texts: Sequence[WrittenText]
    links: Sequence[tuple[str, str]] = ()


ReadWritten = Callable[[Source, str, str], Written]
"""Reads a file that people edit, from its source, its name and its text."""
