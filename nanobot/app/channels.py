"""The chat platforms in the gateway: built-in and plug-in ones, each kept running and watched."""

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from nanobot import __version__
from nanobot.app.plugins import ConfiguredChannel
from nanobot.channels.delivery.deliverer import Deliverer, DeliveryStatus
from nanobot.channels.platform import NOT_YET, PlatformStatus, RefusedTokenError
from nanobot.channels.registry import ChannelServices, ChatChannel, MenuCommand
from nanobot.commands.admin import channel_line
from nanobot.config import Config, known
from nanobot.core.commands import Command
from nanobot.errors import StoreError
from nanobot.i18n import LANGUAGES, Language, say
from nanobot.models.endpoint import Endpoint, EndpointTranscriber
from nanobot.ops.supervisor import Supervisor
from nanobot.ports import Backlog, Clock, DurableBus, Publish
from nanobot.ports.gateway import OBSTACLES, ChannelState, Flow, GatewayState, State


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


def build_runners(
    channels: Sequence[ConfiguredChannel], services: ChannelServices, spool: DurableBus
) -> Sequence[ChannelRunner]:
    """Build each channel that is configured. Raises ConfigError."""
    return [_build_runner(channel, services, spool) for channel in channels]


def _build_runner(configured: ConfiguredChannel, services: ChannelServices, spool: DurableBus) -> ChannelRunner:
    settings, pace = configured.settings(), configured.type.pace
    channel = configured.build(services)
    deliverer = Deliverer(
        spool, channel, services.clock, pace=pace, streaming=settings.streaming, language=services.language
    )
    how = configured.type.mode(settings)
    return ChannelRunner(channel, deliverer, spool.publish, services.clock, how=how, changed=services.changed)


def menu_of(commands: Sequence[Command]) -> Sequence[MenuCommand]:
    """The commands for the menus of platforms: all that are not for terminals only."""
    return [
        MenuCommand(command.name, {language: command.help(language) for language in LANGUAGES})
        for command in commands
        if not command.in_terminal_only
    ]


def build_transcriber(config: Config, clock: Clock) -> EndpointTranscriber | None:
    """Build the client that turns speech into text; None if none is configured."""
    says = config.transcription
    if says is None:
        return None
    return EndpointTranscriber(says.model, Endpoint(base_url=says.base_url, api_key=known(says.api_key)), clock)


# The monitor.


Tell = Callable[[str], None]

DISK = "disk"
"""The name under which it is listed, while it is in trouble."""

PROBE_EVERY = 10.0
"""Seconds after which is tried again whether the disk can be written, if it could not, or is nearly full."""


class GatewayMonitor:
    """State of the gateway for `/status`, `nanobot status` and `GET /health`; its changes, for its terminal."""

    def __init__(self, spool: DurableBus, clock: Clock, language: Language, tell: Tell) -> None:
        """`tell` takes a line for whoever started the gateway, in this language."""
        self._spool = spool
        self._clock = clock
        self._language: Language = language
        self._tell = tell
        self._told: dict[str, str] = {}
        self._started, self._began = clock.now(), clock.monotonic()
        self.runners: Sequence[ChannelRunner] = ()
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
        if self.runners and all(runner.state().state == "refused" for runner in self.runners):
            self._tell_new("runners", say("gateway.none_left", self._language))

    def _tell_new(self, about: str, line: str) -> None:
        if self._told.get(about) != line:
            self._told[about] = line
            self._tell(line)

    def _channels(self) -> Sequence[ChannelState]:
        """The channels; the disk, and what serves GET /health, only if something is wrong with them."""
        states = [runner.state() for runner in self.runners]
        if disk := self._spool.trouble:
            state = ChannelState(name=DISK, state="trouble", trouble=disk.kind, since=disk.since, refused=disk.refused)
            states.append(state)
        elif trouble := self.disk_trouble():
            states.append(ChannelState(name=DISK, state="trouble", trouble=trouble.rstrip(".")))
        if self.health and self.health.is_pausing:
            states.append(ChannelState(name="health", state="trouble", trouble=self.health.trouble.rstrip(".")))
        return states
