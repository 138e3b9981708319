"""The last few turns, as far as they fit."""

from collections.abc import Sequence

from nanobot.memory.strategies.tokens import newest
from nanobot.memory.strategies.view import Size, Turn, View

LAST = 20
"""Turns."""


def window(turns: Sequence[Turn], size: Size, room: float) -> View:
    return View(max(newest(turns, size, room), len(turns) - LAST))
