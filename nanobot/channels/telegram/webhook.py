"""The server that Telegram calls."""

import asyncio
import hmac
import json
import logging
import secrets
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from aiohttp import web

from nanobot.channels.telegram.api import ALLOWED, Api, Json
from nanobot.channels.telegram.line import Line
from nanobot.channels.telegram.pending import STORED_AFTER, PendingUpdates
from nanobot.channels.telegram.settings import Webhook
from nanobot.errors import NanobotError
from nanobot.serving import HttpCall, HttpServer

log = logging.getLogger(__name__)

_HEADER = "X-Telegram-Bot-Api-Secret-Token"
_LIMIT = 30.0


class WebhookServer:
    """Answers 200 when an update is on the bus, or written down because that takes long; 503 when it cannot be
    stored: then Telegram brings it again.

    Telegram brings the pictures of an album one after the other, each when the one before was answered; so those
    that are to be kept whatever follows are held on disk meanwhile. One that will only be kept if a later one names
    the bot is held in memory for that second: nothing that is not said to the bot is written down.
    """

    def __init__(self, settings: Webhook, api: Api, line: Line) -> None:
        self._settings = settings
        self._api = api
        self._line = line
        self._secret = settings.secret or secrets.token_urlsafe(32)

    async def run(self, pending: PendingUpdates) -> None:
        """Serve until cancelled. Raises RefusedTokenError, and NanobotError if the port cannot be used."""
        where = self._settings

        async def receive(call: HttpCall) -> web.Response:
            return web.Response(status=await self._receive(call, pending))

        server = HttpServer({("POST", urlsplit(where.url).path or "/"): receive}, where.limits)
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(server.listening(where.listen, where.port, patience=5.0))
            except OSError as error:
                raise NanobotError(
                    f"The webhook cannot listen at {where.listen}:{where.port} ({error.strerror or error}). Choose "
                    "another port in telegram.webhook, or stop what uses this one."
                ) from error
            log.info("telegram: the webhook listens at %s:%s", where.listen, where.port)
            await self._line.persistently(self._announce, _LIMIT)
            self._line.heard()
            await asyncio.Event().wait()

    async def _announce(self) -> bool:
        allowed = json.loads(ALLOWED)
        return await self._api.bot.set_webhook(self._settings.url, secret_token=self._secret, allowed_updates=allowed)

    async def _receive(self, call: HttpCall, pending: PendingUpdates) -> int:
        """Deal with a call; the status to answer with."""
        told = call.header(_HEADER).encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(told, self._secret.encode()):
            return 403
        try:
            update = json.loads(await call.read())
            is_picture = "media_group_id" in update.get("message", {})
            update["update_id"] = int(update["update_id"])
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return 400
        if is_picture:
            return await self._picture(update, pending)
        work = pending.begin(update, patient=False)
        await asyncio.wait([work], timeout=STORED_AFTER)
        if not work.done() and await pending.store(update):
            return 200
        return 200 if await asyncio.shield(work) else 503

    async def _picture(self, update: Json, pending: PendingUpdates) -> int:
        pending.begin(update)
        return 200 if await pending.store(update) else 503
