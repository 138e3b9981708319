"""Keeps one piece of work alive, while the others do not notice."""

import logging
import random
from collections.abc import Awaitable, Callable

from nanobot.errors import NanobotError, expected_in
from nanobot.ports import Clock

FIRST_PAUSE = 1.0
"""Seconds before it is started again the first time; each further pause is twice as long."""

LONGEST_PAUSE = 60.0
"""Seconds."""

STEADY = 300.0
"""Seconds after which what has run is taken to be well: the pauses begin anew."""

log = logging.getLogger(__name__)


class Supervisor:
    """Runs a piece of work, and starts it again when it fails, after a pause that grows and is never quite the same."""

    def __init__(
        self,
        name: str,
        work: Callable[[], Awaitable[None]],
        clock: Clock,
        *,
        hopeless: type[NanobotError] | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Args:
            name: of the work, for the log.
            work: is to run until it is cancelled.
            clock: for the pauses.
            hopeless: the error after which no new try makes sense.
            changed: is called whenever one of the properties has changed.
        """
        self._name = name
        self._work = work
        self._clock = clock
        self._hopeless = hopeless
        self._changed = changed
        self._failures = 0
        self.trouble = ""
        """Why it failed the last time, in a sentence; "" if it never did, or has long been well since."""
        self.is_pausing = False
        """Whether it does not run, and is about to be started again."""
        self.is_hopeless = False
        """Whether it does not run, and will not."""

    async def run(self) -> None:
        """Keep it alive until cancelled, or until it is hopeless."""
        while True:
            began = self._clock.monotonic()
            error = await self._try()
            if self._clock.monotonic() - began >= STEADY:
                self._failures = 0
            self._failures += 1
            if self._hopeless and isinstance(expected_in(error), self._hopeless):
                self.is_hopeless = True
                self._tell(error, "not tried again before the next start")
                return
            pause = self._pause()
            self.is_pausing = True
            self._tell(error, f"tried again in {pause:.0f} s")
            await self._clock.sleep(pause)
            self.is_pausing = False
            self._changed()

    async def _try(self) -> Exception:
        try:
            await self._work()
        except Exception as error:  # noqa: BLE001  the boundary of a channel
            return error
        return NanobotError("it ended by itself")

    def _tell(self, error: Exception, and_now: str) -> None:
        expected = expected_in(error)
        self.trouble = str(expected) if expected else f"this should not have happened ({type(error).__name__})"
        log.error("%s: %s; %s", self._name, self.trouble.rstrip("."), and_now, exc_info=None if expected else error)
        self._changed()

    def _pause(self) -> float:
        longest = min(FIRST_PAUSE * 2.0 ** min(self._failures - 1, 30), LONGEST_PAUSE)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311  so that many do not come back at the same moment
