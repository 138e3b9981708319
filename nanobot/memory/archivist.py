"""Makes the episode of a piece of conversation."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nanobot.authority import Origin, Scope, least
from nanobot.memory.minutes import Entry, Scribe, origin_of, plain
from nanobot.memory.own_words import speaks_for
from nanobot.memory.pieces import Stretch, first_piece
from nanobot.memory.secrets import redact
from nanobot.memory.slot import Slot
from nanobot.memory.summariser import Summariser
from nanobot.memory.summary import FactRead, Summary, is_supported
from nanobot.pasted import own_part
from nanobot.ports import Clock, Episode, Fact
from nanobot.transcript import Message

SHORTEST = 200
"""Characters that are read of a message at least."""

MARGIN = 0.9
"""Of what would fit: not all characters cost the same."""

_PEOPLE = (Origin.OWNER, Origin.PERSON)
_WORD = re.compile(r"\w+")
_HEAD = re.compile(r"^- (?:\d\d:\d\d )?\[\w+\] [^:\n]{0,100}: ")  # of a message that no model has summarised

RAW = 500
"""Characters of each message in an episode that no model could summarise."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An episode that has no number yet, and how many messages are in it."""

    episode: Episode
    count: int


@dataclass(frozen=True, slots=True)
class _Piece:
    """What one episode is made of."""

    session: str
    scope: Scope
    entries: Sequence[Entry]


class Archivist:
    """Cuts a piece, has it summarised, and checks what comes: evidence, origin, scope, secrets."""

    def __init__(self, summariser: Summariser, clock: Clock) -> None:
        self._summariser = summariser
        self._clock = clock

    def can_summarise(self, session: str) -> bool:
        """Whether there is a model for it."""
        return self._summariser.can(session)

    async def summarised(self, stretch: Stretch, failures: int, slot: Slot) -> Draft:
        """The episode of the first piece of a stretch.

        Args:
            stretch: what is in no episode yet.
            failures: how often that failed before; each time the piece is half as large.
            slot: where the model is asked.

        Raises:
            LLMError: the model failed, or what it said is no summary.
        """
        piece = await asyncio.to_thread(self._piece, stretch, failures)
        summary = await self._summariser.summarise(piece.session, piece.entries, slot)
        return await asyncio.to_thread(self._drafted, piece, summary)

    async def raw(self, stretch: Stretch) -> Draft:
        """The same without a model: what people and the assistant said, shortened."""
        return await asyncio.to_thread(self._raw, stretch)

    def _raw(self, stretch: Stretch) -> Draft:
        piece = self._piece(stretch, 0)
        draft = self._drafted(piece, Summary(plain(piece.entries, RAW)))
        return replace(draft, episode=replace(draft.episode, raw=True))

    def _piece(self, stretch: Stretch, failures: int) -> _Piece:
        messages, scope = stretch.of_one_scope()
        room, scribe = self._summariser.room(stretch.session), Scribe(messages)
        entries: list[Entry] = []
        sizes: list[float] = []
        for message in messages:
            if sum(sizes) > room and message.role != "tool":
                break
            entry, size = self._fitting(stretch.session, scribe, message, room)
            entries.append(entry)
            sizes.append(size)
        count = first_piece(messages, sizes, room)
        for _ in range(failures):
            count = first_piece(messages, sizes[:count], sum(sizes[:count]) / 2)
        if failures and count == 1:
            entries[0] = scribe.entry(messages[0], max(SHORTEST, len(entries[0].text) >> failures))
        return _Piece(stretch.session, scope, entries[:count])

    def _fitting(self, session: str, scribe: Scribe, message: Message, room: float) -> tuple[Entry, float]:
        """What is written of a message, and its size; a message that is too long by itself loses its middle."""
        entry = scribe.entry(message)
        size = self._summariser.size(session, entry)
        if size > room:
            entry = scribe.entry(message, max(SHORTEST, int(len(entry.text) * MARGIN * room / size)))
            size = self._summariser.size(session, entry)
        return entry, size

    def _drafted(self, piece: _Piece, summary: Summary) -> Draft:
        messages = [entry.message for entry in piece.entries]
        facts = (_fact(fact, piece.entries) for fact in summary.facts)
        origin, content = least(*map(origin_of, messages)), redact(summary.text)
        episode = Episode(
            cursor=0,
            timestamp=messages[-1].at or self._clock.now().isoformat(timespec="milliseconds"),
            session=piece.session,
            scope=piece.scope,
            origin=origin,
            messages=(messages[0].id, messages[-1].id),
            content=content,
            facts=tuple(fact for fact in facts if fact),
            own=None if origin in _PEOPLE else tuple(_own_lines(content, messages)),
        )
        return Draft(episode, len(messages))


def _own_lines(content: str, messages: Sequence[Message]) -> Iterator[str]:
    """The lines of a summary that the people's own words bear out, without what they pasted or passed on."""
    by_people = [one for one in messages if one.role == "user" and (one.origin or Origin.PERSON) in _PEOPLE]
    said = "\n".join(own_part(message.content or "") for message in by_people)
    names = {word for one in by_people if one.sender for word in _WORD.findall(one.sender.name)}
    yield from (line for line in content.split("\n") if speaks_for(said, _HEAD.sub("", line), names))


def _fact(read: FactRead, entries: Sequence[Entry]) -> Fact | None:
    """A fact with the messages that it rests on; None if it names none, or one that is not there or does not say so."""
    if not read.numbers or not all(0 < number <= len(entries) for number in read.numbers):
        return None
    named = [entries[number - 1] for number in read.numbers]
    if not is_supported(read.text, "\n".join(entry.text for entry in named)):
        return None
    ids = tuple(entry.message.id for entry in named)
    return Fact(redact(read.text), ids, redact(read.category), read.confidence)
