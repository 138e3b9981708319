"""As many of the newest turns as fit."""

from collections.abc import Sequence

from nanobot.memory.strategies.view import Size, Turn, View, size_of


def tokens(turns: Sequence[Turn], size: Size, room: float) -> View:
    return View(newest(turns, size, room))


def newest(turns: Sequence[Turn], size: Size, room: float) -> int:
    """The number of the first turn from which on all fit; those far before it are not looked at."""
    for number in range(len(turns) - 1, -1, -1):
        room -= size_of(turns[number], size)
        if room < 0:
            return number + 1
    return 0
