"""Looks how the gateway is doing, and says what is new."""

import os
from collections.abc import Callable, Sequence

from nanobot import __version__
from nanobot.app.post import Post
from nanobot.bus.spool import Spool
from nanobot.commands.gateway import channel_line
from nanobot.i18n import Language, say
from nanobot.ops.supervisor import Supervisor
from nanobot.ports import Clock
from nanobot.ports.gateway import ChannelState, GatewayState

Tell = Callable[[str], None]


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

    async def look(self, apart_from: str = "") -> GatewayState:
        """How it is going, as LookAtGateway has it. Raises StoreError."""
        return GatewayState(
            version=__version__,
            pid=os.getpid(),
            started=self._started,
            uptime=self._clock.monotonic() - self._began,
            is_stopping=self.is_stopping,
            channels=self._channels(),
            backlog=await self._spool.backlog(apart_from),
        )

    def changed(self) -> None:
        """Something may be different; what is, is told."""
        if self.is_stopping:  # that nothing is connected any more is no news then
            return
        states = self._channels()
        for state in states:
            self._tell_new(state.name, channel_line(state, self._language))
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
        if trouble := self.disk_trouble():
            states.append(ChannelState(name="disk", state="trouble", trouble=trouble.rstrip(".")))
        if self.health and self.health.is_pausing:
            states.append(ChannelState(name="health", state="trouble", trouble=self.health.trouble.rstrip(".")))
        return states
