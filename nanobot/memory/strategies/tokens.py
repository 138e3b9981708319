"""The newest turns: as many as fit, or the last few of these."""

from collections.abc import Sequence

from nanobot.memory.strategies.view import Size, Turn, View, size_of

LAST = 20
"""Turns that `window` shows at most."""


def tokens(turns: Sequence[Turn], size: Size, room: float) -> View:
    return View(newest(turns, size, room))


def window(turns: Sequence[Turn], size: Size, room: float) -> View:
    return View(max(newest(turns, size, room), len(turns) - LAST))


def newest(turns: Sequence[Turn], size: Size, room: float) -> int:
    """The number of the first turn from which on all fit; those far before it are not looked at."""
    for number in range(len(turns) - 1, -1, -1):
        room -= size_of(turns[number], size)
        if room < 0:
            return number + 1
    return 0
