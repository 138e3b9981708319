"""Discord, as the rest of nanobot sees it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from nanobot.channels.discord.downloads import Downloads
from nanobot.channels.discord.rest import Rest
from nanobot.channels.discord.seen import Seen
from nanobot.channels.discord.sending import Desk, Sending
from nanobot.channels.discord.settings import MenuCommand, Settings, Surroundings
from nanobot.channels.discord.slash import Interactions
from nanobot.channels.platform import NOT_YET, PlatformStatus, RefusedTokenError, UnreachableError
from nanobot.channels.trouble import obstacle_of
from nanobot.errors import NanobotError
from nanobot.ports import Publish
from nanobot.ports.gateway import Gap

if TYPE_CHECKING:
    from nanobot.channels.discord.client import Client

FILE_LIMIT = 10 * 2**20
"""Bytes of a file that Discord takes everywhere; servers with boosts take more."""


class Discord(Sending):
    """People on Discord talk with the bot; also a Platform, for delivery. Sending does not need the listening.

    Slash commands that are used while the bot is away are lost: Discord keeps none. What is said meanwhile is
    read afterwards (catching_up.py); edits made meanwhile are not.
    """

    def __init__(self, settings: Settings, around: Surroundings, commands: Sequence[MenuCommand]) -> None:
        """`commands` become Discord's slash commands."""
        self._rest = Rest(settings.api_base, settings.token)
        super().__init__(self._rest, Desk(around.media, around.bookmarks, around.language, self._file_limit))
        self._settings = settings
        self._around = around
        self._commands = commands
        self._client: Client | None = None
        self._bot = ""
        self._since: datetime | None = None
        self._trouble = NOT_YET
        self._next_try: datetime | None = None
        self._gaps: list[Gap] = []

    async def listen(self, publish: Publish) -> None:
        """Publish what people say until cancelled, reconnecting as often as it takes.

        Raises RefusedTokenError, and other NanobotErrors after which it is worth listening again.
        """
        from nanobot.channels.discord.client import Client  # half a second
        from nanobot.channels.discord.hearing import Ears, Hearing
        from nanobot.channels.discord.listening import listen

        around, seen = self._around, Seen(self._around.bookmarks)
        await seen.load()
        interactions = Interactions(self._rest, around.bookmarks)
        ears = Ears(
            around=around,
            downloads=Downloads(self._rest, around.media, around.clock),
            interactions=interactions,
            commands=frozenset(command.name for command in self._commands),
        )
        hearing = Hearing(ears, seen, self._settings.catch_up, self._gaps)
        self._client = Client(self._settings, hearing, around.clock, self._changed, self._pausing)
        try:
            await listen(self._client, hearing, interactions, self._commands, publish)
        except NanobotError as error:
            self._trouble = _obstacle(error)
            raise
        finally:
            self._since, self._client = None, None

    async def aclose(self) -> None:
        """Close what is open; sending opens it again."""
        await self._rest.aclose()

    def status(self) -> PlatformStatus:
        """How it is going."""
        next_try = None if self._since else self._next_try
        trouble = "" if self._since else self._trouble
        return PlatformStatus(self._bot, self._since, trouble, next_try=next_try, gaps=tuple(self._gaps))

    def _pausing(self, seconds: float) -> None:
        self._next_try = self._around.clock.now() + timedelta(seconds=seconds)
        self._around.changed()

    def _changed(self, connected: bool) -> None:
        if connected and self._client and self._client.user:
            self._bot = f"@{self._client.user.name}"
        self._since = (self._since or self._around.clock.now()) if connected else None
        self._next_try = None
        self._trouble = "" if connected else "reconnecting"
        self._around.changed()

    def _file_limit(self, channel: str) -> int:
        known = self._client.file_limit(channel) if self._client else None
        return known or FILE_LIMIT


def _obstacle(error: NanobotError) -> str:
    """In a word, where there is one."""
    from nanobot.channels.discord.listening import RefusedIntentsError

    if isinstance(error, RefusedTokenError):
        return "token"
    if isinstance(error, RefusedIntentsError):
        return "intents"
    return obstacle_of(error) if isinstance(error, UnreachableError) else str(error)
