"""The platform port of delivery: what it needs of a chat platform, and how a platform says that it failed."""

import re
import socket
import ssl
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from nanobot.errors import NanobotError
from nanobot.messages import Address, Attachment, Button, OutboundMessage
from nanobot.ports.gateway import Gap, Obstacle


class RefusedTokenError(NanobotError):
    """The platform does not know the bot's token: no use in trying again before the configuration changes."""


NOT_YET = "not connected yet"
"""The trouble of a channel that has only just begun."""


@dataclass(frozen=True, slots=True)
class PlatformStatus:
    """Health of a platform connection.

    `bot` is the bot's name there ("@name"), once it is known; `since` the time from which it has been connected,
    None while it is not; `trouble` says what keeps it from hearing, as an Obstacle (ports/gateway.py) or in a
    sentence, "" if nothing does; `waiting` counts the messages that were received and wait for a file, or behind one;
    `next_try` is when the connection is tried again, where that is known; `gaps` are what was said while the bot was
    away and not read.
    """

    bot: str = ""
    since: datetime | None = None
    trouble: str = ""
    waiting: int = 0
    next_try: datetime | None = None
    gaps: Sequence[Gap] = ()


class DeliveryError(NanobotError):
    """The platform did not take a request. The text says why, for a person, without secrets."""


class FloodError(DeliveryError):
    """Too much at once: no request at all to this chat (or, if `everywhere`, of this bot) for `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: float, everywhere: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.everywhere = everywhere


class UnreachableError(DeliveryError):
    """Error that may go away: network, server errors.

    `may_have_arrived`: the request had been sent when the connection broke or the server failed.
    """

    def __init__(self, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(message)
        self.may_have_arrived = may_have_arrived


class GoneError(DeliveryError):
    """Error that will stay: the person blocked the bot, the chat is gone, the bot may not write there."""


class RejectedError(DeliveryError):
    """This request is wrong in itself (a bug, or a file that is too big): others to the same chat will work."""


class LostPreviewError(DeliveryError):
    """The message to be edited does not exist any more, or may not be edited."""


@dataclass(frozen=True, slots=True)
class MessagePart:
    """One platform message of several that together say an OutboundMessage.

    `body` is what the platform's own renderer made (text with entities, or plain text): delivery compares it and
    hands it back, and knows nothing of it. A part is text, or one file.
    """

    body: object = None
    file: Attachment | None = None
    buttons: Sequence[Button] = ()


class Platform(Protocol):
    """A chat platform, as delivery uses it. No retries, no waiting inside: each method makes one request."""

    @property
    def name(self) -> str:
        """The channel's name, as in Address.channel."""
        ...

    @property
    def can_find(self) -> bool:
        """True if `find` can tell if an uncertain part has arrived."""
        ...

    def parts(self, message: OutboundMessage, *, repeat: bool = False) -> Sequence[MessagePart]:
        """Return the parts to send, in order: the same for the same message, so that a retry can go on in the middle.

        With `repeat`, each part of text begins with the small mark that says that it may have been sent before;
        it is cut in the same places, so that any one part can be taken from here. At least one part; an
        empty text gives the sentence that says so. The first part may be a reply to `message.reply_to`.
        """
        ...

    def simpler(self, part: MessagePart) -> MessagePart | None:
        """The words of a part of text with less that a platform may object to: formatting first, then buttons.

        None if nothing is left that could be taken away.
        """
        ...

    def preview(self, text: str) -> Sequence[MessagePart]:
        """Return the preview of a growing text; a longer one rolls over into further parts."""
        ...

    async def send(self, message: OutboundMessage, part: MessagePart, number: int) -> str:
        """Make part `number` (from 0) of a message visible, at its address; its id on the platform.

        Raises a DeliveryError. What was replied to being gone is no error: it is sent without the reply.
        A topic that is gone: it is sent to the chat, once.
        """
        ...

    async def send_preview(
        self, address: Address, turn: str, part: MessagePart, name: str, *, reply_to: str | None = None
    ) -> str:
        """Make a preview of a turn visible; its id. No two have the same `name`, not in different processes either.

        Raises a DeliveryError. `reply_to` as in `send`.
        """
        ...

    async def edit(self, address: Address, platform_id: str, part: MessagePart) -> None:
        """Replace what a message shows. "Not modified" is fine. Raises a DeliveryError."""
        ...

    async def delete(self, address: Address, platform_id: str) -> None:
        """Remove a preview that the final answer does not need. Raises a DeliveryError.

        One that is gone already is no error; one that may not be removed is a LostPreviewError.
        """
        ...

    async def settle(self, message: OutboundMessage, platform_id: str) -> None:
        """Take away the buttons of the question that a message settles, and show its text in their place.

        Raises a DeliveryError; a question that is gone is a LostPreviewError.
        """
        ...

    async def typing(self, address: Address) -> None:
        """Show for some seconds that the bot is at work. Raises a DeliveryError."""
        ...

    async def find(
        self, message: OutboundMessage, part: MessagePart, number: int, *, known: Collection[str] = ()
    ) -> str | None:
        """The platform's id of a part if it has arrived, looked up in the chat. Only if `can_find`.

        Where no part is found, that of a preview of `message.turn`, if there is a turn. Ids that are `known` are
        not meant.
        """
        ...


# Obstacles.


_NO_NETWORK = re.compile(
    r"name or service not known|name resolution|getaddrinfo|nodename nor servname|cannot resolve|dns"
    r"|network is (?:unreachable|down)|no route to host",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"refused|connect call failed", re.IGNORECASE)
_SERVER = re.compile(
    r"\b5\d\d\b|bad gateway|internal server error|service unavailable|gateway time-?out", re.IGNORECASE
)


def obstacle_of(error: BaseException) -> Obstacle:
    """The word for what went wrong, looked up in the error and in all that caused it."""
    chain = list(_chain(error, set()))
    said = [str(each) for each in chain]
    if any(isinstance(each, ssl.SSLError) for each in chain):
        return "tls"
    if any(isinstance(each, socket.gaierror) for each in chain) or any(map(_NO_NETWORK.search, said)):
        return "network"
    if any(isinstance(each, ConnectionRefusedError) for each in chain) or any(map(_REFUSED.search, said)):
        return "refused"
    if any(isinstance(each, TimeoutError) or "Timeout" in type(each).__name__ for each in chain):
        return "timeout"
    return "server" if any(map(_SERVER.search, said)) else "broken"


def _chain(error: BaseException | None, met: set[int]) -> Iterator[BaseException]:
    """The error and its causes, those that aiohttp keeps to itself included."""
    if error is None or id(error) in met:
        return
    met.add(id(error))
    yield error
    inner = list(error.exceptions) if isinstance(error, BaseExceptionGroup) else []
    of_aiohttp = getattr(error, "os_error", None)
    for cause in (*inner, of_aiohttp, error.__cause__, error.__context__):
        if isinstance(cause, BaseException):
            yield from _chain(cause, met)
