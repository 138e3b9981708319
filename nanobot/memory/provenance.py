"""Provenance of a remembered line: the version that brought it, and the words it rests on."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from nanobot.authority import Origin, Scope
from nanobot.errors import StoreError
from nanobot.memory import changes as commits
from nanobot.memory.changes import Operation
from nanobot.memory.facts import bare, compared, lines_brought
from nanobot.memory.history import TimelineEntry, entry_of, is_of, owned, within
from nanobot.memory.markdown import facts_of, lines_of
from nanobot.messages import QuotedHow, Sender
from nanobot.nlp.own_words import speaks_for
from nanobot.nlp.pasted import own_part
from nanobot.nlp.words import content_words
from nanobot.ports import Episode, Episodes, FileDiff, SessionStore, VersionStore
from nanobot.text import as_name, is_utf16
from nanobot.transcript import Message, MessageRole, Span

# Evidence: the words that a memory rests on, as they were said.


How = Literal["message", "answer", "result", "summary", "command"]

MOST_OF_EPISODE = 3
"""Messages that are quoted of a whole episode: those that share most words with what rests on it."""

_REACH = 200  # episodes before the one where a dream stopped that may be among those it had read
_HOW: Mapping[MessageRole, How] = {"assistant": "answer", "tool": "result"}
_EPISODE = re.compile(r"episode:(\d{1,18})")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class QuotedMessage:
    """Something that was said, for people; `at` is RFC 3339.

    how      text is
    message  what `speaker` said
    answer   what the bot said
    result   what a tool came back with
    summary  of an episode whose conversation is gone
    command  what was asked for with a command, which no session holds

    `quoted` is "" where the words are the speaker's own; else they only came along with them, as `Quote.how` says,
    and are those of `by`.
    """

    how: How
    text: str
    at: str
    session: str
    speaker: str = ""
    quoted: QuotedHow | Literal[""] = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class QuotedEvidence:
    """Evidence that could be found, and the number of pieces that are gone: forgotten, or deleted."""

    said: Sequence[QuotedMessage]
    gone: int


@dataclass(frozen=True, slots=True)
class OwnWords:
    """Own words of people, without what they pasted or passed on, and the words of their names."""

    text: str
    names: frozenset[str]


def authors(scope: Scope) -> Sequence[Origin]:
    """Return the origins whose words stand in a memory as they are: in a group, members are quoted by name."""
    return (Origin.OWNER, Origin.PERSON) if scope.is_person else (Origin.OWNER,)


@dataclass(frozen=True, slots=True)
class _Named:
    """Message or episode that a commit names, as far as it exists."""

    session: str
    messages: Sequence[Message]
    episode: Episode | None = None


class MessageLookup:
    """Looks messages up by the names that commits call them: an id, `session#id`, or `episode:42`.

    Reads only the pieces of sessions that they lead to. What is not of the asker's scope does not exist for them.
    """

    def __init__(self, episodes: Episodes, sessions: SessionStore) -> None:
        self._episodes = episodes
        self._sessions = sessions

    async def hear(self, names: Sequence[str], scope: Scope, claim: str, cursor: int | None = None) -> QuotedEvidence:
        """Find the evidence of `claim`; `cursor` is the last episode that its writer had read. Raises StoreError."""
        said: dict[QuotedMessage, None] = {}
        gone = 0
        for name in names:
            found = await self._hear(name, scope, claim, cursor)
            gone += not found
            said.update(dict.fromkeys(found))
        return QuotedEvidence(sorted(said, key=lambda one: one.at), gone)

    async def own_words(self, names: Sequence[str], scope: Scope, cursor: int | None = None) -> OwnWords:
        """Return the own words in the named messages of those whose memory it is. Raises StoreError."""
        found = [await self._find(name, scope, cursor) for name in names]
        spoken = [message for one in found if one for message in one.messages if message.role == "user"]
        own = [message for message in spoken if (message.origin or Origin.PERSON) in authors(scope)]
        speakers = frozenset(word for message in own for word in _WORD.findall(_name(message.sender)))
        return OwnWords("\n".join(own_part(message.content or "") for message in own), speakers)

    async def _hear(self, name: str, scope: Scope, claim: str, cursor: int | None) -> Sequence[QuotedMessage]:
        found = await self._find(name, scope, cursor)
        if found is None:
            return ()
        if found.episode:
            return _of_episode(found.episode, found.messages, claim)
        return [said for message in found.messages for said in _said(found.session, message)]

    async def _find(self, name: str, scope: Scope, cursor: int | None) -> _Named | None:
        """Find the message or episode of a name, as far as it exists and is of the scope."""
        if match := _EPISODE.fullmatch(name):
            episode = await self._episodes.get(int(match[1]))
            if episode is None or episode.scope != scope:
                return None
            messages = _own(await self._messages(episode.session, episode.messages), scope)
            return _Named(episode.session, _within(episode, messages), episode)
        session, _, message = name.rpartition("#")
        keys = [session] if session else await self._sessions_of(message, scope, cursor)
        for key in keys:
            own = _own(await self._messages(key, (message, message)), scope)
            if found := [one for one in own if one.id == message]:
                return _Named(key, found)
        return None

    async def _sessions_of(self, message: str, scope: Scope, cursor: int | None) -> Sequence[str]:
        """Return the sessions that may hold a message: of the episodes read, those that name it first."""
        if cursor is None:
            return ()
        first = max(0, cursor - _REACH)
        episodes = await self._episodes.after(first, cursor - first)
        newest_first = [one for one in episodes if one.scope == scope][::-1]
        ranked = sorted(newest_first, key=lambda episode: message not in _named(episode))
        return list(dict.fromkeys(episode.session for episode in ranked))

    async def _messages(self, key: str, span: Span) -> Sequence[Message]:
        try:
            return await self._sessions.between(key, [span])
        except (StoreError, ValueError):  # no such session, or one that cannot be read
            return ()


def _named(episode: Episode) -> Iterator[str]:
    yield from episode.messages
    for fact in episode.facts:
        yield from fact.messages


def _own(messages: Sequence[Message], scope: Scope) -> Sequence[Message]:
    """Return the messages of the scope: in a chat that has changed hands, others may have spoken."""
    scopes = {message.turn: message.scope for message in messages if message.scope}
    return [message for message in messages if scopes.get(message.turn, scope.name) == scope.name]


def _of_episode(episode: Episode, messages: Sequence[Message], claim: str) -> Sequence[QuotedMessage]:
    by_people = [one for one in messages if one.role == "user"]
    if not by_people:
        return [QuotedMessage("summary", episode.content, episode.timestamp, episode.session)]
    words = content_words(claim)
    best = sorted(by_people, key=lambda one: -len(words & content_words(one.content or "")))[:MOST_OF_EPISODE]
    return [said for message in best for said in _said(episode.session, message)]


def _within(episode: Episode, messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages of an episode; none if its first or its last is gone."""
    places = {message.id: place for place, message in enumerate(messages)}
    first, last = (places.get(name, -1) for name in episode.messages)
    return messages[first : last + 1] if 0 <= first <= last else []


def _said(session: str, message: Message) -> Iterator[QuotedMessage]:
    """The speaker's own words, and behind them each text of others that came along."""
    how, speaker = _HOW.get(message.role, "message"), _name(message.sender)
    text = message.content or ""
    if not (text or message.quotes):
        text = ", ".join(as_name(file.name or file.path) for file in message.files)
    if text or not message.quotes:
        yield QuotedMessage(how, text, message.at, session, speaker)
    for quote in message.quotes:
        yield QuotedMessage(how, quote.text, message.at, session, speaker, quote.how, quote.by)


def _name(sender: Sender | None) -> str:
    return (sender.name or sender.id) if sender else ""


# Provenance: a line, the version that brought it, and the evidence of that.


_ENOUGH = 0.5
"""The share of the words asked for that a line must hold."""

_THEIRS = ("base", "hand", "remember")
"""Versions that people made themselves: what was there first, what they edited, what they told the bot to remember."""


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A line of a memory file: where it stands, what it says, and its bytes in the file."""

    path: str
    text: str
    raw: bytes

    @property
    def name(self) -> str:
        """Name by which the line can be asked for exactly, for as long as it says that."""
        return "#" + hashlib.sha256(f"{self.path}\0{compared(self.text)}".encode("utf-8", "replace")).hexdigest()[:8]


@dataclass(frozen=True)
class Why:
    """Explanation of a line.

    `entry` is the version that brought it, None if the history does not know; `back` the restore or undo, if it was
    such a one that brought it back. `operation` is what the version says of the line, if anything.
    """

    line: MemoryLine
    entry: TimelineEntry | None
    evidence: QuotedEvidence
    operation: Operation | None = None
    back: TimelineEntry | None = None


class Provenance:
    """Answers for one scope at a time; whoever asks has made sure that the scope may be seen."""

    def __init__(self, versions: VersionStore, lookup: MessageLookup) -> None:
        self._versions = versions
        self._lookup = lookup

    async def find(self, words: str, scope: Scope) -> Sequence[MemoryLine]:
        """The lines that fit best, several if they fit alike; `words` may be a line's name. Raises VersionError.

        What is remembered comes first; then the other files of the prompt: AGENTS.md, TOOLS.md, skills.
        """
        is_memory = owned(scope)
        files = await self._versions.files(within(scope))
        of_scope = {path: data for path, data in files.items() if path.endswith(".md") and is_of(scope, path)}
        lines = list(_lines(of_scope))
        exact = [line for line in lines if words.strip() == line.name or compared(words) == compared(line.text)]
        return exact[:1] or _best([line for line in lines if is_memory(line.path)], words) or _best(lines, words)

    async def why(self, line: MemoryLine, scope: Scope) -> Why:
        """Return the explanation of a line. Raises VersionError and StoreError."""
        await self._versions.commit_hand_edits()
        entry, back = await self._origin(line, scope)
        if entry is None:
            return Why(line, None, QuotedEvidence((), 0), back=back)
        operation, names = _evidence(entry, line)
        return Why(line, entry, await self._hear(entry, names, line, scope), operation, back)

    async def is_theirs(self, line: MemoryLine, scope: Scope) -> bool:
        """True if somebody whose memory this is said so: a version of theirs brought it, or their words speak for it.

        What no version knows yet was written by hand. Changes nothing. Raises VersionError and StoreError.
        """
        entry, back = await self._origin(line, scope)
        if entry is None:
            return back is None
        commit = commits.parse(entry.version.message)
        if entry.kind in _THEIRS or (commit and (commit.agreed or commit.origin in authors(scope))):
            return True  # the latter: it rests on nothing but their words
        said = await self._lookup.own_words(_evidence(entry, line)[1], scope, commit.cursor if commit else None)
        return speaks_for(said.text, bare(line.text), said.names)

    async def _origin(self, line: MemoryLine, scope: Scope) -> tuple[TimelineEntry | None, TimelineEntry | None]:
        """The version that brought a line, and the restore or undo, if it was such a one that brought it back."""
        version = await self._versions.origin(line.path, line.raw)
        entry = entry_of(version, scope) if version else None
        if entry and entry.is_reversal:
            return await self._before(entry, line, scope), entry
        return entry, None

    async def _hear(self, entry: TimelineEntry, names: Sequence[str], line: MemoryLine, scope: Scope) -> QuotedEvidence:
        commit = commits.parse(entry.version.message)
        if entry.kind == "remember" and names and commit and not commit.turn:
            session = names[0].rpartition("#")[0]
            return QuotedEvidence([QuotedMessage("command", bare(line.text), entry.version.at.isoformat(), session)], 0)
        return await self._lookup.hear(names, scope, line.text, commit.cursor if commit else None)

    async def _before(self, back: TimelineEntry, line: MemoryLine, scope: Scope) -> TimelineEntry | None:
        """The version that had brought a line before it went and came back."""
        versions = await self._versions.log(within=[line.path])
        older = versions[[version.id for version in versions].index(back.version.id) + 1 :]
        entries = [
            entry for entry in (entry_of(version, scope) for version in older) if entry and not entry.is_reversal
        ]
        changes = await self._versions.diffs([entry.version for entry in entries])
        return next(
            (entry for entry, diffs in zip(entries, changes, strict=True) if _brought(entry, diffs, line)), None
        )


def _evidence(entry: TimelineEntry, line: MemoryLine) -> tuple[Operation | None, Sequence[str]]:
    """Return the statement of a version about a line, and the names of the messages behind it."""
    told = [operation for operation in entry.operations if operation.file == line.path]
    exact = (one for one in told if _is_exactly(one, line))
    operation = next(exact, None) or next((one for one in told if _is_about(one, line)), None)
    names = operation.messages if operation else tuple(name for one in told for name in one.messages)
    return operation, tuple(dict.fromkeys(names))


def _brought(entry: TimelineEntry, diffs: Sequence[FileDiff], line: MemoryLine) -> bool:
    if entry.operations:
        return any(one.file == line.path and _is_about(one, line) for one in entry.operations)
    brought = [text for diff in diffs if diff.path == line.path for text in lines_brought(diff.before, diff.after)]
    return compared(line.text) in map(compared, brought)


def _is_about(operation: Operation, line: MemoryLine) -> bool:
    """True if an operation on the line's file may have brought it."""
    if operation.verb in ("write", "merge"):
        return True
    return _is_exactly(operation, line)


def _is_exactly(operation: Operation, line: MemoryLine) -> bool:
    return operation.verb in ("add", "replace") and compared(operation.text) == compared(line.text)


def _lines(files: Mapping[str, bytes]) -> Iterator[MemoryLine]:
    for path, data in files.items():
        if is_utf16(data):
            continue
        text = data.decode("utf-8", "surrogateescape")
        raw = lines_of(text)
        for number, said in facts_of(text):
            yield MemoryLine(path, said, raw[number].rstrip("\r\n").encode("utf-8", "surrogateescape"))


def _best(lines: Sequence[MemoryLine], words: str) -> Sequence[MemoryLine]:
    wanted = content_words(words)
    scores = [_score(line, wanted, words) for line in lines]
    best = max(scores, default=0.0)
    return [line for line, score in zip(lines, scores, strict=True) if score == best] if best >= _ENOUGH else []


def _score(line: MemoryLine, wanted: set[str], words: str) -> float:
    """The share of the words that the line holds, or its note's name; more if they stand there just so."""
    if not wanted:
        return 0.0
    there = wanted & content_words(line.text)
    named = (wanted - there) & content_words(PurePosixPath(line.path).stem)
    as_said = " ".join(words.casefold().split()) in " ".join(line.text.casefold().split())
    return (len(there) + len(named) / 2) / len(wanted) + as_said
