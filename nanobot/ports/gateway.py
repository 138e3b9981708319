"""State of the gateway, for whoever asks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, get_args

from nanobot.messages import Address, Sender
from nanobot.ports.bus import Backlog, DiskObstacle

State = Literal["starting", "up", "trouble", "refused"]
Obstacle = Literal[
    "network", "refused", "timeout", "server", "tls", "broken", "token", "conflict", "intents", "reconnecting"
]
OBSTACLES: Sequence[str] = (*get_args(Obstacle), *get_args(DiskObstacle))
"""What keeps a channel from its platform, and messages from the disk: words that each person reads as a sentence of
their language."""


GapReason = Literal["count", "age", "crowd", "requests", "threads", "forbidden"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Messages of a chat that came while the bot was away, and are not read.

    why        there is
    count      more that is for the bot than is read
    age        something for the bot that is too old
    crowd      too much that others said
    requests   too much to read in all chats together
    threads    more archived threads than are looked for
    forbidden  nothing that the bot may read

    `where` is a session key ("discord:123"), or "" for `chats` chats that were not even looked at.
    """

    where: str
    why: GapReason
    chats: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Obstacle to delivery at the moment.

    Until `silent_until` the platform wants to be left alone, everywhere or in some chats (`silent_chats`, 0 for
    everywhere; the longest of them counts). In `late_chats` the next message could not be delivered so far: in one
    of them since `late_since`, and `late_reason` is why.
    """

    silent_until: datetime | None = None
    silent_chats: int = 0
    late_chats: int = 0
    late_since: datetime | None = None
    late_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelState:
    """State of one channel.

    state     means
    starting  it has not connected yet
    up        it hears and speaks
    trouble   it does not, for the moment; it is tried again by itself
    refused   the platform does not know the token: nothing is tried before the next start

    `bot` is the bot's name there, once known, `how` the way in which it listens, `since` the time from which it
    has been up; `trouble` an Obstacle or a sentence without its dot, "" if all is well; `flow` is how it goes with
    what is to be delivered. Of the disk, `since` is the time from which it has been in trouble, and `refused` counts
    the messages that it did not take. Of a platform, `waiting` counts those that wait for a file that somebody sent,
    `next_try` is when it is tried again, where that is known, and `gaps` are what it did not read after a pause, since
    the process runs.
    """

    name: str
    state: State
    how: str = ""
    bot: str = ""
    since: datetime | None = None
    trouble: str = ""
    flow: Flow = Flow()
    refused: int = 0
    waiting: int = 0
    next_try: datetime | None = None
    gaps: Sequence[Gap] = ()

    @property
    def is_red(self) -> bool:
        return self.state in ("trouble", "refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayState:
    """State of the gateway. `uptime` is in seconds."""

    version: str
    pid: int
    started: datetime
    uptime: float
    is_stopping: bool
    channels: Sequence[ChannelState]
    backlog: Backlog


@dataclass(frozen=True, slots=True, kw_only=True)
class BotAccount:
    """The request that asks a platform who the bot is; `nanobot doctor` makes it.

    `name` is the channel's, `base` the address that is shown. `url`, `headers` and `proxy` may hold the token: none
    is shown. The answer is JSON with the bot's `username`, at the top or in `result`. A status among `refusals` means
    that the token is wrong, which the sentence `refused` (a key of the catalogue) says.
    """

    name: str
    base: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    proxy: str | None = field(default=None, repr=False)
    reads_environment: bool = False
    """True if the bot itself goes by the proxies of the environment there."""
    refusals: Collection[int] = (401,)
    refused: str = "doctor.platform_token"


@dataclass(frozen=True, slots=True)
class HeldMessage:
    """A message that a channel keeps and that is not on the bus yet: its id there, who said it and where."""

    inbound: str
    address: Address
    sender: Sender
    is_alone: bool


class LookAtGateway(Protocol):
    """Looks how it is doing."""

    async def __call__(self, apart_from: str = "") -> GatewayState:
        """`apart_from` is the id of the message that asks: it is not counted among those that wait."""
        ...
