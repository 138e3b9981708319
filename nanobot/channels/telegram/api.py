"""The Bot API, spoken by python-telegram-bot: requests repeated until it answers, and what its refusals mean."""

import logging
import os
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlencode

import httpx
from telegram import Bot, User
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)
from telegram.request import HTTPXRequest

from nanobot.channels.fetching import at_most
from nanobot.channels.platform import (
    NOT_YET,
    DeliveryError,
    FloodError,
    GoneError,
    LostPreviewError,
    PlatformStatus,
    RefusedTokenError,
    RejectedError,
    UnreachableError,
    obstacle_of,
)
from nanobot.channels.telegram.settings import TelegramSettings
from nanobot.ports import Clock
from nanobot.ports.gateway import Obstacle

# Refusals. The Bot API documents no list of them; these are its server's own words.


_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
_TOO_LARGE = r"entity too large|file is too big"
_LOST = r"message to (?:edit|delete) not found|message (?:can't|cannot) be (?:edited|deleted)|message_id_invalid"
_GONE = (
    r"chat not found|user not found|peer_id_invalid|rights|chat_write_forbidden|chat_restricted|topic_closed"
    r"|user_is_blocked|deactivated|is not a member|chat_admin_required|was kicked|was deleted"
)


class UnchangedError(RejectedError):
    """The message shows just this already."""


class TelegramTopicLostError(GoneError):
    """The topic does not exist any more."""


class TelegramTooLargeError(RejectedError):
    """The file is bigger than Telegram takes or gives."""


class BadPictureError(RejectedError):
    """Telegram cannot show this as a photo."""


def failure(error: TelegramError, words: str) -> DeliveryError:
    """Return the delivery error for an error of the library; `words` are what may be shown of it."""
    text = f"Telegram: {words}"
    if isinstance(error, RetryAfter):
        return FloodError(text, retry_after=seconds(error))
    if isinstance(error.__cause__, TelegramError):  # the page of a proxy, or of a wall before Telegram
        return UnreachableError(text, may_have_arrived=type(error) is NetworkError)
    if isinstance(error, Forbidden):
        return GoneError(text)
    if isinstance(error, InvalidToken | Conflict):  # either may be put right
        return UnreachableError(text, may_have_arrived=False)
    if isinstance(error, BadRequest):
        return _refusal(text)
    if re.search(_TOO_LARGE, words, re.IGNORECASE):
        return TelegramTooLargeError(text)
    return UnreachableError(text, may_have_arrived=not isinstance(error.__cause__, _NEVER_SENT))


def seconds(error: RetryAfter) -> float:
    """For how long Telegram wants silence."""
    pause = error.retry_after
    return pause.total_seconds() if isinstance(pause, timedelta) else float(pause)


def is_refused_token(error: Exception) -> bool:
    """True if Telegram itself says that it does not know this token."""
    return isinstance(error, InvalidToken) and not isinstance(error.__cause__, TelegramError)


_REFUSALS: tuple[tuple[str, type[DeliveryError]], ...] = (
    ("not modified", UnchangedError),
    ("thread not found", TelegramTopicLostError),
    (_LOST, LostPreviewError),
    (_TOO_LARGE, TelegramTooLargeError),
    ("photo_|image_process|wrong type of the web page|too big for a photo", BadPictureError),
    (_GONE, GoneError),
)


def _refusal(text: str) -> DeliveryError:
    for pattern, kind in _REFUSALS:
        if re.search(pattern, text, re.IGNORECASE):
            return kind(text)
    return RejectedError(text)


# Requests.


os.environ.setdefault("PTB_TIMEDELTA", "1")  # else it warns whenever Telegram asks for a pause
logging.getLogger("httpx").setLevel(logging.WARNING)  # at INFO it logs addresses, and the token is in them
logging.getLogger("telegram.request.BaseRequest").setLevel(logging.CRITICAL)  # else each page of a proxy, in full

T = TypeVar("T")
Json = Mapping[str, Any]

ALLOWED = '["message","edited_message","callback_query","my_chat_member"]'
"""The kinds of updates that are of use."""

READ_SECONDS = 30.0
"""How long an answer may take; then nobody knows whether the request arrived."""

_BATCH = 100
_LONGEST_REASON = 300


@cache
def tls() -> ssl.SSLContext:
    """One for all connections: making it reads 150 certificates."""
    return httpx.create_ssl_context()


class Api:
    """Our connections to the Bot API. `bot` raises TelegramErrors; `ask` makes DeliveryErrors of them."""

    def __init__(self, access: TelegramSettings) -> None:
        self.access = access
        self._requests = HTTPXRequest(
            connection_pool_size=64,
            read_timeout=READ_SECONDS,
            write_timeout=30,
            connect_timeout=10,
            pool_timeout=30,
            media_write_timeout=60,
            proxy=access.proxy,
            httpx_kwargs={"verify": tls()},
        )
        self._polls = HTTPXRequest(
            connection_pool_size=2, connect_timeout=10, proxy=access.proxy, httpx_kwargs={"verify": tls()}
        )
        base = access.api_base.rstrip("/")
        self.bot = Bot(
            access.token,
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=self._requests,
            get_updates_request=self._polls,
        )
        self._me: User | None = None

    @property
    def me(self) -> User:
        """Own account, after `introduce`."""
        if self._me is None:
            raise RuntimeError("the bot was not introduced")
        return self._me

    async def introduce(self) -> User:
        """Ask who we are, on connections that may have been closed before. Raises TelegramError."""
        await self._requests.initialize()
        await self._polls.initialize()
        self._me = await self.bot.get_me()
        return self._me

    async def updates(self, offset: int | None, wait: float) -> list[Json]:
        """The updates from `offset` on, as they came: the Bot would fail on all for one that it cannot read.

        Waits for `wait` seconds if there is none, and longer if the server is dead. Raises TelegramError.
        """
        asked = {"limit": _BATCH, "timeout": int(wait), "allowed_updates": ALLOWED}
        if offset is not None:
            asked["offset"] = offset
        url = f"{self.bot.base_url}/getUpdates?{urlencode(asked)}"
        answer: object = await self._polls.post(url, read_timeout=None)
        if not isinstance(answer, list):
            raise TelegramError("what came is not a list of updates")
        return [update for update in answer if isinstance(update, dict) and isinstance(update.get("update_id"), int)]

    async def ask(self, request: Awaitable[T]) -> T:
        """Make a request and return its result. Raises DeliveryError, and ChatMigrated."""
        try:
            return await request
        except ChatMigrated:
            raise
        except TelegramError as error:
            raise failure(error, self.plain(error)) from None

    def plain(self, error: Exception) -> str:
        """Return the text of an error, without the token, and without a page that came in place of an answer."""
        words = (str(error) or type(error).__name__).partition(". Parsing the server response")[0]
        return self.access.without_token(words)[:_LONGEST_REASON]

    async def aclose(self) -> None:
        """Close the connections; `introduce` opens them again."""
        await self._requests.shutdown()
        await self._polls.shutdown()


# The connection.


log = logging.getLogger(__name__)


LONGEST_PAUSE = 30.0
_CONFLICT_PAUSE = 5.0


def back_off(failed: int) -> float:
    """Seconds after so many failures in a row: 1, 2, 4, and so on to half a minute."""
    return min(LONGEST_PAUSE, 2.0 ** min(failed - 1, 10))


class TelegramConnection:
    """True if we hear Telegram; sending does not depend on it."""

    def __init__(self, api: Api, clock: Clock, changed: Callable[[], None]) -> None:
        """`changed` hears that the status has changed."""
        self._api = api
        self._clock = clock
        self._changed = changed
        self._since: datetime | None = None
        self._trouble: str = NOT_YET
        self.bot = ""

    def status(self) -> PlatformStatus:
        """Return the state of the connection."""
        return PlatformStatus(self.bot, self._since, self._trouble)

    @property
    def is_up(self) -> bool:
        """True if Telegram answered when it was asked last."""
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
        """Make a request until it succeeds and return its result; each attempt takes at most `limit` seconds.

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
