"""The connection to Discord's gateway, kept by discord.py."""

import logging
from collections.abc import Callable
from typing import Any, Literal

import discord
import yarl
from discord.backoff import ExponentialBackoff
from discord.gateway import DiscordWebSocket
from discord.http import Route

from nanobot.channels.discord.hearing import Hearing
from nanobot.channels.discord.settings import Settings
from nanobot.ports import Clock

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
        settings: Settings,
        hearing: Hearing,
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
