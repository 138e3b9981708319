"""What the bot says on Discord: fulfils the port Platform."""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, cast

from nanobot.channels.discord.buttons import MOST, Placed, components, outcome
from nanobot.channels.discord.failures import BadReferenceError, LostThreadError, TooLargeError
from nanobot.channels.discord.ids import BY_BOT, MessageId
from nanobot.channels.discord.rest import Rest
from nanobot.channels.discord.searching import arrived, nonce_of, nonce_of_preview
from nanobot.channels.discord.settings import NAME
from nanobot.channels.platform import LostPreviewError, Part
from nanobot.channels.text.discord import TEXT_LIMIT, discord_parts
from nanobot.errors import StoreError
from nanobot.i18n import Language, say
from nanobot.messages import Address, Attachment, OutboundMessage
from nanobot.ports import Bookmarks, Media

log = logging.getLogger(__name__)

_ROOM_FOR_MARK = 100
_SEARCHED = 100  # the most that one request gives
_NO_PINGS = {"allowed_mentions": {"parse": [], "replied_user": False}}


@dataclass(frozen=True, slots=True)
class Body:
    """What a message shows besides a file. One that is `unsaid` is not shown at all."""

    text: str
    buttons: tuple[Placed, ...] = ()
    unsaid: bool = False

    @property
    def payload(self) -> dict[str, object]:
        return {"content": self.text, "components": components(self.buttons), **_NO_PINGS}


@dataclass(frozen=True, slots=True)
class Desk:
    """What sending needs: `file_limit` says how many bytes a file may have in a channel, by its id."""

    media: Media
    bookmarks: Bookmarks
    language: Callable[[Address], Language]
    file_limit: Callable[[str], int]


class Sending:
    """One request for each thing to show; ids on the platform are `<channel>:<message>`."""

    name = NAME
    can_find = True

    def __init__(self, rest: Rest, desk: Desk) -> None:
        self._rest = rest
        self._desk = desk
        self._me = ""

    def parts(self, message: OutboundMessage, *, repeat: bool = False) -> Sequence[Part]:
        """See Platform. Buttons stand below the last text, those for which there is no room in it, to be typed.

        A notice to another bot is unsaid: it might answer.
        """
        if message.kind == "notice" and (said := MessageId.parse(message.reply_to)) and said.mark == BY_BOT:
            return [Part(Body(message.text, unsaid=True))]
        language = self._desk.language(message.address)
        typed = [f"- {button.label}: `{button.value}`" for button in message.buttons[MOST:]]
        whole = "\n".join([message.text, *typed])
        texts = list(discord_parts(whole, TEXT_LIMIT - _ROOM_FOR_MARK))
        if not texts and (not message.files or message.buttons):
            texts = [say("discord.empty", language)]
        if repeat:
            texts = [f"{say('discord.repeat', language)}\n{text}" for text in texts]
        shown = [Part(Body(text)) for text in texts]
        if message.buttons:
            buttons = message.buttons[:MOST]
            shown[-1] = Part(Body(texts[-1], tuple(Placed(message.id, button) for button in buttons)), buttons=buttons)
        return [*shown, *(Part(Body(""), file) for file in message.files)]

    def simpler(self, part: Part) -> Part | None:
        """See Platform. There is no text that Discord refuses for its formatting."""
        return Part(Body(_body(part).text)) if part.buttons else None

    def preview(self, text: str) -> Sequence[Part]:
        return [Part(Body(part)) for part in discord_parts(text, TEXT_LIMIT - _ROOM_FOR_MARK, growing=True)]

    async def send(self, message: OutboundMessage, part: Part, number: int) -> str:
        """See Platform. Of a file that is too big or gone, a sentence arrives that says so."""
        if _body(part).unsaid:
            log.info("%s: a notice to another bot is not said (%s)", message.address.session_key, message.id)
            return f"{_channel(message.address)}:0"
        more = _guarded(nonce_of(message.id, number))
        if number == 0:
            more |= _reference(message.address, message.reply_to)
        if part.file is None:
            return await self._post(message.address, part, more)
        excuse = self._excuse(message.address, part.file)
        try:
            return await self._post(message.address, excuse or part, more)
        except TooLargeError:
            excuse = Part(Body(self._too_big(message.address, part.file)))
            return await self._post(message.address, excuse, more)

    async def send_preview(
        self, address: Address, turn: str, part: Part, name: str, *, reply_to: str | None = None
    ) -> str:
        more = _guarded(nonce_of_preview(turn, name)) | _reference(address, reply_to)
        return await self._post(address, part, more)

    async def edit(self, address: Address, platform_id: str, part: Part) -> None:
        """See Platform. In a channel that is gone the message is gone, too."""
        body = _body(part)
        if body.unsaid:
            await self.delete(address, platform_id)
            return
        await self._keep(body)
        try:
            await self._rest.call("PATCH", _path(platform_id), body.payload)
        except LostThreadError as error:
            raise LostPreviewError(str(error)) from error

    async def delete(self, address: Address, platform_id: str) -> None:
        try:
            await self._rest.call("DELETE", _path(platform_id))
        except (LostPreviewError, LostThreadError):
            return

    async def settle(self, message: OutboundMessage, platform_id: str) -> None:
        try:
            body = {"components": outcome(message.text), **_NO_PINGS}
            await self._rest.call("PATCH", _path(platform_id), body)
        except LostThreadError as error:
            raise LostPreviewError(str(error)) from error

    async def typing(self, address: Address) -> None:
        await self._rest.call("POST", f"/channels/{_channel(address)}/typing")

    async def find(
        self, message: OutboundMessage, part: Part, number: int, *, known: Collection[str] = ()
    ) -> str | None:
        """See Platform. Looks at the newest hundred messages."""
        if not self._me:
            self._me = str((await self._rest.call("GET", "/users/@me"))["id"])
        channel = _channel(message.address)
        try:
            history = await self._rest.call("GET", f"/channels/{channel}/messages?limit={_SEARCHED}")
        except LostThreadError:
            return None
        ours = [said for said in history if said["author"]["id"] == self._me and f"{channel}:{said['id']}" not in known]
        found = arrived(ours, message, number, _body(part).text, part.file)
        return f"{channel}:{found}" if found else None

    async def _post(self, address: Address, part: Part, more: dict[str, Any]) -> str:
        """Where it was to be a reply, or in a thread, and cannot be: without, once."""
        await self._keep(_body(part))
        try:
            return await self._create(_channel(address), part, more)
        except BadReferenceError:
            return await self._create(_channel(address), part, _without_reference(more))
        except LostThreadError:
            if address.topic is None:
                raise
            return await self._create(address.chat, part, _without_reference(more))

    async def _create(self, channel: str, part: Part, more: dict[str, Any]) -> str:
        path, payload = f"/channels/{channel}/messages", _body(part).payload | more
        if part.file is None:
            said = await self._rest.call("POST", path, payload)
        else:
            said = await self._rest.upload(path, payload, self._desk.media.path(part.file), _name(part.file))
        return f"{channel}:{said['id']}"

    async def _keep(self, body: Body) -> None:
        for button in body.buttons:
            await button.keep(self._desk.bookmarks)

    def _excuse(self, address: Address, file: Attachment) -> Part | None:
        """What to show instead of a file that cannot be sent."""
        try:
            size = self._desk.media.path(file).stat().st_size
        except (OSError, StoreError):
            return Part(Body(say("discord.file_missing", self._desk.language(address), name=_name(file))))
        if size <= self._desk.file_limit(_channel(address)):
            return None
        return Part(Body(self._too_big(address, file)))

    def _too_big(self, address: Address, file: Attachment) -> str:
        size, most = self._desk.media.path(file).stat().st_size, self._desk.file_limit(_channel(address))
        sizes = {"size": f"{size / 2**20:.1f}", "most": f"{most / 2**20:.0f}"}
        return say("discord.file_too_big", self._desk.language(address), name=_name(file), path=file.path, **sizes)


def _body(part: Part) -> Body:
    return cast("Body", part.body)  # all parts were made here


def _channel(address: Address) -> str:
    """A thread is a channel, too."""
    return address.topic or address.chat


def _path(platform_id: str) -> str:
    channel, _, message = platform_id.partition(":")
    return f"/channels/{channel}/messages/{message}"


def _name(file: Attachment) -> str:
    return file.name or PurePath(file.path).name


def _reference(address: Address, reply_to: str | None) -> dict[str, Any]:
    """To what a message replies, if that stands in the same channel."""
    said = MessageId.parse(reply_to)
    if said is None or said.channel != _channel(address):
        return {}
    return {"message_reference": {"message_id": said.message, "fail_if_not_exists": False}}


def _without_reference(more: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in more.items() if key != "message_reference"}


def _guarded(nonce: str) -> dict[str, Any]:
    """Discord makes no second message with the same nonce for some minutes."""
    return {"nonce": nonce, "enforce_nonce": True}
