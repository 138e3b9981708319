"""Whether a failed attempt is worth another, and when."""

import random

from nanobot.errors import LLMError, LLMErrorKind

MAX_WAIT = 60.0
"""Seconds. An endpoint that asks for more is not waited for within a turn: the person is told."""

_FIRST_WAIT = 1.0
_LONGEST_WAIT = 20.0

_REPEATS: dict[LLMErrorKind, int | None] = {
    "rate_limit": None,
    "server": None,
    "network": None,
    "cut": None,
    "timeout": 1,
    "empty": 1,
    "protocol": 1,
}
"""How often an attempt that failed so is repeated; None: as often as attempts are allowed. What is not here: never."""


class OutOfTimeError(LLMError):
    """The whole time for an attempt is used up: another one would only take as long again."""


class Retries:
    """The attempts of one request."""

    def __init__(self, attempts: int) -> None:
        self._left = attempts
        self._failed: dict[LLMErrorKind, int] = {}

    def wait(self, error: LLMError, *, mended: bool = False) -> float | None:
        """Seconds until the next attempt; None if there is to be none. `mended`: its cause is gone."""
        self._left -= 1
        if mended:
            return 0.0 if self._left > 0 else None
        failed = self._failed[error.kind] = self._failed.get(error.kind, 0) + 1
        allowed = _REPEATS.get(error.kind, 0)
        if self._left <= 0 or isinstance(error, OutOfTimeError) or (allowed is not None and failed > allowed):
            return None
        if not error.retry_after:
            return self._back_off()
        if error.retry_after > MAX_WAIT:
            return None
        return error.retry_after + _jitter(min(1.0, error.retry_after / 10))

    def _back_off(self) -> float:
        """Twice as long each time; a random half keeps many clients from coming back at the same moment."""
        longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (sum(self._failed.values()) - 1))
        return longest / 2 + _jitter(longest / 2)


def _jitter(most: float) -> float:
    return random.uniform(0, most)  # noqa: S311 - spreads load, guards no secret
