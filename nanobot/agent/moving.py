"""What is in view of a conversation once its window has moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from nanobot.history import within_turn
from nanobot.memory.brief import brief
from nanobot.memory.strategies import Strategy, View
from nanobot.memory.strategies.view import Size, Turn, size_of
from nanobot.transcript import Message


@dataclass(frozen=True, slots=True)
class Moved:
    """The turns that are over, as they are shown from now on, and what the window mark says of it.

    `along` are of older turns that go along, the turns `kept`. From the message `start` on nothing is left out;
    `brief` is the message before which results of tools are a line each.
    """

    along: Sequence[Message]
    shown: Sequence[Message]
    start: str
    kept: Sequence[str] = ()
    brief: str | None = None


def moved(turns: Sequence[Turn], running: Sequence[Message], view: View, trimmed: Turn = ()) -> Moved | None:
    """Apply a view; `trimmed` is shown in place of the last turn if the view shows none. None: nothing is left to see.

    Args:
        turns: those that are over, without the older ones that went along until now.
        running: the running turn.
        view: which turns stay.
        trimmed: what fits of the last turn.
    """
    start = len(turns) - 1 if trimmed else view.start
    brief_to = max(start, view.brief) if view.brief else 0
    first = next(chain(*turns[start:], running), None)
    if first is None:
        return None
    first_whole = next(chain(*turns[brief_to:], running), first)
    return Moved(
        along=[brief(message) if brief_to else message for number in view.kept for message in turns[number]],
        shown=list(trimmed) or [*map(brief, chain(*turns[start:brief_to])), *chain(*turns[max(start, brief_to) :])],
        start=first.id,
        kept=tuple(turns[number][0].turn for number in view.kept),
        brief=first_whole.id if brief_to else None,
    )


def viewed(turns: Sequence[Turn], strategy: Strategy, size: Size, room: float) -> tuple[View, Turn]:
    """What a strategy shows, and if that is nothing: what fits of the last turn without its oldest rounds of tools."""
    view = strategy(turns, size, room)
    if view.start < len(turns) or view.kept or not turns:
        return view, ()
    trimmed = within_turn(turns[-1], size, room)
    return view, trimmed if size_of(trimmed, size) <= room else ()
