"""One chat platform in the gateway."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from nanobot.channels.delivery.deliverer import Deliverer, DeliveryStatus
from nanobot.channels.platform import NOT_YET, Platform, PlatformStatus, RefusedTokenError
from nanobot.ops.supervisor import Supervisor
from nanobot.ports import Clock, Publish
from nanobot.ports.gateway import OBSTACLES, ChannelState, Flow, State


class ChatChannel(Platform, Protocol):
    """A platform on which people talk with the bot."""

    async def listen(self, publish: Publish) -> None:
        """Publish what people say until cancelled. Raises RefusedTokenError, and others after which to try again."""
        ...

    def status(self) -> PlatformStatus:
        """How it is going with listening."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class Post:
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
        """How it is doing; both halves count."""
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
    """How deliveries go, told by the hands of the clock."""
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
