"""The Bot API, spoken by python-telegram-bot's Bot: the one place that makes it."""

import logging
import os
import ssl
from collections.abc import Awaitable, Mapping
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlencode

import httpx
from telegram import Bot, User
from telegram.error import ChatMigrated, TelegramError
from telegram.request import HTTPXRequest

from nanobot.channels.telegram.failures import failure
from nanobot.channels.telegram.settings import Access

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

    def __init__(self, access: Access) -> None:
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
        """Who we are there, after `introduce`."""
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
        """What a request gives. Raises DeliveryError, and ChatMigrated."""
        try:
            return await request
        except ChatMigrated:
            raise
        except TelegramError as error:
            raise failure(error, self.plain(error)) from None

    def plain(self, error: Exception) -> str:
        """What an error says, without the token, and without the page that came in place of an answer."""
        words = (str(error) or type(error).__name__).partition(". Parsing the server response")[0]
        return self.access.without_token(words)[:_LONGEST_REASON]

    async def aclose(self) -> None:
        """Close the connections; `introduce` opens them again."""
        await self._requests.shutdown()
        await self._polls.shutdown()
