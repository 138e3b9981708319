"""The newest turns, and of the older ones those that look important; old results of tools are the first to shrink."""

import re
from collections.abc import Sequence
from dataclasses import replace

from nanobot.memory.brief import brief
from nanobot.memory.strategies.tokens import newest
from nanobot.memory.strategies.view import Size, Turn, View, size_of
from nanobot.transcript import Message

FRESH = 0.6
"""The share of the room that the newest turns get, whatever they say."""

WHOLE = 3
"""The last turns, whose results of tools stay as they are."""

IMPORTANT = 2.0
"""What a turn must score to stay when it is older."""

_MARKED = re.compile(
    r"\b(?:remember|always|never|decided|decision|don['’]?t forget|important|from now on|must(?: not)?)\b"
    r"|[记記]住|不要|[总總]是|永[远遠]|[绝絕][对對]?不|[决決]定|重要|[务務]必|以[后後]都",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d")
_CODE = re.compile(r"```|`[^`\n]+`|^[^\S\n]*(?:\$|>>>) ", re.MULTILINE)
_GREETING = re.compile(
    r"\W*(?:hi|hello|hey|good (?:morning|evening|night)|thanks?(?: you)?|thx|ok(?:ay)?|bye|great|cool|nice|yes|no"
    r"|lol|你好|您好|早上?好?|晚安|[谢謝]{2}|好的?|再[见見]|嗯+|哈+|是的?)\W*",
    re.IGNORECASE,
)
_WEIGHTS = {"user": 1.0, "assistant": 0.5}
"""What a person says counts more than what the model makes of it; what tools report can be had again."""


def importance(turns: Sequence[Turn], size: Size, room: float) -> View:
    """The most important of the older turns go along as far as there is room; each has an id to be known by."""
    start = newest(turns, size, room * FRESH)
    if start == len(turns):
        return View(newest(turns, size, room))
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
    return View(start, sorted(kept))


def score(turn: Turn) -> float:
    """How important a turn looks: by the most important thing that was said in it."""
    return max((_score(message) * _WEIGHTS.get(message.role, 0.0) for message in turn), default=0.0)


def _score(message: Message) -> float:
    text = message.content or ""
    if _GREETING.fullmatch(text):
        return 0.0
    return 1.0 + 3.0 * bool(_MARKED.search(text)) + 1.0 * bool(_NUMBER.search(text)) + 1.0 * bool(_CODE.search(text))


def layered(turns: Sequence[Turn], size: Size, room: float) -> View:
    """The cheapest first: old results of tools in a line each, then what looks unimportant, then all that is old."""
    fresh = max(0, len(turns) - WHOLE)
    shown = [*([brief(message) for message in turn] for turn in turns[:fresh]), *turns[fresh:]]
    if sum(size_of(turn, size) for turn in shown) <= room:
        return View(0, brief=fresh)
    return replace(importance(shown, size, room), brief=fresh)
