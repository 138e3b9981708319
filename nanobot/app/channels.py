"""The chat platforms in the gateway: built-in and plug-in ones, each kept running and watched."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from nanobot import __version__
from nanobot import config as settings
from nanobot.bus.spool import Spool
from nanobot.channels.access import AccessPolicy
from nanobot.channels.delivery.deliverer import Deliverer, DeliveryStatus
from nanobot.channels.delivery.rate_limit import DISCORD, TELEGRAM, Pace
from nanobot.channels.platform import NOT_YET, Platform, PlatformStatus, RefusedTokenError
from nanobot.commands.admin import channel_line
from nanobot.config import Config, known
from nanobot.core.commands import Command
from nanobot.errors import ConfigError, NanobotError, StoreError
from nanobot.i18n import Language, say
from nanobot.messages import Address
from nanobot.models.endpoint import Endpoint, EndpointTranscriber
from nanobot.ops.supervisor import Supervisor
from nanobot.people.people import TERMINAL
from nanobot.ports import Backlog, Clock, Media, Publish, Tool, Transcriber
from nanobot.ports.gateway import OBSTACLES, ChannelState, Flow, GatewayState, State

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from nanobot.channels.discord.channel import DiscordChannel
    from nanobot.channels.telegram.channel import TelegramChannel


# Tools and channels that others have written: entry points of installed packages, named in the configuration.
#
# Only what `plugins` names is loaded. A package offers a function under the plugin's name:
#
# nanobot.tools     (settings) -> tools       called with what stands under plugins.NAME
# nanobot.channels  (settings, house) -> channel  `house` is channels.House, the channel a post.ChatChannel


Group = Literal["nanobot.tools", "nanobot.channels"]

Plugins = Mapping[str, object]
"""The settings of each plugin, by its name."""


def plugin_tools(plugins: Plugins, taken: Collection[str] = ()) -> list[Tool]:
    """The tools of all plugins; those of the house have the names that are `taken`.

    Raises ConfigError, with a sentence for whoever starts the bot.
    """
    tools, names = list[Tool](), _Names("tool", taken)
    for name, call in _offered(plugins, "nanobot.tools"):
        for tool in cast("Iterable[Tool]", call(name)):
            names.take(tool.spec.name, name)
            tools.append(tool)
    return tools


def plugin_channels(plugins: Plugins, house: "ChannelServices", taken: Collection[str] = ()) -> "list[ChatChannel]":
    """The channels of all plugins; those of the house have the names that are `taken`. Raises ConfigError."""
    channels, names = list["ChatChannel"](), _Names("channel", taken)
    for name, call in _offered(plugins, "nanobot.channels"):
        channel = cast("ChatChannel", call(name, house))
        names.take(channel.name, name)
        channels.append(channel)
    return channels


def has_channels(plugins: Plugins) -> bool:
    """True if a plugin is a place where people talk to the bot."""
    return any(True for _ in _offered(plugins, "nanobot.channels"))


class _Names:
    """Each is given once: of two tools one would be called, of two channels each would get half of the messages."""

    def __init__(self, what: str, taken: Collection[str]) -> None:
        self._what = what
        self._taken = set(taken)

    def take(self, name: str, plugin: str) -> None:
        if name in self._taken:
            raise ConfigError(
                f"plugins.{plugin}: there is another {self._what} called {name}. Have the plugin call its own "
                f"otherwise, or take plugins.{plugin} out of config.yaml"
            )
        self._taken.add(name)


def _offered(plugins: Plugins, group: Group) -> Iterator[tuple[str, Callable[..., object]]]:
    """The plugins that offer something of a kind: the name, and a function that takes it in place of its settings."""
    if not plugins:  # looking through what is installed takes a while
        return
    from importlib.metadata import entry_points

    every = entry_points()
    known = {entry.name for of in ("nanobot.tools", "nanobot.channels") for entry in every.select(group=of)}
    for name, its_settings in plugins.items():
        if name not in known:
            raise ConfigError(
                f"plugins.{name} has settings, but no package that is installed offers a plugin {name}: install it "
                f"into the environment of nanobot, or take plugins.{name} out of config.yaml"
            )
        for entry in every.select(group=group, name=name):
            yield name, _caller(entry, its_settings)


def _caller(entry: "EntryPoint", settings: object) -> Callable[..., object]:
    """The function behind an entry point, with its settings. What goes wrong in it becomes a sentence."""

    def call(name: str, *more: Any) -> object:
        try:
            made = entry.load()(settings or {}, *more)
            return list(made) if entry.group == "nanobot.tools" else made
        except NanobotError as error:
            raise ConfigError(f"plugins.{name}: {error}") from error
        except Exception as error:
            package = entry.dist.name if entry.dist else entry.value
            raise ConfigError(
                f"plugins.{name}: the plugin (package {package}) could not be loaded: {type(error).__name__}: {error}"
            ) from error

    return call


# One chat platform in the gateway.


class ChatChannel(Platform, Protocol):
    """A platform on which people talk with the bot."""

    async def listen(self, publish: Publish) -> None:
        """Publish what people say until cancelled. Raises RefusedTokenError, and others after which to try again."""
        ...

    def status(self) -> PlatformStatus:
        """Return the state of listening."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class ChannelRunner:
    """Listens and delivers on a platform, each kept alive by itself."""

    def __init__(
        self,
        channel: ChatChannel,
        deliverer: Deliverer,
        publish: Publish,
        clock: Clock,
        *,
        how: str,
        changed: Callable[[], None],
    ) -> None:
        """`how` says in a word or two in which way it listens; `changed` hears that `state` has changed."""
        self._channel = channel
        self._deliverer = deliverer
        self._clock = clock
        self._how = how
        self.listening = Supervisor(
            channel.name, lambda: channel.listen(publish), clock, hopeless=RefusedTokenError, changed=changed
        )
        self.delivering = Supervisor(f"{channel.name} delivery", deliverer.run, clock, changed=changed)

    @property
    def name(self) -> str:
        return self._channel.name

    def state(self) -> ChannelState:
        """State of the channel; both halves count."""
        status = self._channel.status()
        stopped = [half.trouble for half in (self.listening, self.delivering) if half.is_pausing]
        obstacle = status.trouble if status.trouble in OBSTACLES else ""
        if self.listening.is_hopeless:
            return self._state("refused", status, obstacle or self.listening.trouble)
        if stopped:
            return self._state("trouble", status, obstacle or stopped[0])
        if status.since is not None:
            return self._state("up", status, status.trouble)
        trouble = obstacle or self.listening.trouble or status.trouble
        return self._state("starting", status) if trouble == NOT_YET else self._state("trouble", status, trouble)

    def _state(self, state: State, status: PlatformStatus, trouble: str = "") -> ChannelState:
        return ChannelState(
            name=self.name,
            state=state,
            how=self._how,
            bot=status.bot,
            since=status.since,
            trouble=trouble.rstrip("."),
            waiting=status.waiting,
            next_try=status.next_try,
            gaps=status.gaps,
            flow=flow_of(self._deliverer.status(), self._clock.now()),
        )

    async def aclose(self) -> None:
        await self._channel.aclose()


def flow_of(status: DeliveryStatus, now: datetime) -> Flow:
    """Return the state of deliveries at a monotonic time."""
    everywhere, chats = status.silent_everywhere, status.silent_chats
    seconds = everywhere or max(chats.values(), default=0.0)
    late = status.delays[0] if status.delays else None
    return Flow(
        silent_until=now + timedelta(seconds=seconds) if seconds else None,
        silent_chats=0 if everywhere else len(chats),
        late_chats=len(status.delays),
        late_since=late.since if late else None,
        late_reason=late.reason.rstrip(".") if late else "",
    )


# The chat platforms, as configured.


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelServices:
    """Services of the gateway that channels use."""

    door: AccessPolicy
    media: Media
    transcriber: Transcriber | None
    spool: Spool
    clock: Clock
    commands: Sequence[Command]
    language: Callable[[Address], Language]
    changed: Callable[[], None]


def build_posts(config: Config, house: ChannelServices) -> Sequence[ChannelRunner]:
    """One for each platform that is configured."""
    return list(_posts(config, house))


def build_transcriber(config: Config, clock: Clock) -> EndpointTranscriber | None:
    """Return the speech-to-text model; None if none is configured."""
    says = config.transcription
    if says is None:
        return None
    return EndpointTranscriber(says.model, Endpoint(base_url=says.base_url, api_key=known(says.api_key)), clock)


def _posts(config: Config, house: ChannelServices) -> Iterator[ChannelRunner]:
    if config.telegram:
        how = "webhook" if config.telegram.webhook else "polling"
        yield _post(_telegram(config.telegram, house), house, TELEGRAM, how, streaming=config.telegram.streaming)
    if config.discord:
        yield _post(_discord(config.discord, house), house, DISCORD, "gateway", streaming=config.discord.streaming)
    taken = [TERMINAL, *(name for name in ("telegram", "discord") if getattr(config, name))]
    for channel in plugin_channels(config.plugins, house, taken):
        yield _post(channel, house, TELEGRAM, "", streaming=True)  # the calmer pace


def _post(channel: ChatChannel, house: ChannelServices, pace: Pace, how: str, *, streaming: bool) -> ChannelRunner:
    deliverer = Deliverer(house.spool, channel, house.clock, pace=pace, streaming=streaming, language=house.language)
    return ChannelRunner(channel, deliverer, house.spool.publish, house.clock, how=how, changed=house.changed)


def _telegram(says: settings.TelegramConfig, house: ChannelServices) -> "TelegramChannel":
    from nanobot.channels.telegram.channel import TelegramChannel
    from nanobot.channels.telegram.settings import BotApiAccess, TelegramMenuCommand, Webhook
    from nanobot.channels.telegram.settings import TelegramServices as Around

    around = Around(
        door=house.door,
        media=house.media,
        transcriber=house.transcriber,
        bookmarks=house.spool,
        clock=house.clock,
        notify=house.spool.send,
        language=house.language,
        changed=house.changed,
    )
    menu = [
        TelegramMenuCommand(command.name, _help(command)) for command in house.commands if not command.in_terminal_only
    ]
    hook = says.webhook
    webhook = (
        Webhook(url=hook.url, listen=hook.listen, port=hook.port, secret=known(hook.secret) or None) if hook else None
    )
    return TelegramChannel(
        BotApiAccess(token=known(says.token), api_base=says.api_base, proxy=says.proxy), around, menu, webhook
    )


def _discord(says: settings.DiscordConfig, house: ChannelServices) -> "DiscordChannel":
    from nanobot.channels.discord.channel import DiscordChannel
    from nanobot.channels.discord.settings import CatchUp, DiscordMenuCommand, DiscordServices, Settings

    around = DiscordServices(
        door=house.door,
        media=house.media,
        bookmarks=house.spool,
        clock=house.clock,
        notify=house.spool.send,
        language=house.language,
        changed=house.changed,
    )
    catch_up = CatchUp(says.catch_up.messages, says.catch_up.age)
    menu = [
        DiscordMenuCommand(command.name, _help(command)) for command in house.commands if not command.in_terminal_only
    ]
    return DiscordChannel(Settings(token=known(says.token), api_base=says.api_base, catch_up=catch_up), around, menu)


def _help(command: Command) -> Mapping[Language, str]:
    return {"en": command.help("en"), "zh": command.help("zh")}


# Looks how the gateway is doing, and says what is new.


Tell = Callable[[str], None]

DISK = "disk"
"""The name under which it is listed, while it is in trouble."""

PROBE_EVERY = 10.0
"""Seconds after which is tried again whether the disk can be written, if it could not, or is nearly full."""


class GatewayMonitor:
    """State of the gateway for `/status`, `nanobot status` and `GET /health`; its changes, for its terminal."""

    def __init__(self, spool: Spool, clock: Clock, language: Language, tell: Tell) -> None:
        """`tell` takes a line for whoever started the gateway, in this language."""
        self._spool = spool
        self._clock = clock
        self._language: Language = language
        self._tell = tell
        self._told: dict[str, str] = {}
        self._started, self._began = clock.now(), clock.monotonic()
        self.posts: Sequence[ChannelRunner] = ()
        self.health: Supervisor | None = None
        self.disk_trouble: Callable[[], str] = str
        """Why messages wait for the disk, in a sentence; "" if they do not."""
        self.is_stopping = False
        self.once_up = ""
        """What is told as soon as people can write on some platform."""

    async def run(self) -> None:
        """Look after the disk until cancelled: what can be written again is found out without a message."""
        while True:
            await self._spool.probe()
            self.changed()
            await self._clock.sleep(PROBE_EVERY)

    async def look(self, apart_from: str = "") -> GatewayState:
        """Return the state of the gateway, as LookAtGateway does; without the backlog where the disk cannot be read."""
        if self._spool.trouble:
            await self._spool.probe()
            self.changed()
        try:
            backlog = await self._spool.backlog(apart_from)
        except StoreError:  # seen by the spool itself
            backlog = Backlog(waiting_in=0, being_answered=0, waiting_out={}, oldest=0.0, troubles=())
        return GatewayState(
            version=__version__,
            pid=os.getpid(),
            started=self._started,
            uptime=self._clock.monotonic() - self._began,
            is_stopping=self.is_stopping,
            channels=self._channels(),
            backlog=backlog,
        )

    def changed(self) -> None:
        """Something may be different; what is, is told."""
        if self.is_stopping:  # that nothing is connected any more is no news then
            return
        states = self._channels()
        for state in states:
            self._tell_new(state.name, channel_line(state, self._language))
        if DISK in self._told and not any(state.name == DISK for state in states):
            self._tell_new(DISK, say("gateway.disk_well", self._language))
        if self.once_up and any(state.state == "up" for state in states):
            self._tell_new("once_up", self.once_up)
        if self.posts and all(post.state().state == "refused" for post in self.posts):
            self._tell_new("posts", say("gateway.none_left", self._language))

    def _tell_new(self, about: str, line: str) -> None:
        if self._told.get(about) != line:
            self._told[about] = line
            self._tell(line)

    def _channels(self) -> Sequence[ChannelState]:
        """The channels; the disk, and what serves GET /health, only if something is wrong with them."""
        states = [post.state() for post in self.posts]
        if disk := self._spool.trouble:
            state = ChannelState(name=DISK, state="trouble", trouble=disk.kind, since=disk.since, refused=disk.refused)
            states.append(state)
        elif trouble := self.disk_trouble():
            states.append(ChannelState(name=DISK, state="trouble", trouble=trouble.rstrip(".")))
        if self.health and self.health.is_pausing:
            states.append(ChannelState(name="health", state="trouble", trouble=self.health.trouble.rstrip(".")))
        return states
