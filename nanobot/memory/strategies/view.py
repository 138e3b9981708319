"""What is shown of a conversation that has grown too long."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nanobot.transcript import Message

Turn = Sequence[Message]
Size = Callable[[Message], float]


@dataclass(frozen=True, slots=True)
class View:
    """Which of the given turns stay: all from the one numbered `start` on, and of those before it the `kept` ones.

    Of the turns before `brief`, what tools reported is shown in a line each. Numbers begin at 0 and grow.
    """

    start: int
    kept: Sequence[int] = ()
    brief: int = 0


Strategy = Callable[[Sequence[Turn], Size, float], View]
"""From the turns that are over, the size of a message and the room for all, both in tokens, to what stays.

What stays fits into the room. If not even the last turn does, nothing stays.
"""


def size_of(turn: Turn, size: Size) -> float:
    return sum(map(size, turn))
