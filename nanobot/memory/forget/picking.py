"""Which messages of a conversation go."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from nanobot.authority import Scope
from nanobot.forgotten import FORGOTTEN, Traces, beginning, is_long, plain
from nanobot.memory.alike import content_words
from nanobot.memory.pieces import Stretch, scopes_of
from nanobot.memory.wishes import without_whose
from nanobot.text import as_name
from nanobot.transcript import Message

_SPILLED = re.compile(r"\bspill/[^\s\"'`,;:\])]+")

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n")
_TELLING = 3  # words of a sentence that says something

IsMeant = Callable[[Message], bool]


@dataclass(frozen=True)
class Picked:
    """What goes of one conversation. `ids` are all of its messages, in file order.

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


def pick(session: str, messages: Sequence[Message], reaches: Callable[[str], bool], is_meant: IsMeant) -> Picked | None:
    """What goes of a conversation; None if nothing does.

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
    return Picked(
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


def tells(traces: Traces) -> IsMeant:
    """Whether what a message says, or asks of a tool, names it. What a tool reports is cut, but does not go for it."""

    def is_meant(message: Message) -> bool:
        return message.role != "tool" and (
            traces.name(message.content or "")
            or any(traces.name(call.arguments.replace("\\n", "\n")) for call in message.tool_calls)
            or any(traces.name(file.name) for file in message.files)
        )

    return is_meant


def repeats(facts: Traces) -> IsMeant:
    """Whether the bot says in a message what somebody told it, word for word."""
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
    """How a message begins, for people."""
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
