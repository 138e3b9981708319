"""Evidence: the words that an operation names as its support, and whether they support what it would write."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

from nanobot.authority import Origin, Scope, least
from nanobot.languages import expression
from nanobot.memory.dream.draft import DraftChange
from nanobot.memory.dream.operations import Proposal, RefusedOperation
from nanobot.memory.episodes.transcript_text import origin_of, others_words
from nanobot.memory.facts import is_told_of_others, told_by
from nanobot.memory.markdown import facts_of
from nanobot.memory.provenance import authors
from nanobot.memory_files import MEMORY
from nanobot.nlp.own_words import is_own, is_plain_title, speaks_for
from nanobot.nlp.pasted import own_part
from nanobot.nlp.words import content_words, is_stop, words_of
from nanobot.ports import Episode, Fact
from nanobot.text import as_name
from nanobot.transcript import Message

# Evidence of an operation: looked up in the episodes and the sessions, not believed.


_EPISODE = re.compile(r"(?:episode[: #]*)?(\d{1,18})(?:\.0+)?")
_WORD = re.compile(r"\w+")
_FACT = re.compile(r"(?:episode[: #]*)?(\d{1,18})\.(\d{1,4})")
_NOBODY = ""
"""The name of whoever said something and has none that is known."""


@dataclass(frozen=True, slots=True)
class SpokenWords:
    """Words of a person whose memory this is: the ids of the message, its time (RFC 3339), the text."""

    ids: frozenset[str]
    at: str
    text: str


@dataclass(frozen=True)
class Evidence:
    """Messages that support an operation, or whole episodes where messages are not known.

    `ids` are as they stand in the commit: `session#id` of messages, or `episode:42`. `origin` is the least of all that
    is named, `day` that of the newest episode.

    own_words  what those whose memory this is wrote themselves, without what they pasted or quoted: in an owner's
               memory the owners, in a member's the member and owners, in a group's only owners
    members    who in a group wrote what themselves, owners left out
    others     who else said what: what was quoted and pasted, pages and tools; not the bot itself
    is_pure    there is nothing but own words in it, nor in the episodes that it is of
    names      the words of the names of those who speak in `own_words`
    is_own     True if a person whose memory this is speaks in it: in a group, anybody there
    spoken     their messages; where no message is on disk any more, what the episode tells of a person's words
    foreign    all that others say in the episodes of the batch, named or not
    """

    ids: tuple[str, ...]
    origin: Origin
    day: date
    is_own: bool
    own_words: str = ""
    members: tuple[tuple[str, str], ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    is_pure: bool = False
    names: frozenset[str] = frozenset()
    spoken: tuple[SpokenWords, ...] = ()
    foreign: str = ""


@dataclass(frozen=True)
class _EpisodeEvidence:
    """Evidence in one episode: the messages of its scope that are still on disk, or else its own text."""

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
        """Evidence of the episode as a whole."""
        texts = [self.episode.content, *(fact.text for fact in self.episode.facts)]
        origins = [self.episode.origin, *map(origin_of, self.messages)]
        return self._evidence([f"episode:{self.episode.cursor}"], texts, self.messages, least(*origins))

    def fact(self, fact: Fact) -> Evidence:
        """Return the evidence of a fact; the whole episode if its messages are missing."""
        messages = [one for one in self.messages if one.id in fact.messages or self._full(one.id) in fact.messages]
        if not messages or len(messages) < len(set(fact.messages)):
            whole = self.whole
            return whole if self.messages else self._evidence(whole.ids, [fact.text], (), whole.origin)
        ids = [self._full(message.id) for message in messages]
        return self._evidence(ids, [fact.text], messages, least(*map(origin_of, messages)))

    def message(self, name: str) -> Evidence | None:
        """Return the evidence of a message by its id; None if it is not of this episode."""
        found = [message for message in self.messages if name in (message.id, self._full(message.id))]
        return self._evidence([self._full(found[0].id)], [], found[:1], origin_of(found[0])) if found else None

    def _full(self, message: str) -> str:
        return f"{self.episode.session}#{message}"

    def _evidence(
        self, ids: Iterable[str], texts: Sequence[str], messages: Sequence[Message], origin: Origin
    ) -> Evidence:
        scope = self.episode.scope
        believed = () if self.messages else tuple(texts)  # all that is left of what was said
        is_own = self.episode.origin in authors(scope)
        own = [message for message in messages if message.role == "user" and _speaker(message) in authors(scope)]
        own_words = [own_part(message.content or "") for message in own]
        return Evidence(
            ids=tuple(ids),
            origin=origin,
            day=_day(self.episode.timestamp),
            is_own=bool(believed and self.episode.origin in _people(scope)) or any(_own_words(messages, scope)),
            own_words="\n".join(filter(None, [*own_words, *(believed if is_own else ())])),
            members=tuple(words for message in messages for words in _of_member(message, scope)),
            others=tuple(others_words(messages)) or tuple((_NOBODY, text) for text in believed if not is_own),
            is_pure=bool(own_words) and len(own) == len(messages) and not any(others_words(self.messages)),
            names=frozenset(word for message in own if message.sender for word in _words_in(message.sender.name)),
            spoken=tuple(self._spoken(texts, messages)),
        )

    def _spoken(self, texts: Iterable[str], messages: Sequence[Message]) -> Iterator[SpokenWords]:
        if not self.messages and self.episode.origin in _people(self.episode.scope):
            yield SpokenWords(self.names, self.episode.timestamp, "\n".join(texts))
        for message in messages:
            for words in () if message.quotes else _own_words([message], self.episode.scope):
                yield SpokenWords(frozenset({message.id, self._full(message.id)}), message.at, words)


class EvidenceIndex:
    """Evidence by name: the episodes of one scope in a batch, and the messages they were made of."""

    def __init__(self, scope: Scope, episodes: Sequence[Episode], sessions: Mapping[str, Sequence[Message]]) -> None:
        """`sessions` holds the messages that these episodes tell of, with the beginnings of their turns."""
        own = [episode for episode in episodes if episode.scope == scope]
        self._episodes = {
            episode.cursor: _EpisodeEvidence(episode, _range(sessions.get(episode.session, ()), episode))
            for episode in own
        }

    def origins(self, episode: Episode) -> Sequence[Origin]:
        """Return the origin of each fact of an episode."""
        return [self._episodes[episode.cursor].fact(fact).origin for fact in episode.facts]

    def of(self, names: Sequence[str]) -> Evidence:
        """Return the evidence of all names together. Raises RefusedOperation for a name unknown in this scope."""
        if not names:
            raise RefusedOperation(
                "evidence", 'It names nothing that it rests on. Give "from": numbers of episodes or facts.'
            )
        return replace(combine([self._one(name) for name in names]), foreign=self._foreign)

    @cached_property
    def _foreign(self) -> str:
        """Everything that others say in these episodes, whatever a proposal names."""
        return "\n".join(text for one in self._episodes.values() for _, text in others_words(one.messages))

    def _one(self, name: str) -> Evidence:
        if (match := _FACT.fullmatch(name)) and (one := self._episodes.get(int(match[1]))):
            number = int(match[2])
            if 1 <= number <= len(one.episode.facts):
                return one.fact(one.episode.facts[number - 1])
        if (match := _EPISODE.fullmatch(name)) and (one := self._episodes.get(int(match[1]))):
            return one.whole
        for one in self._episodes.values():
            if found := one.message(name):
                return found
        raise RefusedOperation("evidence", f"There is no episode, fact or message {name[:60]!r} among those shown.")


def combine(all_of: Sequence[Evidence]) -> Evidence:
    """Return several pieces of evidence as one, of the least trusted origin."""
    return Evidence(
        ids=tuple(dict.fromkeys(name for one in all_of for name in one.ids)),
        origin=least(*(one.origin for one in all_of)),
        day=max(one.day for one in all_of),
        is_own=any(one.is_own for one in all_of),
        own_words="\n".join(one.own_words for one in all_of),
        members=tuple(dict.fromkeys(words for one in all_of for words in one.members)),
        others=tuple(dict.fromkeys(words for one in all_of for words in one.others)),
        is_pure=all(one.is_pure for one in all_of),
        names=frozenset(name for one in all_of for name in one.names),
        spoken=tuple(words for one in all_of for words in one.spoken),
    )


def _people(scope: Scope) -> Sequence[Origin]:
    """Return the origins of the people whose memory it is."""
    return (Origin.OWNER,) if scope.is_owner else (Origin.OWNER, Origin.PERSON)


def _own_words(messages: Iterable[Message], scope: Scope) -> Iterator[str]:
    """Return the own words of the people whose memory it is."""
    by_people = (one for one in messages if one.role == "user" and _speaker(one) in _people(scope))
    yield from filter(None, (own_part(message.content or "") for message in by_people))


def _of_member(message: Message, scope: Scope) -> Iterator[tuple[str, str]]:
    """Return speaker and words of a member in a group; nothing for owners."""
    if scope.is_group and message.role == "user" and _speaker(message) is Origin.PERSON:
        for words in _own_words([message], scope):
            yield as_name(message.sender.name) if message.sender else _NOBODY, words


def _words_in(name: str) -> Sequence[str]:
    return _WORD.findall(name)


def _speaker(message: Message) -> Origin:
    """Return the origin of what a person wrote themselves, whatever they quoted with it."""
    return message.origin or Origin.PERSON


def _range(messages: Sequence[Message], episode: Episode) -> Sequence[Message]:
    """Return the messages of an episode in file order, without those of another scope's turns."""
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


# Support: a line of memory rests on the words of those whose memory it is.


_SAID_BY = r"(?P<by>.{1,80}?)(?-i:{})\s?[:：,，]\s?(?P<text>\S.*)"
_LABEL = re.compile(r"\w+")
_LONGEST_HAN_LABEL = 2
_FEWEST, _SMALL = 3, 1 / 4
_HAN = re.compile("[\u3400-\u9fff]")


def supported(proposal: Proposal, change: DraftChange, evidence: Evidence | None) -> Proposal:
    """Return a proposal as it may be carried out: the words of others become quotations.

    `change` is its effect as it is. Without evidence it tidies up, and may repeat what is there. Raises
    RefusedOperation for claims that nobody made or that were made the other way round, and for claims of others in
    a file without quotations.
    """
    support = _support_of(change, evidence)
    match proposal.do:
        case "add" | "replace":
            if not any(map(str.isalnum, proposal.text)):
                raise RefusedOperation("unsupported", "It says nothing. Leave it out.")
            section = proposal.section if support.may_be_heading(proposal.section, change) else ""
            return replace(proposal, text=support.wording(proposal.text), section=section)
        case "write" | "merge":
            return _supported_note(proposal, change, support)
        case "remove" | "drop":
            if evidence is not None:
                support.check_gone(change.operation.text)
            return proposal


@dataclass(frozen=True)
class _Support:
    """Support of a change: own words, and those of `others`, which may become quotations where `may_quote`."""

    said: str
    evidence: Evidence | None
    others: Sequence[tuple[str, str]]
    may_quote: bool

    def wording(self, text: str) -> str:
        """Return a line as it may be written. Raises RefusedOperation."""
        if self.supports(text):
            return text
        found = expression("talk", "said_by", _SAID_BY).fullmatch(text.strip())
        body, by = (found["text"].strip(' “”"「」'), found["by"].casefold()) if found else (text.strip(), "")
        ranked = sorted(self.others, key=lambda one: one[0].casefold() != by)
        name = next((name for name, said in ranked if speaks_for(said, body)), None)
        if name is not None and self.may_quote:
            return told_by(name, body)
        if name is not None:
            raise RefusedOperation(
                "origin", f"Nobody whose memory this is said {text[:80]!r}, but somebody else. Leave it out."
            )
        raise RefusedOperation("unsupported", f"What it rests on does not say: {text[:80]!r}. Leave it out.")

    def supports(self, text: str) -> bool:
        """True if own words say so. Across languages nothing can be compared: then no others may speak in it."""
        names, foreign = (self.evidence.names, self.evidence.foreign) if self.evidence else ((), "")
        if is_own(text, self.said, foreign, names):
            return True
        return bool(self.evidence and self.evidence.is_pure and _is_translated(text, self.evidence.own_words))

    def may_be_heading(self, title: str, change: DraftChange) -> bool:
        """True if a title may be a heading: a single word, said by its owners, or there already."""
        before = change.draft.before.get(change.operation.file, "")
        is_there = any(line.lstrip("# ").strip() == title for line in before.splitlines() if line.startswith("#"))
        return is_there or _is_label(title) or is_plain_title(title) or self.supports(title)

    def check_gone(self, text: str) -> None:
        """Raise RefusedOperation unless own words speak of the line that is to be removed."""
        evidence = self.evidence
        if evidence is None or not evidence.is_own:
            raise RefusedOperation("origin", "Nobody whose memory this is said so. Leave it as it is.")
        words = "\n".join(one.text for one in evidence.spoken) or evidence.own_words
        is_translated = evidence.is_pure and _is_translated(text, words)
        if content_words(text).isdisjoint(content_words(words)) and not is_translated:
            raise RefusedOperation("unsupported", f"What it rests on says nothing of {text[:80]!r}. Leave it as it is.")


def _support_of(change: DraftChange, evidence: Evidence | None) -> _Support:
    operation, places = change.operation, change.draft.places
    said = evidence.own_words if evidence else ""
    if operation.verb in ("write", "merge"):
        before = (change.draft.before.get(path, "") for path in (operation.file, *operation.merged))
        said = "\n".join([said, *_own_lines(before)])
    members, others = (evidence.members, evidence.others) if evidence else ((), ())
    is_note, is_list = places.is_note(operation.file), operation.file == places.fixed[MEMORY]
    quotable = members if is_list and places.scope.is_group else (*members, *others)
    return _Support(said, evidence, quotable, is_note or (is_list and places.scope.is_group))


def _own_lines(texts: Iterable[str]) -> Iterator[str]:
    """Return the lines of notes without quotations of others."""
    yield from (line for text in texts for _, line in facts_of(text) if not is_told_of_others(line))


def _supported_note(proposal: Proposal, change: DraftChange, support: _Support) -> Proposal:
    """Return a note with support for each new line, its name and its summary."""
    new = set(change.brought)
    lines = [_note_line(line, change, support) if line.strip() in new else line for line in proposal.text.split("\n")]
    name = re.sub(r"[-_]+", " ", proposal.file.rpartition("/")[2].removesuffix(".md"))
    is_new = change.operation.file not in change.draft.before
    own = replace(support, said="\n".join([support.said, *_own_lines(["\n".join(lines)])]))
    if is_new and not (_is_label(name) or own.supports(name)):
        raise RefusedOperation("unsupported", f"{name!r} is no name for a note: use one word of theirs.")
    summary = proposal.summary if own.supports(proposal.summary) else _summary(lines)
    return replace(proposal, text="\n".join(lines), summary=summary, type=_kind(proposal.type))


def _note_line(line: str, change: DraftChange, support: _Support) -> str:
    if not line.lstrip().startswith("#"):
        marks = re.match(r"\s*(?:[-*+•]\s+|\d+[.)]\s+)?", line)
        prefix = marks[0] if marks else ""
        return f"{prefix}{support.wording(line[len(prefix) :])}"
    title = line.strip("# \t")
    if not support.may_be_heading(title, change):
        raise RefusedOperation("unsupported", f"Nobody said {title[:80]!r}: leave the heading out, or use one word.")
    return line


def _summary(lines: Iterable[str]) -> str:
    """Return the summary of a note from its first own line, for a model's summary without support."""
    own = (line.strip(" -*#") for line in lines if line.strip() and not line.lstrip().startswith("#"))
    first = next((line for line in own if not is_told_of_others(line)), "")
    if first:
        return first[:100]
    return "别人说的话" if _HAN.search("".join(lines)) else "what others said"


def _kind(kind: str) -> str:
    """Return the type of a note if it is one word, else nothing."""
    return kind if _is_label(kind) else ""


def _is_label(text: str) -> bool:
    """True if a text is one word, which names something and claims nothing."""
    words = _LABEL.findall(text)
    return len(words) <= 1 and len(_HAN.findall(text)) <= _LONGEST_HAN_LABEL


def _is_translated(text: str, said: str) -> bool:
    """True if two texts are evidently of different languages: they share no words but names."""
    mine, other = _script(text), _script(said)
    if mine != other or mine != "LATIN":
        return bool(mine and other) and mine != other
    if min(len(text.split()), len(said.split())) < _FEWEST or _is_english(text) == _is_english(said):
        return False
    shared = content_words(text) & content_words(said)
    return all(word.isdigit() or re.search(rf"\b{word.capitalize()}", text) for word in shared)  # names stay


def _script(text: str) -> str:
    """Return the script of most letters."""
    scripts = Counter(unicodedata.name(char, "?").partition(" ")[0] for char in text[:2000] if char.isalpha())
    return max(scripts, key=lambda name: scripts[name], default="")


def _is_english(text: str) -> bool:
    """True if many words are function words of English."""
    words = words_of(text)
    return sum(is_stop(word) for word in words) >= _SMALL * len(words)
