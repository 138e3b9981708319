"""Selection: which messages of a conversation go, and what becomes of an episode made of them."""

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nanobot.authority import Scope
from nanobot.errors import LLMError
from nanobot.memory.episodes.archivist import Archivist, Stretch, scopes_of
from nanobot.nlp.matcher import FORGOTTEN, TextMatcher, beginning, is_long, plain
from nanobot.nlp.wishes import without_whose
from nanobot.nlp.words import content_words
from nanobot.ports import Episode, Fact
from nanobot.ports.models import at_once
from nanobot.text import as_name
from nanobot.transcript import Message

# Messages that go.


_SPILLED = re.compile(r"\bspill/[^\s\"'`,;:\])]+")

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n")
_TELLING = 3  # words of a sentence that says something

IsMeant = Callable[[Message], bool]


@dataclass(frozen=True)
class MessageSelection:
    """Selection from one conversation. `ids` are all of its messages, in file order.

    A turn goes whole if all that people said in it goes; else only what is meant is blanked. `is_whole`: nothing of
    the conversation stays. `texts` are what was said in all that goes, `said` by people, `shown` how it begins.
    """

    session: str
    ids: Sequence[str]
    dropped: frozenset[str]
    blanked: frozenset[str]
    turns: frozenset[str]
    inbound: frozenset[str]
    files: frozenset[str]
    texts: Sequence[str]
    said: Sequence[str]
    shown: Sequence[str]

    @property
    def is_whole(self) -> bool:
        return len(self.dropped) >= len(set(self.ids))

    @property
    def gone(self) -> frozenset[str]:
        return self.dropped | self.blanked


def pick(
    session: str, messages: Sequence[Message], reaches: Callable[[str], bool], is_meant: IsMeant
) -> MessageSelection | None:
    """Return the selection from a conversation; None if it is empty.

    Args:
        session: its key.
        messages: all of it.
        reaches: whether the memory of a scope may be touched.
        is_meant: whether a message is asked to go.
    """
    dropped: list[Message] = []
    blanked: list[Message] = []
    for turn in _turns(session, messages, reaches):
        meant = [message for message in turn if message.content != FORGOTTEN and is_meant(message)]
        people = [message for message in turn if message.role == "user"]
        if meant and all(message in meant for message in people or turn):
            dropped += turn
        else:
            blanked += meant
    gone = [*dropped, *blanked]
    if not gone:
        return None
    return MessageSelection(
        session,
        ids=[message.id for message in messages],
        dropped=_ids(dropped),
        blanked=_ids(blanked) - _ids(dropped),
        turns=frozenset(message.turn for message in dropped if message.turn),
        inbound=frozenset(message.inbound for message in gone if message.inbound),
        files=frozenset(_files(gone)),
        texts=[text for message in gone for text in _texts(message)],
        said=[text for message in gone if message.role == "user" for text in _texts(message)],
        shown=[shown(message) for message in gone if message.role != "tool" and message.content],
    )


def tells(traces: TextMatcher) -> IsMeant:
    """True if what a message says, or asks of a tool, names it. What a tool reports is cut, but does not go for it."""

    def is_meant(message: Message) -> bool:
        return message.role != "tool" and (
            traces.name(message.content or "")
            or any(traces.name(call.arguments.replace("\\n", "\n")) for call in message.tool_calls)
            or any(traces.name(file.name) for file in message.files)
        )

    return is_meant


def repeats(facts: TextMatcher) -> IsMeant:
    """True if the bot says in a message what somebody told it, word for word."""
    return lambda message: message.role == "assistant" and facts.show(message.content or "")


def facts_in(texts: Iterable[str]) -> frozenset[str]:
    """The sentences by which what was said is known again, where another repeats it: those that say enough.

    Whose a thing is changes with who speaks: "my sister" is "your sister" when the bot says it.
    """
    found: set[str] = set()
    for sentence in (sentence for text in texts for sentence in _SENTENCE_END.split(text)):
        line = plain(sentence)
        if len(content_words(line)) >= _TELLING:
            found |= {line, plain(without_whose(line))}
    return frozenset(filter(is_long, found))


def shown(message: Message) -> str:
    """Return the beginning of a message, for people."""
    sender = as_name(message.sender.name) if message.sender else ""
    name = "nanobot" if message.role == "assistant" else sender or message.role
    return f"{message.at[:10]} {name}: {beginning(message.content or '')}"


def _turns(session: str, messages: Sequence[Message], reaches: Callable[[str], bool]) -> Iterable[Collection[Message]]:
    """The turns that may be touched. Lines that name no turn belong to what was said before them."""
    if not messages:
        return
    turn: list[Message] = []
    scopes: Sequence[Scope] = scopes_of(Stretch(session, messages))
    is_reached = True
    for message, scope in zip(messages, scopes, strict=True):
        is_new = message.turn != turn[-1].turn if turn else False
        if turn and (is_new or (message.role == "user" and not message.turn)):
            if is_reached:
                yield turn
            turn = []
        if not turn:
            is_reached = reaches(scope.name)
        turn.append(message)
    if is_reached:
        yield turn


def _ids(messages: Iterable[Message]) -> frozenset[str]:
    return frozenset(message.id for message in messages)


def _texts(message: Message) -> Iterator[str]:
    if message.role != "tool" and message.content:
        yield message.content


def _files(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        yield from (file.path for file in message.files)
        if message.role == "tool":
            yield from (found.rstrip(".") for found in _SPILLED.findall(message.content or ""))


# Episodes that lose some of their messages.


log = logging.getLogger(__name__)

Holds = Callable[[str], bool]
"""Whether a piece of evidence, by its name, goes."""


@dataclass(frozen=True)
class Affected:
    """An episode and the ids, in file order, of the messages between its ends: those that stay, as lines, and of
    these the ones that are meant.

    Both are empty if the messages are not there any more.
    """

    episode: Episode
    staying: Sequence[str] = ()
    blanked: frozenset[str] = frozenset()
    was_there: bool = False

    @property
    def is_gone(self) -> bool:
        """True if none of its messages says anything any more."""
        return self.was_there and not set(self.staying) - self.blanked


def cut(affected: Affected, traces: TextMatcher, holds: Holds, said: Sequence[Message], gone: str) -> Episode | None:
    """The episode without the facts that rest only on what goes, and the lines that tell of it; None if none is left.

    Args:
        affected: the episode.
        traces: by which lines are recognised.
        holds: whether a message goes.
        said: the messages that stay.
        gone: what was said in those that go.
    """
    episode = affected.episode
    facts = tuple(kept for fact in episode.facts if (kept := _kept(fact, traces, holds)))
    stays = "\n".join(message.content or "" for message in said)
    lines = [line for line in episode.content.split("\n") if not traces.tell_all(line) and _is_of(line, stays, gone)]
    content = "\n".join(lines).strip()
    if not content:
        content = "\n".join(f"- {fact.text}" for fact in facts)
    if not content:
        return None
    ends = (affected.staying[0], affected.staying[-1]) if affected.staying else episode.messages
    return replace(episode, content=content, facts=facts, messages=ends)


async def retold(
    affected: Affected, traces: TextMatcher, said: Sequence[Message], archivist: Archivist
) -> Episode | None:
    """The episode as the model tells it from the messages that stay; None if it cannot."""
    old = affected.episode
    if not said or not archivist.can_summarise(old.session):
        return None
    try:
        draft = await archivist.summarised(Stretch(old.session, said, old.scope), 0, at_once)
    except LLMError as error:
        log.warning("episode %d is cut, not told anew: %s", old.cursor, error)
        return None
    if draft.count < len(said):  # too much for one piece: its end would be lost
        return None
    new = draft.episode
    content = "\n".join(line for line in new.content.split("\n") if not traces.tell_all(line)).strip()
    if not content:
        return None
    facts = tuple(fact for fact in new.facts if not traces.tell_all(fact.text))
    ends = (affected.staying[0], affected.staying[-1])
    return replace(
        new, cursor=old.cursor, timestamp=old.timestamp, scope=old.scope, content=content, facts=facts, messages=ends
    )


def lost_facts(episode: Episode, left: Episode | None) -> Sequence[Fact]:
    """The facts that an episode told and does not tell any more."""
    kept = {fact.text for fact in left.facts} if left else set()
    return [fact for fact in episode.facts if fact.text not in kept]


def _kept(fact: Fact, traces: TextMatcher, holds: Holds) -> Fact | None:
    messages = tuple(name for name in fact.messages if not holds(name))
    if traces.tell_all(fact.text) or (fact.messages and not messages):
        return None
    return fact if messages == tuple(fact.messages) else replace(fact, messages=messages)


def _is_of(line: str, stays: str, gone: str) -> bool:
    """True if a line of a summary tells of what stays, rather than of what goes; headings and the like stay."""
    words: Collection[str] = content_words(line)
    if not words or not gone:
        return True
    return _share(words, stays) > _share(words, gone)


def _share(words: Collection[str], text: str) -> int:
    return len(set(words) & content_words(text))
