"""The line to Telegram: requests that are repeated until it answers, and how that goes."""

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from telegram.error import Conflict, RetryAfter, TelegramError

from nanobot.channels.fetching import at_most
from nanobot.channels.platform import NOT_YET, PlatformStatus, RefusedTokenError
from nanobot.channels.telegram.api import Api
from nanobot.channels.telegram.failures import is_refused_token, seconds
from nanobot.channels.trouble import obstacle_of
from nanobot.ports import Clock
from nanobot.ports.gateway import Obstacle

log = logging.getLogger(__name__)

T = TypeVar("T")

LONGEST_PAUSE = 30.0
_CONFLICT_PAUSE = 5.0


def back_off(failed: int) -> float:
    """Seconds after so many failures in a row: 1, 2, 4, and so on to half a minute."""
    return min(LONGEST_PAUSE, 2.0 ** min(failed - 1, 10))


class Line:
    """Whether we hear Telegram; sending does not depend on it."""

    def __init__(self, api: Api, clock: Clock, changed: Callable[[], None]) -> None:
        """`changed` hears that the status has changed."""
        self._api = api
        self._clock = clock
        self._changed = changed
        self._since: datetime | None = None
        self._trouble: str = NOT_YET
        self.bot = ""

    def status(self) -> PlatformStatus:
        """How it is going."""
        return PlatformStatus(self.bot, self._since, self._trouble)

    @property
    def is_up(self) -> bool:
        """Whether Telegram answered when it was asked last."""
        return self._since is not None

    def heard(self) -> None:
        """Telegram has answered, or called."""
        if self._since and not self._trouble:
            return
        log.info("telegram: connected%s", f" as {self.bot}" if self.bot else "")
        self._since, self._trouble = self._clock.now(), ""
        self._changed()

    def lost(self, trouble: Obstacle, said: str) -> None:
        """We do not hear it, because of this; what was `said` about it stands in the log, when it is news."""
        if trouble == self._trouble and self._since is None:
            log.debug("telegram: %s: %s", trouble, said)
            return
        log.warning("telegram: %s: %s", trouble, said)
        self._since, self._trouble = None, trouble
        self._changed()

    def closed(self) -> None:
        """Nobody listens any more; why, if it is known, stays said."""
        self._since = None
        self._trouble = self._trouble or "not connected"

    async def persistently(self, request: Callable[[], Awaitable[T]], limit: float) -> T:
        """What a request gives, made again until it does, each try within `limit` seconds.

        Raises RefusedTokenError.
        """
        failed = 0
        while True:
            failed += 1
            try:
                async with at_most(self._clock, limit):
                    return await request()
            except TimeoutError:
                self.lost("timeout", f"no answer within {limit:.0f} s")
                pause = back_off(failed)
            except TelegramError as error:
                pause = self._pause(error, failed)
            await self._clock.sleep(pause)

    def _pause(self, error: TelegramError, failed: int) -> float:
        if is_refused_token(error):
            self._since, self._trouble = None, "token"  # whoever starts us again, or does not, says so
            raise RefusedTokenError(
                f"Telegram does not know this token ({self._api.plain(error)}). Ask @BotFather for the bot's token, "
                "put it into telegram.token, and check telegram.api_base if you have set it."
            ) from None
        if isinstance(error, Conflict):
            self.lost("conflict", self._api.plain(error))
            return max(_CONFLICT_PAUSE, back_off(failed))
        self.lost(obstacle_of(error), self._api.plain(error))
        return max(back_off(failed), seconds(error) if isinstance(error, RetryAfter) else 0)
