"""Erasable stores: each keeps something that was said, and can be made to forget it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from nanobot.i18n import Language
from nanobot.messages import Address
from nanobot.nlp.matcher import TextMatcher, plain
from nanobot.ports.memory import Episode
from nanobot.transcript import Message


@dataclass(frozen=True, kw_only=True)
class ErasurePlan:
    """Erasure as worked out: every store decides by it which of its items go.

    scopes    whose memory is reached, by name; None: everybody's
    traces    by which texts are recognised, wherever they stand
    sessions  keys of conversations of which nothing stays, nor that there were such
    heard     keys of conversations in which somebody of these scopes spoke
    dropped   by conversation the ids of messages that go with their whole turn
    blanked   by conversation the ids of messages of which only the place stays
    turns     ids of the turns that go
    inbound   ids on the bus of the messages that go
    episodes  by number what becomes of an episode, None if it goes
    claims    by path the lines of memory that go, as `plain` has them
    notes     paths of memory files that go whole; those that end in a slash, with all that is beneath them
    files     paths of media and spilled results that go
    people    `channel:id` of those of whom nothing stays but that they may talk
    emptied   the scopes of which nothing stays
    since     RFC 3339: what is not kept by message goes from this moment on; "": by words only

    Paths are relative to the workspace.
    """

    scopes: frozenset[str] | None = None
    traces: TextMatcher = field(default_factory=TextMatcher)
    sessions: frozenset[str] = frozenset()
    heard: frozenset[str] = frozenset()
    dropped: Mapping[str, frozenset[str]] = field(default_factory=dict)
    blanked: Mapping[str, frozenset[str]] = field(default_factory=dict)
    turns: frozenset[str] = frozenset()
    inbound: frozenset[str] = frozenset()
    episodes: Mapping[int, Episode | None] = field(default_factory=dict)
    claims: Mapping[str, frozenset[str]] = field(default_factory=dict)
    notes: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    emptied: frozenset[str] = frozenset()
    since: str = ""

    def reaches(self, scope: str) -> bool:
        """True if the memory of this scope is meant."""
        return self.scopes is None or scope in self.scopes

    def hears(self, session: str) -> bool:
        """True if what is kept for a conversation may be looked at."""
        return self.scopes is None or session in self.heard

    def takes(self, path: str, line: str) -> bool:
        """True if a line of a memory file goes."""
        return self.traces.name(line) or plain(line) in self.claims.get(path, ())

    def takes_file(self, path: str) -> bool:
        """True if a memory file goes whole."""
        return path in self.notes or any(note.endswith("/") and path.startswith(note) for note in self.notes)

    def takes_evidence(self, name: str) -> bool:
        """True if what something rests on goes: a message as `id` or `session#id`, an episode as `episode:42`."""
        session, _, message = name.rpartition("#")
        if name.startswith("episode:"):
            return any(name == f"episode:{number}" and left is None for number, left in self.episodes.items())
        if session:
            gone = (self.dropped.get(session, ()), self.blanked.get(session, ()), self.inbound)
            return session in self.sessions or any(message in ids for ids in gone)
        return any(name in ids for by_session in (self.dropped, self.blanked) for ids in by_session.values())

    @property
    def of_owner(self) -> bool:
        """True if what belongs to the machine's owner alone is reached: the terminal, the log."""
        return self.reaches("owner")


@dataclass(frozen=True, slots=True)
class ErasedPiece:
    """One of the things that go, for people: where it stands, a file, `file:line` or a conversation; and how it begins.

    `is_past`: it stands only in older versions of the file. `is_own`: in a file that people write, so that it is to be
    named, however many there are.
    """

    where: str
    text: str = ""
    is_past: bool = False
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class StoreFindings:
    """Findings of a store: the number of items, and some of them.

    `left` names, as `path:line`, what is not for the program to change.
    """

    count: int = 0
    shown: Sequence[ErasedPiece] = ()
    left: Sequence[str] = ()


class Erasable(Protocol):
    """Something that keeps files. Each file in the home and in the workspace belongs to exactly one of them."""

    @property
    def place(self) -> str:
        """Its name; the catalogue says it to people as `forget.place_<name>`."""
        ...

    def owns(self, path: Path) -> bool:
        """True if it keeps this file."""
        ...

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        """Return the items that would go. Changes nothing. Raises StoreError."""
        ...

    async def erase(self, meant: ErasurePlan) -> None:
        """Let it go, for good; what is gone already is no mistake. Raises StoreError."""
        ...


class Transcripts(Protocol):
    """All conversations as they lie on disk, for whoever looks for something in them."""

    async def keys(self) -> Sequence[str]: ...

    async def read(self, key: str, may_hold: Callable[[str], bool]) -> Sequence[Message]:
        """Every message of a conversation; none if `may_hold`, asked about the raw text in pieces, always says no."""
        ...


@dataclass(frozen=True, kw_only=True)
class Order:
    """A forget that somebody said yes to, as it stands on disk until it is done.

    `kind` and `value` are what was asked for, `scopes` whose memory was meant; `message` is the id of the one that said
    yes. Where `address` is, the receipt goes, in this language. Until `meant` is worked out, nothing has been erased.
    `stones` are the tombstones it leaves, by path; `counts` is what was found in each place.
    """

    kind: str
    value: str
    scopes: frozenset[str] | None
    address: Address | None
    language: Language
    meant: ErasurePlan | None = None
    stones: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class ErasureQuestion:
    """Question about an erasure that waits for a yes until this time (RFC 3339).

    `token` names it. `kind` and `value` are what was asked for, `scopes` whose memory is meant. `by` is who may say
    yes, `where` the conversation in which it was asked. `number` must be typed with the yes if it is not 0.
    """

    token: str
    kind: str
    value: str
    scopes: frozenset[str] | None
    by: str
    where: str
    until: str
    number: int = 0


class ErasureQuestions(Protocol):
    """Keeps what waits for a yes, over a restart, too. All methods raise StoreError."""

    async def read(self) -> Sequence[ErasureQuestion]: ...

    async def write(self, questions: Sequence[ErasureQuestion]) -> None: ...


class ErasureJournal(Protocol):
    """Keeps the one order that is being carried out. All methods raise StoreError."""

    async def read(self) -> Order | None: ...

    async def write(self, order: Order) -> None:
        """Durably."""
        ...

    async def clear(self) -> None:
        """Clear the journal of a finished erasure."""
        ...
