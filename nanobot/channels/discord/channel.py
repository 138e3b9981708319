"""The Discord channel: the connection to its gateway, kept by discord.py, and all parts put together."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Literal

import aiohttp
import discord
import yarl
from discord.backoff import ExponentialBackoff
from discord.gateway import DiscordWebSocket
from discord.http import Route

from nanobot.channels.discord.interactions import Interactions
from nanobot.channels.discord.messages import DiscordInbound
from nanobot.channels.discord.missed import ReadMarks
from nanobot.channels.discord.rest import DiscordDownloads, Rest
from nanobot.channels.discord.sending import DiscordSender, DiscordSenderContext
from nanobot.channels.discord.settings import DiscordSettings
from nanobot.channels.platform import NOT_YET, PlatformStatus, RefusedTokenError, UnreachableError, obstacle_of
from nanobot.channels.registry import ChannelServices, MenuCommand
from nanobot.errors import NanobotError
from nanobot.ports import Clock, Publish
from nanobot.ports.gateway import Gap

# The gateway connection.


BETWEEN_IDENTIFIES = 5.0
"""Seconds that Discord wants between two."""

LONGEST_PAUSE = 60.0
"""Seconds between two tries to connect; the library's own grow to seventeen minutes."""

_SERVERS_COME = 1.0  # seconds after the last server that Discord told of, until there are no more

log = logging.getLogger(__name__)

discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # nobody is to be told that it cannot speak


class _Pauses(ExponentialBackoff[Literal[False]]):
    """The library's pauses between two tries to connect, none longer than a minute; `pausing` is told each."""

    def __init__(self, pausing: Callable[[float], None]) -> None:
        super().__init__()
        self._pausing = pausing

    def delay(self) -> float:
        seconds = min(super().delay(), LONGEST_PAUSE)
        self._pausing(seconds)
        return seconds


class Client(discord.Client):
    """Tells Hearing what happens, in order, `changed` whether the connection stands, `pausing` the seconds before
    the next try to connect."""

    def __init__(
        self,
        settings: DiscordSettings,
        hearing: DiscordInbound,
        clock: Clock,
        changed: Callable[[bool], None],
        pausing: Callable[[float], None],
    ) -> None:
        super().__init__(
            # what is in the messages is told only if that is switched on in the portal
            intents=discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True),
            heartbeat_timeout=settings.heartbeat_timeout,
            guild_ready_timeout=_SERVERS_COME,
            max_messages=None,  # an edit would change them in place, while they wait here
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
        )
        self._token = settings.token
        self._hearing = hearing
        self._clock = clock
        self._changed = changed
        vars(discord.client)["ExponentialBackoff"] = lambda: _Pauses(pausing)  # the library asks for no other
        Route.BASE = settings.api_base.rstrip("/")  # of the whole process: the library knows one Discord

    async def enter(self) -> None:
        """Log in, and find the gateway where the REST API says it is: the library has an address built in."""
        await self.login(self._token)
        told = await self.http.request(Route("GET", "/gateway/bot"))
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(told["url"])

    async def connect(self, *, reconnect: bool = True) -> None:
        try:
            await super().connect(reconnect=reconnect)
        except AttributeError as error:
            if self.ws is None:  # the library trips over the missing socket if its first connection fails
                raise discord.GatewayNotFound from error
            raise

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        if not initial:
            await self._clock.sleep(BETWEEN_IDENTIFIES)

    async def on_connect(self) -> None:
        log.info("discord: connected as @%s", self.user)
        self._changed(True)
        self._hearing.connected()

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        if not (event == "ready" and self.is_closed()):  # the library still waits for servers when all is over
            super().dispatch(event, *args, **kwargs)

    async def on_ready(self) -> None:
        self._hearing.told_all_servers()

    async def on_resumed(self) -> None:
        log.info("discord: the connection was resumed")
        self._changed(True)
        self._hearing.connected(resumed=True)

    async def on_disconnect(self) -> None:
        self._hearing.cut_off()
        self._changed(False)

    async def on_message(self, message: discord.Message) -> None:
        self._hearing.said(message)

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        self._hearing.edited(event)

    async def on_interaction(self, interaction: "discord.Interaction[Any]") -> None:
        await self._hearing.interacted(interaction)

    def file_limit(self, channel: str) -> int | None:
        """Bytes that a file may have in a channel; None if its server is not known (yet), or it has none."""
        place = self.get_channel(int(channel))
        guild = getattr(place, "guild", None)
        return guild.filesize_limit if isinstance(guild, discord.Guild) else None


# Login.


_PORTAL = "https://discord.com/developers/applications"
_TOKEN = (
    f"Discord does not know this bot's token. Open {_PORTAL}, choose the bot, then Bot and Reset Token, "
    "and put the new one where discord.token takes it from."
)
_INTENTS = (
    f"Discord does not let this bot read messages. Open {_PORTAL}, choose the bot, then Bot, and switch on "
    '"Message Content Intent" under Privileged Gateway Intents. I try again by myself.'
)
_UNKNOWN_TOKEN = 4004  # the gateway's code
_LONGEST_REASON = 200
_GOOD_BYE = 5.0


class RefusedIntentsError(NanobotError):
    """The bot may not read messages before somebody allows it on Discord's page for developers."""


async def listen(
    client: Client,
    hearing: DiscordInbound,
    interactions: Interactions,
    commands: Sequence[MenuCommand],
    publish: Publish,
) -> None:
    """Log in and hear what is said, until cancelled.

    Raises RefusedTokenError, RefusedIntentsError, UnreachableError, or StoreError.
    """
    try:
        async with hearing.open(client, publish):
            try:
                await client.enter()
                await interactions.sync(str(client.application_id), commands)
                await client.connect()
            finally:
                with suppress(TimeoutError):  # a dead connection does not answer our good-bye
                    await asyncio.wait_for(client.close(), _GOOD_BYE)
    except ExceptionGroup as several:  # what ended the first one ended the others
        raise _explained(several.exceptions[0]) from several


def _explained(error: Exception) -> Exception:
    """Return the sentence about an error for whoever runs the bot; bugs are returned unchanged."""
    if isinstance(error, discord.LoginFailure) or _close_code(error) == _UNKNOWN_TOKEN:
        return RefusedTokenError(_TOKEN)
    if isinstance(error, discord.PrivilegedIntentsRequired):
        return RefusedIntentsError(_INTENTS)
    if isinstance(error, discord.DiscordException | aiohttp.ClientError | OSError):
        reason = str(error) or type(error).__name__
        return UnreachableError(f"Discord cannot be reached: {reason[:_LONGEST_REASON]}", may_have_arrived=False)
    return error


def _close_code(error: Exception) -> int | None:
    return error.code if isinstance(error, discord.ConnectionClosed) else None


# The channel.


FILE_LIMIT = 10 * 2**20
"""Bytes of a file that Discord takes everywhere; servers with boosts take more."""


class DiscordChannel(DiscordSender):
    """People on Discord talk with the bot; also a Platform, for delivery. Sending does not need the listening.

    Slash commands that are used while the bot is away are lost: Discord keeps none. What is said meanwhile is
    read afterwards (catching_up.py); edits made meanwhile are not.
    """

    def __init__(self, settings: DiscordSettings, services: ChannelServices) -> None:
        self._rest = Rest(settings.api_base, settings.token)
        super().__init__(
            self._rest, DiscordSenderContext(services.media, services.bookmarks, services.language, self._file_limit)
        )
        self._settings = settings
        self._services = services
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
        services, seen = self._services, ReadMarks(self._services.bookmarks)
        await seen.load()
        interactions = Interactions(self._rest, services.bookmarks)
        downloads = DiscordDownloads(self._rest, services.media, services.clock)
        hearing = DiscordInbound(services, downloads, interactions, seen, self._settings.catch_up, self._gaps)
        self._client = Client(self._settings, hearing, services.clock, self._changed, self._pausing)
        try:
            await listen(self._client, hearing, interactions, services.menu, publish)
        except NanobotError as error:
            self._trouble = _obstacle(error)
            raise
        finally:
            self._since, self._client = None, None

    async def aclose(self) -> None:
        """Close what is open; sending opens it again."""
        await self._rest.aclose()

    def status(self) -> PlatformStatus:
        """Return the state of the channel."""
        next_try = None if self._since else self._next_try
        trouble = "" if self._since else self._trouble
        return PlatformStatus(self._bot, self._since, trouble, next_try=next_try, gaps=tuple(self._gaps))

    def _pausing(self, seconds: float) -> None:
        self._next_try = self._services.clock.now() + timedelta(seconds=seconds)
        self._services.changed()

    def _changed(self, connected: bool) -> None:
        if connected and self._client and self._client.user:
            self._bot = f"@{self._client.user.name}"
        self._since = (self._since or self._services.clock.now()) if connected else None
        self._next_try = None
        self._trouble = "" if connected else "reconnecting"
        self._services.changed()

    def _file_limit(self, channel: str) -> int:
        known = self._client.file_limit(channel) if self._client else None
        return known or FILE_LIMIT


def _obstacle(error: NanobotError) -> str:
    """In a word, where there is one."""

    if isinstance(error, RefusedTokenError):
        return "token"
    if isinstance(error, RefusedIntentsError):
        return "intents"
    return obstacle_of(error) if isinstance(error, UnreachableError) else str(error)
