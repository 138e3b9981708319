"""Where each episode stands in history.jsonl."""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from nanobot.store.episode_lines import Head

Field = Literal["scope", "session"]

_BYTES = "Q"
_LINES = "L"


class EpisodeIndex:
    """The places of all episodes by number, scope and session, in memory: some 30 bytes for each."""

    def __init__(self) -> None:
        self._cursors = array(_BYTES)
        self._places = array(_BYTES)
        self._of_scope: defaultdict[str, array[int]] = defaultdict(lambda: array(_LINES))
        self._of_session: defaultdict[str, array[int]] = defaultdict(lambda: array(_LINES))

    def add(self, head: Head, place: int) -> None:
        """Take in the next line, which begins at this byte. Raises ValueError if its number is not a higher one."""
        if self._cursors and head.cursor <= self._cursors[-1]:
            raise ValueError(f"its number, {head.cursor}, does not follow {self._cursors[-1]}")
        number = len(self._cursors)
        self._cursors.append(head.cursor)
        self._places.append(place)
        self._of_scope[head.scope].append(number)
        self._of_session[head.session].append(number)

    def after(self, cursor: int, limit: int) -> Sequence[int]:
        """The places of the next episodes, oldest first."""
        start = bisect_right(self._cursors, cursor)
        return self._places[start : start + limit]

    def newest(self, field: Field, value: str, limit: int, through: int | None = None) -> Sequence[int]:
        """The places of the newest episodes with this in a field, up to a number, newest first."""
        numbers = (self._of_scope if field == "scope" else self._of_session).get(value, array(_LINES))
        end = len(numbers) if through is None else bisect_left(numbers, bisect_right(self._cursors, through))
        return [self._places[number] for number in reversed(numbers[max(0, end - limit) : end])]
