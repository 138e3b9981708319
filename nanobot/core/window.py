"""Window strategies: how a conversation is made to fit when it has grown too long."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from nanobot.languages import expression
from nanobot.transcript import Message

TurnMessages = Sequence[Message]
Size = Callable[[Message], float]


@dataclass(frozen=True, slots=True)
class WindowView:
    """View of a window: the turns from number `start` on, and the `kept` ones before it.

    Of the turns before `brief`, what tools reported is shown in a line each. Numbers begin at 0 and grow.
    """

    start: int
    kept: Sequence[int] = ()
    brief: int = 0


Strategy = Callable[[Sequence[TurnMessages], Size, float], WindowView]
"""From the turns that are over, the size of a message and the room for all, both in tokens, to what stays.

What stays fits into the room. If not even the last turn does, nothing stays.
"""


def size_of(turn: TurnMessages, size: Size) -> float:
    return sum(map(size, turn))


# Shortened results of tools.


LENGTH = 160
"""Characters that are shown of it."""


def shorten_result(message: Message) -> Message:
    """The same message with the first line of a long result only; what people and the model said stays whole."""
    text = message.content or ""
    if message.role != "tool" or len(text) <= 2 * LENGTH:
        return message
    first = text.lstrip().split("\n", 1)[0][:LENGTH].rstrip()
    left_out = len(text) - len(first)
    return replace(message, content=f"{first} [… {left_out} more characters; call the tool again if you need them]")


# Newest turns.


LAST = 20
"""Turns that `window` shows at most."""


def tokens(turns: Sequence[TurnMessages], size: Size, room: float) -> WindowView:
    return WindowView(newest(turns, size, room))


def window(turns: Sequence[TurnMessages], size: Size, room: float) -> WindowView:
    return WindowView(max(newest(turns, size, room), len(turns) - LAST))


def newest(turns: Sequence[TurnMessages], size: Size, room: float) -> int:
    """The number of the first turn from which on all fit; those far before it are not looked at."""
    for number in range(len(turns) - 1, -1, -1):
        room -= size_of(turns[number], size)
        if room < 0:
            return number + 1
    return 0


# Important turns.


FRESH = 0.6
"""The share of the room that the newest turns get, whatever they say."""

WHOLE = 3
"""The last turns, whose results of tools stay as they are."""

IMPORTANT = 2.0
"""What a turn must score to stay when it is older."""

_NUMBER = re.compile(r"\d")
_CODE = re.compile(r"```|`[^`\n]+`|^[^\S\n]*(?:\$|>>>) ", re.MULTILINE)
_WEIGHTS = {"user": 1.0, "assistant": 0.5}
"""What a person says counts more than what the model makes of it; what tools report can be had again."""


def importance(turns: Sequence[TurnMessages], size: Size, room: float) -> WindowView:
    """The most important of the older turns go along as far as there is room; each has an id to be known by."""
    start = newest(turns, size, room * FRESH)
    if start == len(turns):
        return WindowView(newest(turns, size, room))
    left = room - sum(size_of(turn, size) for turn in turns[start:])
    scores = [(score(turn), number) for number, turn in enumerate(turns[:start]) if turn[0].turn]
    kept: list[int] = []
    for worth, number in sorted(scores, reverse=True):
        taken = size_of(turns[number], size)
        if worth >= IMPORTANT and taken <= left:
            kept.append(number)
            left -= taken
    while start and start - 1 in kept:  # what stands just before the rest is part of it
        start -= 1
        kept.remove(start)
    return WindowView(start, sorted(kept))


def score(turn: TurnMessages) -> float:
    """Return the importance of a turn: that of its most important message."""
    return max((_score(message) * _WEIGHTS.get(message.role, 0.0) for message in turn), default=0.0)


def _score(message: Message) -> float:
    text = message.content or ""
    if expression("talk", "greeting", r"\W*{}\W*").fullmatch(text):
        return 0.0
    is_marked = expression("talk", "marked").search(text) is not None
    return 1.0 + 3.0 * is_marked + 1.0 * bool(_NUMBER.search(text)) + 1.0 * bool(_CODE.search(text))


def layered(turns: Sequence[TurnMessages], size: Size, room: float) -> WindowView:
    """The cheapest first: old results of tools in a line each, then what looks unimportant, then all that is old."""
    fresh = max(0, len(turns) - WHOLE)
    shown = [*([shorten_result(message) for message in turn] for turn in turns[:fresh]), *turns[fresh:]]
    if sum(size_of(turn, size) for turn in shown) <= room:
        return WindowView(0, brief=fresh)
    return replace(importance(shown, size, room), brief=fresh)


# Strategies by name.


STRATEGIES: Mapping[str, Strategy] = {
    "window": window,
    "tokens": tokens,
    "summary": tokens,  # what differs is when it moves: once the summary is there
    "importance": importance,
    "layered": layered,
}

__all__ = ["STRATEGIES", "Strategy", "WindowView"]
