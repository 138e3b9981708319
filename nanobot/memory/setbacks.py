"""What went wrong with summarising, and for how long the model is left alone because of it."""

from dataclasses import dataclass

from nanobot.errors import LLMError, LLMErrorKind
from nanobot.ports import Clock

TRIES = 3
"""Failures after which the turns themselves are archived."""

WAITS = (2.0, 8.0)
"""Seconds before the second and the third try."""

LEFT_ALONE = 600.0
"""Seconds for which nothing is asked in the background after that."""

LONGEST_WAIT = 60.0
"""Seconds; who is to wait longer, comes again another time."""

_OF_THE_MODEL: tuple[LLMErrorKind, ...] = (
    "auth", "model", "quota", "rate_limit", "network", "timeout", "server", "engine"
)  # fmt: skip
"""Failures that do not depend on what is asked: other sessions would meet them, too."""


@dataclass(frozen=True, slots=True)
class Setback:
    """Why a session is not archived now, and in how many seconds it is tried again."""

    kind: LLMErrorKind
    seconds: float


class Setbacks:
    """Counts the failures of each session since something went well there."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: dict[str, int] = {}
        self._until: dict[str, float] = {}  # of sessions, and under "" of the model
        self._kinds: dict[str, LLMErrorKind] = {}

    def count(self, session: str) -> int:
        return self._counts.get(session, 0)

    def add(self, session: str, error: LLMError) -> float | None:
        """Count a failure; seconds to wait before the next try, None if that is for another time.

        To be told when to come again is no failure.
        """
        self._kinds[session] = error.kind
        if error.kind in _OF_THE_MODEL:
            self._kinds[""] = error.kind
        asked_for = error.retry_after or 0.0
        if asked_for > LONGEST_WAIT:
            self._leave_alone(session, max(asked_for, LEFT_ALONE))
            return None
        count = self._counts[session] = self.count(session) + 1
        return max(asked_for, WAITS[count - 1]) if count <= len(WAITS) else 0.0

    def clear(self, session: str) -> None:
        """Something went well."""
        for name in (session, ""):
            self._counts.pop(name, None)
            self._until.pop(name, None)
            self._kinds.pop(name, None)

    def given_up(self, session: str) -> None:
        """The turns themselves are archived."""
        if self._counts.pop(session, 0):
            self._leave_alone(session, LEFT_ALONE)

    def of(self, session: str) -> Setback | None:
        """Whether nothing is asked for this session now."""
        now = self._clock.monotonic()
        until, name = max((self._until.get(name, now), name) for name in (session, ""))
        return Setback(self._kinds.get(name, "server"), until - now) if until > now else None

    def _leave_alone(self, session: str, seconds: float) -> None:
        until = self._clock.monotonic() + seconds
        self._until[session] = until
        if self._kinds.get(session) in _OF_THE_MODEL:
            self._until[""] = until
