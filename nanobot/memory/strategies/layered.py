"""The cheapest first: old results of tools in a line each, then what looks unimportant, then all that is old."""

from collections.abc import Sequence
from dataclasses import replace

from nanobot.memory.brief import brief
from nanobot.memory.strategies.importance import importance
from nanobot.memory.strategies.view import Size, Turn, View, size_of

FRESH = 3
"""The last turns, whose results stay as they are."""


def layered(turns: Sequence[Turn], size: Size, room: float) -> View:
    fresh = max(0, len(turns) - FRESH)
    shown = [*([brief(message) for message in turn] for turn in turns[:fresh]), *turns[fresh:]]
    if sum(size_of(turn, size) for turn in shown) <= room:
        return View(0, brief=fresh)
    return replace(importance(shown, size, room), brief=fresh)
