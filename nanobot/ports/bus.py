"""The bus port: where people talk, and what carries messages in and out."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Literal, Protocol, Self, TypeGuard

from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress

Publish = Callable[[InboundMessage], Awaitable[None]]


class Channel(Protocol):
    """A place where people talk to the bot."""

    @property
    def name(self) -> str: ...

    async def listen(self, publish: Publish) -> None:
        """Publish what people say until cancelled."""
        ...

    async def send(self, message: OutboundMessage) -> None:
        """Show a message; returns when it has arrived."""
        ...

    async def show(self, progress: Progress) -> None:
        """Show what a running turn is doing; may do nothing."""
        ...


class Bus(Protocol):
    """Carries what people say to the dispatcher, and what the bot says to its channel."""

    @property
    def is_durable(self) -> bool:
        """True if what is not finished when the process ends is received again at the next start."""
        ...

    async def publish(self, message: InboundMessage) -> None:
        """Take a message in. When this returns it will be answered, unless it came before (same id)."""
        ...

    async def receive(self) -> InboundMessage:
        """The next message to deal with, in the order of arrival. After a restart the unfinished ones come again."""
        ...

    async def begin(self, message: InboundMessage) -> int:
        """Its turn begins, and is at work; returns how often it had begun before, in processes that died in it.

        A message whose turns keep dying with the process is set aside at a next start.
        """
        ...

    async def rest(self, session: str) -> None:
        """Mark a begun message as waiting: a crash meanwhile is none of its doing."""
        ...

    async def resume(self, session: str) -> None:
        """Mark a waiting message as at work again."""
        ...

    def is_suspect(self, message: InboundMessage) -> bool:
        """True if it may be what killed processes before this one: nothing is to be at work beside it."""
        ...

    async def finish(self, done: Sequence[InboundMessage], answer: OutboundMessage | None) -> None:
        """These messages are dealt with; the answer, if any, is on its way. Both or neither."""
        ...

    async def send(self, message: OutboundMessage) -> None:
        """Put a message on its way that no inbound message waits for; one with a known id is not sent again."""
        ...

    def is_underway(self, message_id: str) -> bool:
        """True if a message that was sent has not been shown yet, or not all of it."""
        ...

    def show(self, progress: Progress) -> None:
        """Tell a channel how a turn is going; never waits, and is lost at a crash."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message on its way out, and how far it got.

    `parts` are the platform's ids of the parts that have arrived, in order; `previews` those of the messages in
    which this turn's answer was shown growing. `is_uncertain`: a request was made and its outcome is not known,
    so the next part, or a preview, may have arrived. `attempts` counts the tries that failed. `place` is the
    platform's id of the question that the message settles, "" if that has never arrived.
    """

    message: OutboundMessage
    parts: Sequence[str] = ()
    previews: Sequence[str] = ()
    is_uncertain: bool = False
    attempts: int = 0
    place: str = ""


class Outbox(Protocol):
    """Outbox on disk, the side of the Bus that channels deliver from.

    Everything that is awaited here is durable when it returns.
    """

    async def outgoing(self, channel: str) -> Delivery | Progress:
        """The next thing to deliver on a channel: in order within an address, addresses side by side.

        A Delivery is not followed by another of its address until it was `delivered`, `failed` or `postponed`;
        a postponed one comes again when its time has come, before what was said after it.
        """
        ...

    def take_back(self, channel: str) -> None:
        """Whoever took what was outgoing is gone: hand out again what is not settled. For whoever comes next."""
        ...

    async def attempting(self, message_id: str) -> None:
        """A request that makes the next part of a message visible is about to be made."""
        ...

    async def arrived(self, message_id: str, platform_id: str) -> None:
        """The next part has arrived, under this id."""
        ...

    async def previewing(self, turn: str, address: Address) -> None:
        """A request that makes a (next) preview of a turn's answer visible is about to be made."""
        ...

    async def previewed(self, turn: str, platform_id: str | None) -> None:
        """The preview has arrived, under this id; None: it has certainly not arrived."""
        ...

    async def kept(self, turn: str, platform_ids: Collection[str]) -> None:
        """These previews show something finished, and stay whatever becomes of the turn."""
        ...

    async def delivered(self, message_id: str) -> None:
        """All of it has arrived."""
        ...

    async def failed(self, message_id: str, reason: str) -> None:
        """Mark a message as undeliverable for good; the reason is shown to the owner in /status."""
        ...

    async def postponed(self, message_id: str, seconds: float, reason: str, *, may_have_arrived: bool = False) -> None:
        """Postpone a delivery that failed until this time. Outlives a restart.

        `may_have_arrived`: whether the next part arrived is not known, so it stays uncertain; otherwise it
        has certainly not arrived.
        """
        ...


class Bookmarks(Protocol):
    """Small facts that a channel must not lose: how far it has read, what a chat is called now."""

    async def mark(self, key: str, value: str) -> None:
        """Remember, durably. An empty value forgets."""
        ...

    async def marks(self, prefix: str) -> Mapping[str, str]:
        """All whose key begins with the prefix."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something for the owner to know: what could not be delivered, or not be answered. It holds no text of it.

    kind           id is that of
    undeliverable  an OutboundMessage; the platform said why
    set_aside      an InboundMessage: the process kept dying while it was answered
    damaged        nothing, it is the name of the file that was set aside
    """

    kind: Literal["undeliverable", "set_aside", "damaged"]
    id: str
    at: datetime
    reason: str
    address: Address | None = None


DiskObstacle = Literal["disk_full", "disk_read_only", "disk_denied", "disk_busy", "disk_error"]


@dataclass(frozen=True, slots=True)
class DiskTrouble:
    """The disk takes nothing of a durable bus since that time; so many messages were refused to their platforms."""

    kind: DiskObstacle
    since: datetime
    refused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Backlog of a durable bus: numbers of messages, and the age of the oldest in seconds (or 0).

    `waiting_out` is by channel. `troubles` are listed until acknowledged, 30 days at most.
    """

    waiting_in: int
    being_answered: int
    waiting_out: Mapping[str, int]
    oldest: float
    troubles: Sequence[Alert]


IsMeant = Callable[[InboundMessage | OutboundMessage | Alert], bool]
"""Tells if something on the bus is meant, such as to be erased. Called in another thread."""


class DurableBus(Bus, Outbox, Bookmarks, Protocol):
    """Bus that keeps everything on disk: all that a gateway uses of it. It is open as a context manager."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def set_aside(self) -> Sequence[InboundMessage]:
        """Return the messages that took the process down too often, and of which nobody has heard yet.

        `finish` them, with what there is to tell the person.
        """
        ...

    async def unanswered(self, address: Address) -> Collection[str]:
        """Return the ids of messages from an address that are not dealt with."""
        ...

    async def quiet(self, channel: str, counts: Callable[[Address], bool] = ...) -> None:
        """Wait until everything that can be delivered on a channel, to addresses that count, has been."""
        ...

    async def unsettled(self) -> Sequence[tuple[str, Address]]:
        """Return the ids of questions of an earlier process whose buttons are still shown."""
        ...

    @property
    def left_over(self) -> Sequence[tuple[str, Address]]:
        """Turns whose previews an earlier process left; a message of such a turn that `clears` ends them."""
        ...

    @property
    def trouble(self) -> DiskTrouble | None:
        """Obstacle to writing; None if there is none."""
        ...

    async def probe(self) -> None:
        """Try whether a message could be written, where that failed before or the disk looks full."""
        ...

    async def backlog(self, apart_from: str = "") -> Backlog:
        """Return the backlog, without the message of this id."""
        ...

    async def drop(self, name: str, message_id: str) -> None:
        """Take a bookmark away, and the message that it stands for in advance: should it come, it came before."""
        ...

    async def acknowledge(self, ids: Collection[str]) -> None:
        """Take the troubles with these ids off the list: the owner has seen them."""
        ...

    async def count(self, is_meant: IsMeant) -> int:
        """Return the number of matching messages and alerts."""
        ...

    async def erase(self, is_meant: IsMeant, sessions: Collection[str] = ()) -> int:
        """Erase the matching messages and alerts, and every trace of them; return their number.

        Of `sessions` not even the keys stay.
        """
        ...


def is_durable(bus: Bus) -> TypeGuard[DurableBus]:
    """True if a bus keeps everything on disk."""
    return bus.is_durable
