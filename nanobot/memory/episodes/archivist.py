"""Episodes: a piece of conversation is cut, summarised by a model, checked and kept."""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, takewhile

from nanobot.authority import Origin, Scope, least
from nanobot.errors import LLMError
from nanobot.memory.episodes.summary import FactRead, Summary, is_supported, read_summary
from nanobot.memory.episodes.transcript_text import (
    TranscriptEntry,
    TranscriptRenderer,
    numbered,
    origin_of,
    others_words,
    plain,
)
from nanobot.memory.facts import bare, is_told_of_others, told_by
from nanobot.memory.prompt import fenced, prompt
from nanobot.nlp.own_words import is_own, speaks_for
from nanobot.nlp.pasted import own_part
from nanobot.nlp.secrets import redact
from nanobot.ports import LLM, Clock, Episode, Fact, Request
from nanobot.ports.models import Quiet, Slot
from nanobot.text import as_name
from nanobot.tokens import TokenEstimator
from nanobot.transcript import Message

# Pieces: where a conversation is cut.


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages of one session that follow one another, at least one; `before` is the scope of what stands before."""

    session: str
    messages: Sequence[Message]
    before: Scope | None = None

    def of_one_scope(self) -> tuple[Sequence[Message], Scope]:
        """The first messages, as far as they belong to the same memory."""
        scopes = scopes_of(self)
        count = len(list(takewhile(lambda scope: scope == scopes[0], scopes)))
        return self.messages[:count], scopes[0]


def scopes_of(stretch: Stretch) -> Sequence[Scope]:
    """Return the scope of each message: that of the user's words in its turn, or of the messages before it.

    Lines without one are the owner's in the terminal; elsewhere nobody can tell whose they are, and they belong
    to the chat alone, as those of a group do.
    """
    channel, _, chat = stretch.session.partition(":")
    unknown = Scope.owner() if channel == "cli" else Scope.group(channel, chat)
    of_turns = {message.turn: message.scope for message in stretch.messages if message.scope and message.turn}
    scopes: list[Scope] = []
    for message in stretch.messages:
        name = message.scope or of_turns.get(message.turn)
        if name:
            scopes.append(Scope(name))
        elif message.role == "user":
            scopes.append(unknown)
        else:
            scopes.append(scopes[-1] if scopes else stretch.before or unknown)
    return scopes


def first_piece(messages: Sequence[Message], sizes: Sequence[float], room: float) -> int:
    """Return the number of messages in the first piece; at least one, and a step of tools is never torn apart.

    It ends with a turn where that leaves at least half of what would fit.

    Args:
        messages: there must be one.
        sizes: of the first of them, as many whole steps as may be in the piece.
        room: for all.
    """
    ends = [*accumulate(map(len, _steps(messages[: len(sizes)])))]
    totals = [0.0, *accumulate(sizes)]
    fitting = [end for end in ends if totals[end] <= room] or ends[:1]
    with_turn = [end for end in fitting if end == len(messages) or messages[end].turn != messages[end - 1].turn]
    return next((end for end in reversed(with_turn) if 2 * totals[end] >= totals[fitting[-1]]), fitting[-1])


def _steps(messages: Iterable[Message]) -> list[list[Message]]:
    """The messages, each that calls tools with all that they reported."""
    steps: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and steps:
            steps[-1].append(message)
        else:
            steps.append([message])
    return steps


# Summaries: asked of a model.


PIECE = 6_000
"""Tokens of conversation that are summarised at once: what small models still read with care."""

LEAST = 500

ModelOf = Callable[[str], tuple[LLM, TokenEstimator]]
"""The model that summarises a session, and how its tokens are counted."""


class Summariser:
    """Chooses how much fits, asks, and reads the answer."""

    def __init__(self, model_of: ModelOf) -> None:
        self._model_of = model_of

    def can(self, session: str) -> bool:
        """True if there is a model that understands what is asked; one with the compact profile does not."""
        return not self._model_of(session)[0].info.compact

    def room(self, session: str) -> float:
        """Tokens for the entries of one piece."""
        llm, tokens = self._model_of(session)
        fixed = sum(map(tokens.size, _request([])))
        return max(LEAST, min(PIECE, llm.info.context_window - llm.info.max_output - fixed))

    def size(self, session: str, entry: TranscriptEntry) -> float:
        """Tokens of an entry."""
        return self._model_of(session)[1].size(Message(role="user", content=entry.text))

    async def summarise(self, session: str, entries: Sequence[TranscriptEntry], slot: Slot) -> Summary:
        """Ask once, in the slot. Raises LLMError; of kind "protocol" if what came is no summary of these entries."""
        llm, _ = self._model_of(session)
        reply = await slot(llm.info, partial(llm.complete, Request(_request(entries), patient=False), Quiet()))
        if reply.tool_calls:
            raise LLMError("protocol", "a tool call in place of a summary", model=reply.model)
        summary = read_summary(reply.text, "\n".join(entry.text for entry in entries))
        if summary is None:
            raise LLMError("protocol", "no summary in the answer", model=reply.model)
        return summary


def _request(entries: Sequence[TranscriptEntry]) -> list[Message]:
    record = fenced("record", numbered(entries))
    return [
        Message(role="system", content=prompt("consolidate")),
        Message(role="user", content=f"{record}\n\n{prompt('consolidate_now')}"),
    ]


# Episodes: made of a piece and its summary.


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
class EpisodeDraft:
    """An episode that has no number yet, and how many messages are in it."""

    episode: Episode
    count: int


@dataclass(frozen=True, slots=True)
class _Piece:
    """Material of one episode."""

    session: str
    scope: Scope
    entries: Sequence[TranscriptEntry]


class Archivist:
    """Cuts a piece, has it summarised, and checks what comes: evidence, origin, scope, secrets."""

    def __init__(self, summariser: Summariser, clock: Clock) -> None:
        self._summariser = summariser
        self._clock = clock

    def can_summarise(self, session: str) -> bool:
        """True if there is a model for it."""
        return self._summariser.can(session)

    async def summarised(self, stretch: Stretch, failures: int, slot: Slot) -> EpisodeDraft:
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

    async def raw(self, stretch: Stretch) -> EpisodeDraft:
        """The same without a model: what people and the assistant said, shortened."""
        return await asyncio.to_thread(self._raw, stretch)

    def _raw(self, stretch: Stretch) -> EpisodeDraft:
        piece = self._piece(stretch, 0)
        draft = self._drafted(piece, Summary(plain(piece.entries, RAW)))
        return replace(draft, episode=replace(draft.episode, raw=True))

    def _piece(self, stretch: Stretch, failures: int) -> _Piece:
        messages, scope = stretch.of_one_scope()
        room, scribe = self._summariser.room(stretch.session), TranscriptRenderer(messages)
        entries: list[TranscriptEntry] = []
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

    def _fitting(
        self, session: str, scribe: TranscriptRenderer, message: Message, room: float
    ) -> tuple[TranscriptEntry, float]:
        """Return the text of a message, and its size; a message that is too long by itself loses its middle."""
        entry = scribe.entry(message)
        size = self._summariser.size(session, entry)
        if size > room:
            entry = scribe.entry(message, max(SHORTEST, int(len(entry.text) * MARGIN * room / size)))
            size = self._summariser.size(session, entry)
        return entry, size

    def _drafted(self, piece: _Piece, summary: Summary) -> EpisodeDraft:
        messages = [entry.message for entry in piece.entries]
        facts = (_fact(fact, piece.entries) for fact in summary.facts)
        origin, content = least(*map(origin_of, messages)), redact(summary.text)
        if piece.scope.is_group:
            content = "\n".join(_attributed(content.split("\n"), messages))
        episode = Episode(
            cursor=0,
            timestamp=messages[-1].at or self._clock.now().isoformat(timespec="milliseconds"),
            session=piece.session,
            scope=piece.scope,
            origin=origin,
            messages=(messages[0].id, messages[-1].id),
            content=content,
            facts=tuple(fact for fact in facts if fact),
            own=None if _is_pure(messages) else tuple(_own_lines(content, messages)),
        )
        return EpisodeDraft(episode, len(messages))


def _is_pure(messages: Sequence[Message]) -> bool:
    """True if nobody but the people who talk brought anything in; names of files may be anybody's words."""
    return least(*map(origin_of, messages)) in _PEOPLE and not any(message.files for message in messages)


def _own_lines(content: str, messages: Sequence[Message]) -> Iterator[str]:
    """The lines of a summary that the people's own words bear out, without what they pasted or passed on."""
    by_people = [one for one in messages if one.role == "user" and (one.origin or Origin.PERSON) in _PEOPLE]
    said = "\n".join(own_part(message.content or "") for message in by_people)
    names = {word for one in by_people if one.sender for word in _WORD.findall(one.sender.name)}
    others = "\n".join(text for _, text in others_words(messages))
    for line in content.split("\n"):
        if is_told_of_others(line) or is_own(_HEAD.sub("", line), said, others, names):
            yield line


def _attributed(lines: Iterable[str], messages: Sequence[Message]) -> Iterator[str]:
    """Name the member behind each line of a group's summary that rests on a member's words alone."""
    said: dict[Origin, dict[str, str]] = {Origin.OWNER: {}, Origin.PERSON: {}}
    for message in messages:
        origin = message.origin or Origin.PERSON
        if message.role == "user" and origin in _PEOPLE:
            name = as_name(message.sender.name) if message.sender else ""
            said[origin][name] = "\n".join([said[origin].get(name, ""), own_part(message.content or "")])
    of_owners, members = "\n".join(said[Origin.OWNER].values()), said[Origin.PERSON]
    of_others = "\n".join([*members.values(), *(text for _, text in others_words(messages))])
    for line in lines:
        words = bare(_HEAD.sub("", line))
        by = next((name for name, text in members.items() if speaks_for(text, words)), None)
        is_named = by is not None and bool(by) and by.casefold() in line.casefold()
        if by is None or is_named or is_told_of_others(line) or is_own(words, of_owners, of_others):
            yield line
        else:
            yield f"- {told_by(by, words)}"


def _fact(read: FactRead, entries: Sequence[TranscriptEntry]) -> Fact | None:
    """A fact with the messages that it rests on; None if it names none, or one that is not there or does not say so."""
    if not read.numbers or not all(0 < number <= len(entries) for number in read.numbers):
        return None
    named = [entries[number - 1] for number in read.numbers]
    if not is_supported(read.text, "\n".join(entry.text for entry in named)):
        return None
    ids = tuple(entry.message.id for entry in named)
    return Fact(redact(read.text), ids, redact(read.category), read.confidence)
