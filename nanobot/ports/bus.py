"""Where people talk, and what carries it to the bot and back."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from nanobot.messages import InboundMessage, OutboundMessage, Progress

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

    async def publish(self, message: InboundMessage) -> None:
        """Take a message in. When this returns it will be answered, unless it came before (same id)."""
        ...

    async def receive(self) -> InboundMessage:
        """The next message to deal with."""
        ...

    async def finish(self, done: Sequence[InboundMessage], answer: OutboundMessage | None) -> None:
        """These messages are dealt with; the answer, if any, is on its way. Both or neither."""
        ...

    async def send(self, message: OutboundMessage) -> None:
        """Put a message on its way that no inbound message waits for."""
        ...

    def show(self, progress: Progress) -> None:
        """Tell a channel how a turn is going; never waits, and is lost at a crash."""
        ...

    async def outgoing(self) -> OutboundMessage | Progress:
        """The next thing to deliver, in order within a chat."""
        ...
