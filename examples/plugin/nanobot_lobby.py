"""A channel for nanobot from a package of its own: a small chat server that speaks JSON over HTTP.

GET  {server}/me                  {"username": …}
GET  {server}/messages?after=ID   [{"id": 1, "room": "7", "private": false, "sender": "42", "name": …, "text": …}]
POST {server}/messages            {"room": "7", "text": …} -> {"id": 2}
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx

from nanobot.channels.access import Contact, Meant
from nanobot.channels.delivery.rate_limit import Pace, Rate
from nanobot.channels.platform import (
    NOT_YET,
    GoneError,
    MessagePart,
    PlatformStatus,
    RefusedTokenError,
    UnreachableError,
    obstacle_of,
)
from nanobot.channels.registry import ChannelServices, ChannelSettings, ChannelType
from nanobot.errors import ConfigError
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.ports import Publish
from nanobot.ports.gateway import BotAccount

NAME = "lobby"
LONGEST = 2000
READ = f"{NAME}:read"


@dataclass(frozen=True, slots=True, kw_only=True)
class LobbySettings(ChannelSettings):
    """The keys under plugins.lobby, beside owners, members, groups, store_all, bots and streaming."""

    token: str = field(repr=False)
    server: str
    every: float = 1.0
    streaming: bool = False

    def __post_init__(self) -> None:
        if self.every <= 0:
            raise ConfigError("every must be more than 0")


class LobbyChannel:
    """Asks the server for news, and sends answers there."""

    name = NAME
    can_find = False

    def __init__(self, settings: LobbySettings, services: ChannelServices) -> None:
        self._settings = settings
        self._services = services
        self._http = httpx.AsyncClient(base_url=settings.server, headers=_authorization(settings), timeout=10)
        self._bot = ""
        self._since: datetime | None = None
        self._trouble = NOT_YET

    async def listen(self, publish: Publish) -> None:
        try:
            me = await self._request("GET", "/me")
            self._bot, self._since, self._trouble = f"@{me['username']}", self._services.clock.now(), ""
            self._services.changed()
            while True:
                read = (await self._services.bookmarks.marks(READ)).get(READ, "0")
                for message in await self._request("GET", "/messages", params={"after": read}):
                    await self._publish(message, publish)
                    await self._services.bookmarks.mark(READ, str(message["id"]))  # behind `publish`: none is lost
                await self._services.clock.sleep(self._settings.every)
        except (RefusedTokenError, UnreachableError) as error:
            self._trouble = "token" if isinstance(error, RefusedTokenError) else obstacle_of(error)
            raise
        finally:
            self._since = None

    async def _publish(self, message: dict[str, str], publish: Publish) -> None:
        room, text = message["room"], message["text"]
        contact = Contact(
            id=f"{NAME}:{room}:{message['id']}",
            address=Address(NAME, room),
            sender=Sender(message["sender"], message["name"]),
            groups=() if message["private"] else (room,),
            meant=self._meant(text),
            text=text,
        )
        admission = await self._services.access.admit(contact)
        if admission is None:  # nothing of a stranger is kept
            return
        inbound = InboundMessage(
            id=contact.id,
            address=contact.address,
            sender=contact.sender,
            authority=admission.authority,
            text=text,
            to_bot=admission.to_bot,
        )
        await publish(inbound)

    def _meant(self, text: str) -> Meant:
        return "command" if text.startswith("/") else "mention" if self._bot in text else "none"

    def status(self) -> PlatformStatus:
        return PlatformStatus(self._bot, self._since, self._trouble)

    async def aclose(self) -> None:
        await self._http.aclose()

    def parts(self, message: OutboundMessage, *, repeat: bool = False) -> Sequence[MessagePart]:
        mark = "(again) " if repeat else ""
        starts = range(0, max(1, len(message.text)), LONGEST)
        return [MessagePart(mark + (message.text[start : start + LONGEST] or "…")) for start in starts]

    def preview(self, text: str) -> Sequence[MessagePart]:
        return []  # this server shows nothing that still grows

    def simpler(self, part: MessagePart) -> MessagePart | None:
        return None

    async def send(self, message: OutboundMessage, part: MessagePart, number: int) -> str:
        sent = await self._request("POST", "/messages", json={"room": message.address.chat, "text": part.body})
        return str(sent["id"])

    async def send_preview(
        self, address: Address, turn: str, part: MessagePart, name: str, *, reply_to: str | None = None
    ) -> str:
        raise GoneError("there are no previews here")

    async def edit(self, address: Address, platform_id: str, part: MessagePart) -> None: ...

    async def delete(self, address: Address, platform_id: str) -> None: ...

    async def settle(self, message: OutboundMessage, platform_id: str) -> None: ...

    async def typing(self, address: Address) -> None: ...

    async def find(
        self, message: OutboundMessage, part: MessagePart, number: int, *, known: Collection[str] = ()
    ) -> str | None:
        return None

    async def _request(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, json: object = None
    ) -> Any:
        try:
            answer = await self._http.request(method, path, params=params, json=json)
        except httpx.HTTPError as error:
            is_sent = not isinstance(error, httpx.ConnectError)
            raise UnreachableError(f"the server cannot be reached: {error}", may_have_arrived=is_sent) from error
        if answer.status_code == 401:
            raise RefusedTokenError("the server does not know this token")
        if answer.status_code in (403, 404):
            raise GoneError("the room is gone")
        if answer.is_error:
            raise UnreachableError(f"the server answers with {answer.status_code}", may_have_arrived=True)
        return answer.json()


def _authorization(settings: LobbySettings) -> dict[str, str]:
    return {"Authorization": f"Bearer {settings.token}"}


CHANNEL = ChannelType(
    name=NAME,
    title="Lobby",
    settings=LobbySettings,
    build=LobbyChannel,
    pace=Pace(chat=(Rate(5, 5.0),), bot=(Rate(20, 1.0),), every=1.0),
    account=lambda settings: BotAccount(
        name=NAME, base=settings.server, url=f"{settings.server}/me", headers=_authorization(settings)
    ),
)
