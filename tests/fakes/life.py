"""The life of a process that a test ends at a step of its choice."""

from typing import Final

NEVER: Final = -1


class Killed(BaseException):
    """The process is dead; nothing that it does has any effect any more."""


class Life:
    """Counts the steps of whoever lives in it; at step `ends_at`, and at all after it, it is over."""

    def __init__(self, ends_at: int = NEVER) -> None:
        self.steps = 0
        self.is_over = False
        self._ends_at = ends_at

    def step(self) -> None:
        self.steps += 1
        if self.is_over or self.steps == self._ends_at:
            self.is_over = True
            raise Killed
