"""The Telegram channel: updates received by polling or a webhook, and all parts put together."""

import asyncio
import json
import logging
import secrets
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from aiohttp import web
from telegram.error import TelegramError

from nanobot.channels.fetching import at_most
from nanobot.channels.platform import PlatformStatus
from nanobot.channels.registry import ChannelServices
from nanobot.channels.telegram.api import ALLOWED, Api, Json, TelegramConnection
from nanobot.channels.telegram.callback_queries import CallbackQueries, Keyboards
from nanobot.channels.telegram.chats import ChatMembership, ChatMigrations
from nanobot.channels.telegram.files import OWN_LIMIT, TelegramDownloads
from nanobot.channels.telegram.messages import TelegramInbound
from nanobot.channels.telegram.sending import MB, Menu, Spelling, TelegramSender, Wording
from nanobot.channels.telegram.settings import TelegramSettings, Webhook
from nanobot.channels.telegram.updates import STORED_AFTER, PendingUpdates, Updates
from nanobot.errors import NanobotError, StoreError
from nanobot.http import HeaderSecret, HttpCall, HttpServer, ListenError, Route, ServerLimits
from nanobot.ports import Clock, Publish

# Polling.


POLL = 25.0
"""Seconds for which Telegram is asked to wait for news."""

GRACE = 10.0
"""Seconds after that, when a connection counts as dead."""

MEANWHILE = 0.25
"""Seconds between two looks for news while something is being dealt with that only Telegram has."""


class LongPolling:
    """The loop around getUpdates.

    An update is confirmed by asking for those after it, so that is done when it, and all before it, are on the bus, or
    written down because that takes long. Until then Telegram holds them for us: a crash loses none, and what was
    published before is known by its id.
    """

    def __init__(self, api: Api, line: TelegramConnection, clock: Clock) -> None:
        self._api = api
        self._line = line
        self._clock = clock

    async def run(self, pending: PendingUpdates) -> None:
        """Poll until cancelled. Raises RefusedTokenError."""
        await self._line.persistently(self._api.bot.delete_webhook, GRACE)
        offset: int | None = None
        begun: set[int] = set()
        while True:
            updates = await self._line.persistently(partial(self._news, offset, pending), POLL + GRACE)
            self._line.heard()
            for update in updates:
                if update["update_id"] not in begun:
                    begun.add(update["update_id"])
                    pending.begin(update)
            with suppress(TimeoutError):
                async with at_most(self._clock, MEANWHILE):
                    await pending.settled()
            await pending.store_slow()
            # Behind an empty answer nothing is left to confirm, and after a quiet week the ids may begin elsewhere.
            behind = max(begun) + 1 if updates else None
            offset = min(pending.unconfirmed, default=behind)
            begun = {number for number in begun if offset is not None and number >= offset}

    async def _news(self, offset: int | None, pending: PendingUpdates) -> list[Json]:
        """Handle the first answer in the background: it only says whether the bot may listen at all."""
        is_idle = self._line.is_up and not pending.unconfirmed
        return await self._api.updates(offset, POLL if is_idle else 0.0)


# Webhook.


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

    def __init__(
        self, settings: Webhook, api: Api, line: TelegramConnection, limits: ServerLimits | None = None
    ) -> None:
        self._settings = settings
        self._limits = limits
        self._api = api
        self._line = line
        self._secret = settings.secret or secrets.token_urlsafe(32)

    async def run(self, pending: PendingUpdates) -> None:
        """Serve until cancelled. Raises RefusedTokenError, and NanobotError if the port cannot be used."""
        where = self._settings

        async def receive(call: HttpCall) -> web.Response:
            return web.Response(status=await self._receive(call, pending))

        secret = HeaderSecret(_HEADER, self._secret)
        server = HttpServer([Route("POST", urlsplit(where.url).path or "/", receive, secret)], self._limits)
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(server.listening(where.listen, where.port, patience=5.0))
            except ListenError as error:
                raise NanobotError(
                    f"The webhook cannot listen at {where.listen}:{where.port} ({error.reason}). Choose "
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


# The channel.


UPLOAD_LIMIT = 50 * MB
"""Bytes of a file that the public Bot API takes (its documentation, sendDocument)."""

_PATIENCE = 30.0


class TelegramChannel(TelegramSender):
    """People on Telegram talk with the bot; also a Platform, for delivery. Sending does not need the listening.

    Telegram keeps what is said while the bot is away for 24 hours.
    """

    def __init__(
        self,
        settings: TelegramSettings,
        services: ChannelServices,
        limits: ServerLimits | None = None,
    ) -> None:
        """`limits` are those of the webhook's server."""
        self._api = Api(settings)
        self._services = services
        self._webhook = settings.webhook
        self._limits = limits
        self._moved = ChatMigrations(services.bookmarks)
        self._keyboards = Keyboards(services.bookmarks)
        self._menu = Menu(self._api, services.bookmarks, services.menu)
        self._line = TelegramConnection(self._api, services.clock, services.changed)
        self._pending: PendingUpdates | None = None
        largest = OWN_LIMIT if settings.is_self_hosted else UPLOAD_LIMIT
        wording = Wording(services.media, services.language, largest, Spelling(each.name for each in services.menu))
        super().__init__(self._api, wording, services.media, self._moved, self._keyboards)

    async def listen(self, publish: Publish) -> None:
        """Publish what people say until cancelled, however often the line breaks.

        Raises RefusedTokenError, and other NanobotErrors after which it is worth listening again.
        """
        try:
            me = await self._line.persistently(self._api.introduce, _PATIENCE)
            self._line.bot = f"@{me.username}"
            await self._show_menu()
            downloads = TelegramDownloads(self._api, self._services.media, self._services.clock)
            try:
                await self._receive(publish, downloads)
            finally:
                await downloads.aclose()
        finally:
            self._line.closed()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._api.aclose()

    def status(self) -> PlatformStatus:
        """Return the state of receiving; sending does not depend on it."""
        status = self._line.status()
        return replace(status, waiting=self._pending.waiting) if self._pending else status

    async def _receive(self, publish: Publish, downloads: TelegramDownloads) -> None:
        services, api, moved = self._services, self._api, self._moved
        hearing = TelegramInbound(api.me, services, downloads, moved, publish)
        queries = CallbackQueries(api, services, self._keyboards, moved, publish)
        updates = Updates(api, services.clock, hearing, queries, ChatMembership(services, moved), moved)
        async with PendingUpdates(updates, services.bookmarks, services.clock) as self._pending:
            if self._webhook is None:
                await LongPolling(api, self._line, services.clock).run(self._pending)
            else:
                await WebhookServer(self._webhook, api, self._line, self._limits).run(self._pending)

    async def _show_menu(self) -> None:
        try:
            await self._menu.update()
        except (TelegramError, StoreError) as error:
            log.warning("telegram: the menu of commands could not be set: %s", self._api.plain(error))
