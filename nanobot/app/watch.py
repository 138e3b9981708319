"""Looks how the gateway is doing, and says what is new."""

import os
from collections.abc import Callable, Sequence

from nanobot import __version__
from nanobot.app.post import Post
from nanobot.bus.spool import Spool
from nanobot.commands.gateway import channel_line
from nanobot.errors import StoreError
from nanobot.i18n import Language, say
from nanobot.ops.supervisor import Supervisor
from nanobot.ports import Backlog, Clock
from nanobot.ports.gateway import ChannelState, GatewayState

Tell = Callable[[str], None]

DISK = "disk"
"""The name under which it is listed, while it is in trouble."""

PROBE_EVERY = 10.0
"""Seconds after which is tried again whether the disk can be written, if it could not, or is nearly full."""


class Watch:
    """What is asked by `/status`, `nanobot status` and `GET /health`, and what the gateway prints as it changes."""

    def __init__(self, spool: Spool, clock: Clock, language: Language, tell: Tell) -> None:
        """`tell` takes a line for whoever started the gateway, in this language."""
        self._spool = spool
        self._clock = clock
        self._language: Language = language
        self._tell = tell
        self._told: dict[str, str] = {}
        self._started, self._began = clock.now(), clock.monotonic()
        self.posts: Sequence[Post] = ()
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
        """How it is going, as LookAtGateway has it; where the disk cannot be read, without what waits."""
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
