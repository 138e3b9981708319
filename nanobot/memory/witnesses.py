"""The words that a memory rests on, as they were said."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nanobot.authority import Scope
from nanobot.errors import StoreError
from nanobot.memory.alike import content_words
from nanobot.messages import QuotedHow, Sender
from nanobot.ports import Episode, Episodes, SessionStore
from nanobot.text import as_name
from nanobot.transcript import Message, MessageRole, Span

How = Literal["message", "answer", "result", "summary", "command"]

MOST_OF_EPISODE = 3
"""Messages that are quoted of a whole episode: those that share most words with what rests on it."""

_REACH = 200  # episodes before the one where a dream stopped that may be among those it had read
_HOW: Mapping[MessageRole, How] = {"assistant": "answer", "tool": "result"}
_EPISODE = re.compile(r"episode:(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Said:
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
class Testimony:
    """What could be found of what was named, and how many pieces are gone: forgotten, or deleted."""

    said: Sequence[Said]
    gone: int


class Witnesses:
    """Looks messages up by the names that commits call them: an id, `session#id`, or `episode:42`.

    Reads only the pieces of sessions that they lead to. What is not of the asker's scope does not exist for them.
    """

    def __init__(self, episodes: Episodes, sessions: SessionStore) -> None:
        self._episodes = episodes
        self._sessions = sessions

    async def hear(self, names: Sequence[str], scope: Scope, claim: str, cursor: int | None = None) -> Testimony:
        """What `claim` rests on; `cursor` is the last episode that whoever wrote it had read. Raises StoreError."""
        said: dict[Said, None] = {}
        gone = 0
        for name in names:
            found = await self._hear(name, scope, claim, cursor)
            gone += not found
            said.update(dict.fromkeys(found))
        return Testimony(sorted(said, key=lambda one: one.at), gone)

    async def _hear(self, name: str, scope: Scope, claim: str, cursor: int | None) -> Sequence[Said]:
        if match := _EPISODE.fullmatch(name):
            episode = await self._episodes.get(int(match[1]))
            if episode is None or episode.scope != scope:
                return ()
            return _of_episode(episode, _own(await self._messages(episode.session, episode.messages), scope), claim)
        session, _, message = name.rpartition("#")
        keys = [session] if session else await self._sessions_of(message, scope, cursor)
        for key in keys:
            own = _own(await self._messages(key, (message, message)), scope)
            if found := [one for one in own if one.id == message]:
                return [said for one in found for said in _said(key, one)]
        return ()

    async def _sessions_of(self, message: str, scope: Scope, cursor: int | None) -> Sequence[str]:
        """Where a message may be: in the sessions of the episodes that were read, those that name it first."""
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
    """Those of the scope: in a chat that has changed hands, others may have spoken."""
    scopes = {message.turn: message.scope for message in messages if message.scope}
    return [message for message in messages if scopes.get(message.turn, scope.name) == scope.name]


def _of_episode(episode: Episode, messages: Sequence[Message], claim: str) -> Sequence[Said]:
    places = {message.id: place for place, message in enumerate(messages)}
    first, last = (places.get(name, -1) for name in episode.messages)
    by_people = [one for one in messages[first : last + 1] if one.role == "user"] if 0 <= first <= last else []
    if not by_people:
        return [Said("summary", episode.content, episode.timestamp, episode.session)]
    words = content_words(claim)
    best = sorted(by_people, key=lambda one: -len(words & content_words(one.content or "")))[:MOST_OF_EPISODE]
    return [said for message in best for said in _said(episode.session, message)]


def _said(session: str, message: Message) -> Iterator[Said]:
    """The speaker's own words, and behind them each text of others that came along."""
    how, speaker = _HOW.get(message.role, "message"), _name(message.sender)
    text = message.content or ""
    if not (text or message.quotes):
        text = ", ".join(as_name(file.name or file.path) for file in message.files)
    if text or not message.quotes:
        yield Said(how, text, message.at, session, speaker)
    for quote in message.quotes:
        yield Said(how, quote.text, message.at, session, speaker, quote.how, quote.by)


def _name(sender: Sender | None) -> str:
    return (sender.name or sender.id) if sender else ""
