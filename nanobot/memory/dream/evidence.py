"""What an operation rests on: looked up in the episodes and the sessions, not believed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from nanobot.authority import Origin, Scope, least
from nanobot.memory.dream.refused import Refused
from nanobot.memory.minutes import origin_of
from nanobot.pasted import own_part, pasted_spans
from nanobot.ports import Episode, Fact
from nanobot.text import as_name
from nanobot.transcript import Message

_EPISODE = re.compile(r"(?:episode[: #]*)?(\d{1,18})(?:\.0+)?")
_WORD = re.compile(r"\w+")
_FACT = re.compile(r"(?:episode[: #]*)?(\d{1,18})\.(\d{1,4})")
_NOBODY = ""
"""The name of whoever said something and has none that is known."""


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
    is named, `day` that of the newest episode.

    own_words  what those whose memory this is wrote themselves, without what they pasted or quoted: in an owner's
               memory the owners, in a member's the member and owners, in a group's only owners
    members    who in a group wrote what themselves, owners left out
    others     who else said what: what was quoted and pasted, pages and tools; not the bot itself
    is_pure    there is nothing but own words in it, nor in the episodes that it is of
    names      the words of the names of those who speak in `own_words`
    own        whether a person whose memory this is speaks in it: in a group, anybody there
    spoken     their messages; where no message is on disk any more, what the episode tells of a person's words
    """

    ids: tuple[str, ...]
    origin: Origin
    day: date
    own: bool
    own_words: str = ""
    members: tuple[tuple[str, str], ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    is_pure: bool = False
    names: frozenset[str] = frozenset()
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
            return whole if self.messages else self._evidence(whole.ids, [fact.text], (), whole.origin)
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
        scope = self.episode.scope
        believed = () if self.messages else tuple(texts)  # all that is left of what was said
        is_own = self.episode.origin in _authors(scope)
        own = [message for message in messages if message.role == "user" and _speaker(message) in _authors(scope)]
        own_words = [own_part(message.content or "") for message in own]
        return Evidence(
            ids=tuple(ids),
            origin=origin,
            day=_day(self.episode.timestamp),
            own=bool(believed and self.episode.origin in _people(scope)) or any(_own_words(messages, scope)),
            own_words="\n".join(filter(None, [*own_words, *(believed if is_own else ())])),
            members=tuple(words for message in messages for words in _of_member(message, scope)),
            others=tuple(_others(messages)) or tuple((_NOBODY, text) for text in believed if not is_own),
            is_pure=bool(own_words) and len(own) == len(messages) and not any(_others(self.messages)),
            names=frozenset(word for message in own if message.sender for word in _words_in(message.sender.name)),
            spoken=tuple(self._spoken(texts, messages)),
        )

    def _spoken(self, texts: Iterable[str], messages: Sequence[Message]) -> Iterator[Spoken]:
        if not self.messages and self.episode.origin in _people(self.episode.scope):
            yield Spoken(self.names, self.episode.timestamp, "\n".join(texts))
        for message in messages:
            for words in () if message.quotes else _own_words([message], self.episode.scope):
                yield Spoken(frozenset({message.id, self._full(message.id)}), message.at, words)


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
        own=any(one.own for one in all_of),
        own_words="\n".join(one.own_words for one in all_of),
        members=tuple(dict.fromkeys(words for one in all_of for words in one.members)),
        others=tuple(dict.fromkeys(words for one in all_of for words in one.others)),
        is_pure=all(one.is_pure for one in all_of),
        names=frozenset(name for one in all_of for name in one.names),
        spoken=tuple(words for one in all_of for words in one.spoken),
    )


def _people(scope: Scope) -> Sequence[Origin]:
    """Whose memory it is."""
    return (Origin.OWNER,) if scope.is_owner else (Origin.OWNER, Origin.PERSON)


def _authors(scope: Scope) -> Sequence[Origin]:
    """Whose words stand there as they are: in a group, where many speak, those of members are told as theirs."""
    return (Origin.OWNER, Origin.PERSON) if scope.is_person else (Origin.OWNER,)


def _own_words(messages: Iterable[Message], scope: Scope) -> Iterator[str]:
    """What people whose memory it is wrote themselves."""
    by_people = (one for one in messages if one.role == "user" and _speaker(one) in _people(scope))
    yield from filter(None, (own_part(message.content or "") for message in by_people))


def _of_member(message: Message, scope: Scope) -> Iterator[tuple[str, str]]:
    """Who said what in a group, if it is no owner."""
    if scope.is_group and message.role == "user" and _speaker(message) is Origin.PERSON:
        for words in _own_words([message], scope):
            yield as_name(message.sender.name) if message.sender else _NOBODY, words


def _others(messages: Iterable[Message]) -> Iterator[tuple[str, str]]:
    """Who said what in these messages beside those who wrote them."""
    for message in messages:
        content = message.content or ""
        if message.role == "tool":
            yield _NOBODY, content
        elif message.role == "user":
            yield from ((_NOBODY, content[start:end]) for start, end in pasted_spans(content))
            yield from ((as_name(quote.by.rpartition("/")[2]), quote.text) for quote in message.quotes)


def _words_in(name: str) -> Sequence[str]:
    return _WORD.findall(name)


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
