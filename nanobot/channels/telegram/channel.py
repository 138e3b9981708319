"""Telegram, as the rest of nanobot sees it."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from telegram.error import TelegramError

from nanobot.channels.platform import PlatformStatus
from nanobot.channels.telegram.api import Api
from nanobot.channels.telegram.callback_queries import CallbackQueries, Keyboards
from nanobot.channels.telegram.chats import ChatMembership, Moved
from nanobot.channels.telegram.commands import Menu, Spelling
from nanobot.channels.telegram.downloads import OWN_LIMIT, Downloads
from nanobot.channels.telegram.hearing import Hearing
from nanobot.channels.telegram.line import Line
from nanobot.channels.telegram.pending import PendingUpdates
from nanobot.channels.telegram.polling import Polling
from nanobot.channels.telegram.sending import Sending
from nanobot.channels.telegram.settings import Access, House, MenuCommand, Webhook
from nanobot.channels.telegram.updates import Updates
from nanobot.channels.telegram.webhook import WebhookServer
from nanobot.channels.telegram.wording import MB, Wording
from nanobot.errors import StoreError
from nanobot.ports import Publish

log = logging.getLogger(__name__)

UPLOAD_LIMIT = 50 * MB
"""Bytes of a file that the public Bot API takes (its documentation, sendDocument)."""

_PATIENCE = 30.0


class Telegram(Sending):
    """People on Telegram talk with the bot; also a Platform, for delivery. Sending does not need the listening.

    Telegram keeps what is said while the bot is away for 24 hours.
    """

    def __init__(
        self, access: Access, house: House, commands: Sequence[MenuCommand], webhook: Webhook | None = None
    ) -> None:
        """`commands` become the menu. Without a webhook Telegram is asked for news."""
        self._api = Api(access)
        self._house = house
        self._webhook = webhook
        self._moved = Moved(house.bookmarks)
        self._keyboards = Keyboards(house.bookmarks)
        self._menu = Menu(self._api, house.bookmarks, commands)
        self._line = Line(self._api, house.clock, house.changed)
        self._pending: PendingUpdates | None = None
        largest = OWN_LIMIT if access.is_self_hosted else UPLOAD_LIMIT
        wording = Wording(house.media, house.language, largest, Spelling(each.name for each in commands))
        super().__init__(self._api, wording, house.media, self._moved, self._keyboards)

    async def listen(self, publish: Publish) -> None:
        """Publish what people say until cancelled, however often the line breaks.

        Raises RefusedTokenError, and other NanobotErrors after which it is worth listening again.
        """
        try:
            me = await self._line.persistently(self._api.introduce, _PATIENCE)
            self._line.bot = f"@{me.username}"
            await self._show_menu()
            downloads = Downloads(self._api, self._house.media, self._house.clock)
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
        """How it is going with hearing; sending does not depend on it."""
        status = self._line.status()
        return replace(status, waiting=self._pending.waiting) if self._pending else status

    async def _receive(self, publish: Publish, downloads: Downloads) -> None:
        house, api, moved = self._house, self._api, self._moved
        hearing = Hearing(api.me, house, downloads, moved, publish)
        queries = CallbackQueries(api, house, self._keyboards, moved, publish)
        updates = Updates(api, house.clock, hearing, queries, ChatMembership(house, moved), moved)
        async with PendingUpdates(updates, house.bookmarks, house.clock) as self._pending:
            if self._webhook is None:
                await Polling(api, self._line, house.clock).run(self._pending)
            else:
                await WebhookServer(self._webhook, api, self._line).run(self._pending)

    async def _show_menu(self) -> None:
        try:
            await self._menu.update()
        except (TelegramError, StoreError) as error:
            log.warning("telegram: the menu of commands could not be set: %s", self._api.plain(error))
