"""Keeps two bots from talking to each other for ever."""

import logging
from collections import deque
from dataclasses import dataclass, field

from nanobot.ports import Clock

MOST_ANSWERS = 5
WINDOW = 60.0
"""Seconds: so many messages of bots are answered in a channel in that time; then none before a time as long
without any has passed."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Talk:
    heard: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_ANSWERS))
    last: float = 0.0
    is_silent: bool = False


class LoopGuard:
    """Decides which messages of bots are answered."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._talks: dict[str, _Talk] = {}

    def lets(self, channel: str) -> bool:
        """Whether one more message of a bot is answered in a channel now."""
        now, talk = self._clock.monotonic(), self._talks.setdefault(channel, _Talk())
        quiet, talk.last = now - talk.last, now
        if talk.is_silent and quiet < WINDOW:
            return False
        talk.is_silent = len(talk.heard) == MOST_ANSWERS and now - talk.heard[0] < WINDOW and quiet < WINDOW
        if talk.is_silent:
            log.warning("discord: bots keep talking to me in channel %s; I fall silent towards them there", channel)
            return False
        talk.heard.append(now)
        return True
