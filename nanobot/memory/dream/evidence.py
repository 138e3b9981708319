"""What an operation rests on: looked up in the episodes and the sessions, not believed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

from nanobot.authority import Origin, Scope, least
from nanobot.memory.dream.refused import Refused
from nanobot.memory.minutes import origin_of
from nanobot.ports import Episode, Fact
from nanobot.transcript import Message

_EPISODE = re.compile(r"(?:episode[: #]*)?(\d{1,18})(?:\.0+)?")
_FACT = re.compile(r"(?:episode[: #]*)?(\d{1,18})\.(\d{1,4})")
_COUNTS = {True: (Origin.OWNER,), False: (Origin.OWNER, Origin.PERSON)}
"""Whose words are one's own: in the owners' memory only an owner's."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a person whose memory this is said by themselves: every name that it goes by, and when (RFC 3339)."""

    names: frozenset[str]
    at: str
    text: str


@dataclass(frozen=True)
class Evidence:
    """Messages, or whole episodes where messages are not known.

    `ids` are as they stand in the commit: `session#id` of messages, or `episode:42`. `origin` is the least of all that
    is named, `day` that of the newest episode. `said` is all that it says; `own` says whether a person whose memory
    this is speaks in it; `owner_words` is what owners themselves said. `spoken` holds their messages, without those
    that quote somebody; where no message is on disk any more, what the episode tells of a person's words.
    """

    ids: tuple[str, ...]
    origin: Origin
    day: date
    said: str
    own: bool
    owner_words: str = ""
    spoken: tuple[Spoken, ...] = ()


@dataclass(frozen=True)
class _Told:
    """One episode with those of its messages that are on disk and of its scope."""

    episode: Episode
    messages: Sequence[Message]

    @cached_property
    def names(self) -> frozenset[str]:
        episode = self.episode
        listed = (name for fact in episode.facts for name in fact.messages)
        ids = {name.rpartition("#")[2] for name in (*episode.messages, *listed)} | {one.id for one in self.messages}
        return frozenset({f"episode:{episode.cursor}", *ids, *map(self._full, ids)})

    @property
    def whole(self) -> Evidence:
        texts = [self.episode.content, *(fact.text for fact in self.episode.facts)]
        origins = [self.episode.origin, *map(origin_of, self.messages)]
        return self._evidence([f"episode:{self.episode.cursor}"], texts, self.messages, least(*origins))

    def fact(self, fact: Fact) -> Evidence:
        """What a fact rests on; the whole episode if its messages are not there."""
        messages = [one for one in self.messages if one.id in fact.messages or self._full(one.id) in fact.messages]
        if not messages or len(messages) < len(set(fact.messages)):
            whole = self.whole
            spoken = whole.spoken if self.messages else tuple(replace(one, text=fact.text) for one in whole.spoken)
            return replace(whole, said=fact.text, spoken=spoken)
        ids = [self._full(message.id) for message in messages]
        return self._evidence(ids, [fact.text], messages, least(*map(origin_of, messages)))

    def message(self, name: str) -> Evidence | None:
        found = [message for message in self.messages if name in (message.id, self._full(message.id))]
        return self._evidence([self._full(found[0].id)], [], found[:1], origin_of(found[0])) if found else None

    def _full(self, message: str) -> str:
        return f"{self.episode.session}#{message}"

    def _evidence(
        self, ids: Iterable[str], texts: Sequence[str], messages: Sequence[Message], origin: Origin
    ) -> Evidence:
        own = _COUNTS[self.episode.scope.is_owner]
        by_people = [message for message in messages if message.role == "user"]
        believed = not self.messages and self.episode.origin in own
        return Evidence(
            ids=tuple(ids),
            origin=origin,
            day=_day(self.episode.timestamp),
            said="\n".join([*texts, *(message.content or "" for message in messages)]),
            own=believed or any(_speaker(message) in own and message.content for message in by_people),
            owner_words="\n".join(m.content or "" for m in by_people if _speaker(m) is Origin.OWNER),
            spoken=tuple(self._spoken(texts, by_people)),
        )

    def _spoken(self, texts: Iterable[str], by_people: Sequence[Message]) -> Iterator[Spoken]:
        own = _COUNTS[self.episode.scope.is_owner]
        if not self.messages and self.episode.origin in own:
            yield Spoken(self.names, self.episode.timestamp, "\n".join(texts))
        for message in by_people:
            if message.content and origin_of(message) in own:
                yield Spoken(frozenset({message.id, self._full(message.id)}), message.at, message.content)


class Witnesses:
    """The episodes of one scope in a batch, and the messages they were made of."""

    def __init__(self, scope: Scope, episodes: Sequence[Episode], sessions: Mapping[str, Sequence[Message]]) -> None:
        """`sessions` holds the messages that these episodes tell of, with the beginnings of their turns."""
        own = [episode for episode in episodes if episode.scope == scope]
        self._told = {
            episode.cursor: _Told(episode, _range(sessions.get(episode.session, ()), episode)) for episode in own
        }

    def origins(self, episode: Episode) -> Sequence[Origin]:
        """The origin of each of its facts."""
        return [self._told[episode.cursor].fact(fact).origin for fact in episode.facts]

    def of(self, names: Sequence[str]) -> Evidence:
        """All that is named, put together. Raises Refused if something of it does not exist in this scope."""
        if not names:
            raise Refused("evidence", 'It names nothing that it rests on. Give "from": numbers of episodes or facts.')
        return together([self._one(name) for name in names])

    def _one(self, name: str) -> Evidence:
        if (match := _FACT.fullmatch(name)) and (told := self._told.get(int(match[1]))):
            number = int(match[2])
            if 1 <= number <= len(told.episode.facts):
                return told.fact(told.episode.facts[number - 1])
        if (match := _EPISODE.fullmatch(name)) and (told := self._told.get(int(match[1]))):
            return told.whole
        for told in self._told.values():
            if found := told.message(name):
                return found
        raise Refused("evidence", f"There is no episode, fact or message {name[:60]!r} among those shown.")


def together(all_of: Sequence[Evidence]) -> Evidence:
    """Several pieces of evidence as one, the least trusted counts."""
    return Evidence(
        ids=tuple(dict.fromkeys(name for one in all_of for name in one.ids)),
        origin=least(*(one.origin for one in all_of)),
        day=max(one.day for one in all_of),
        said="\n".join(one.said for one in all_of),
        own=any(one.own for one in all_of),
        owner_words="\n".join(one.owner_words for one in all_of),
        spoken=tuple(words for one in all_of for words in one.spoken),
    )


def _speaker(message: Message) -> Origin:
    """Of what a person wrote by themselves, whatever they quoted with it."""
    return message.origin or Origin.PERSON


def _range(messages: Sequence[Message], episode: Episode) -> Sequence[Message]:
    """The messages of an episode in file order, without those that belong to another scope's turns."""
    places = {message.id: place for place, message in enumerate(messages)}
    first, last = (places.get(name, -1) for name in episode.messages)
    if first < 0 or last < first:
        return ()
    scopes = {message.turn: message.scope for message in messages if message.scope}
    piece = messages[first : last + 1]
    return [message for message in piece if scopes.get(message.turn, episode.scope.name) == episode.scope.name]


def _day(timestamp: str) -> date:
    try:
        return date.fromisoformat(timestamp[:10])
    except ValueError:
        return date.min
