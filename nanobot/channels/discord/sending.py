"""Outbound messages on Discord, and recognising our own messages in a channel's history."""

import base64
import hashlib
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, cast

from nanobot.channels.discord.interactions import MOST, Placed, components, outcome
from nanobot.channels.discord.markdown import TEXT_LIMIT, discord_parts
from nanobot.channels.discord.rest import BadReferenceError, DiscordThreadLostError, DiscordTooLargeError, Rest
from nanobot.channels.discord.settings import BY_BOT, NAME, MessageId
from nanobot.channels.platform import LostPreviewError, MessagePart
from nanobot.errors import StoreError
from nanobot.i18n import Language, say
from nanobot.messages import Address, Attachment, OutboundMessage
from nanobot.ports import Bookmarks, Media

# Our own messages.


_LONGEST_NONCE = 25
_OF_TURN = 13
"""So many characters of a preview's nonce are its turn's: whichever process made it, it is recognized by them."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_OURS = re.compile(f"[{_ALPHABET}]{{26}}")
_DISCORD_EPOCH = 1_420_070_400_000  # milliseconds; an id is the time since then, and 22 other bits
_CLOCKS_DIFFER = 60_000


def nonce_of(message: str, number: int) -> str:
    """Of a part of an outbound message: the same at each attempt."""
    return _nonce(f"part\n{message}\n{number}")


def nonce_of_preview(turn: str, name: str) -> str:
    """Of a preview of a turn: another one for each name."""
    return _nonce(f"preview\n{turn}")[:_OF_TURN] + _nonce(name)[_OF_TURN:]


def _nonce(what: str) -> str:
    digest = hashlib.sha256(what.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(digest).decode()[:_LONGEST_NONCE]


def arrived(
    ours: Sequence[Mapping[str, Any]], message: OutboundMessage, number: int, text: str, file: Attachment | None
) -> str | None:
    """The id of a part among our own messages, the newest first; that of a preview where there is none.

    Discord gives a nonce back only for a while. Then it is the content that tells, of what came after the
    message was made: the same words may have been said before, too.
    """
    later = [said for said in ours if int(said["id"]) > _made(message)]
    exact = _with_nonce(ours, nonce_of(message.id, number))
    if exact or file is not None:
        return exact or _with_file(later, file)
    same = next((str(said["id"]) for said in later if said["content"] == text.strip()), None)
    if same or message.turn is None:
        return same
    preview = _with_nonce(ours, nonce_of_preview(message.turn, "")[:_OF_TURN])
    return preview or (_growing(later, text, message.reply_to) if number == 0 else None)


def _with_nonce(ours: Iterable[Mapping[str, Any]], begins: str) -> str | None:
    return next((str(said["id"]) for said in ours if str(said.get("nonce")).startswith(begins)), None)


def _with_file(later: Iterable[Mapping[str, Any]], file: Attachment | None) -> str | None:
    name = file.name or file.path.rpartition("/")[2] if file else ""
    for said in later:
        if [attachment["filename"] for attachment in said["attachments"]] == [name]:
            return str(said["id"])
    return None


def _growing(later: Iterable[Mapping[str, Any]], text: str, reply_to: str | None) -> str | None:
    """A preview replies to nothing else than the answer does, and shows how the text begins."""
    asked = MessageId.parse(reply_to)
    for said in later:
        begun, replied = said["content"].rstrip("`\n "), (said.get("message_reference") or {}).get("message_id")
        if begun and text.startswith(begun) and (not replied or (asked and str(replied) == asked.message)):
            return str(said["id"])
    return None


def _made(message: OutboundMessage) -> float:
    """Return the creation time of a message as a Discord id; infinite if it is not known.

    What is answered came before it; an id of ours holds the time, by a clock that may be wrong by a little.
    """
    if asked := MessageId.parse(message.reply_to):
        return int(asked.message)
    if _OURS.fullmatch(message.id):
        milliseconds = sum(_ALPHABET.index(char) << 5 * place for place, char in enumerate(message.id[9::-1]))
        return (milliseconds - _CLOCKS_DIFFER - _DISCORD_EPOCH) << 22
    return float("inf")


# The sender.


log = logging.getLogger(__name__)

_ROOM_FOR_MARK = 100
_SEARCHED = 100  # the most that one request gives
_NO_PINGS = {"allowed_mentions": {"parse": [], "replied_user": False}}


@dataclass(frozen=True, slots=True)
class DiscordBody:
    """Content of a message besides files. One that is `unsaid` is not shown at all."""

    text: str
    buttons: tuple[Placed, ...] = ()
    unsaid: bool = False

    @property
    def payload(self) -> dict[str, object]:
        return {"content": self.text, "components": components(self.buttons), **_NO_PINGS}


@dataclass(frozen=True, slots=True)
class DiscordSenderContext:
    """Dependencies of the sender; `file_limit` returns the bytes that a file may have in a channel, by its id."""

    media: Media
    bookmarks: Bookmarks
    language: Callable[[Address], Language]
    file_limit: Callable[[str], int]


class DiscordSender:
    """One request for each thing to show; ids on the platform are `<channel>:<message>`."""

    name = NAME
    can_find = True

    def __init__(self, rest: Rest, desk: DiscordSenderContext) -> None:
        self._rest = rest
        self._desk = desk
        self._me = ""

    def parts(self, message: OutboundMessage, *, repeat: bool = False) -> Sequence[MessagePart]:
        """See Platform. Buttons stand below the last text, those for which there is no room in it, to be typed.

        A notice to another bot is unsaid: it might answer.
        """
        if message.kind == "notice" and (said := MessageId.parse(message.reply_to)) and said.mark == BY_BOT:
            return [MessagePart(DiscordBody(message.text, unsaid=True))]
        language = self._desk.language(message.address)
        typed = [f"- {button.label}: `{button.value}`" for button in message.buttons[MOST:]]
        whole = "\n".join([message.text, *typed])
        texts = list(discord_parts(whole, TEXT_LIMIT - _ROOM_FOR_MARK))
        if not texts and (not message.files or message.buttons):
            texts = [say("discord.empty", language)]
        if repeat:
            texts = [f"{say('discord.repeat', language)}\n{text}" for text in texts]
        shown = [MessagePart(DiscordBody(text)) for text in texts]
        if message.buttons:
            buttons = message.buttons[:MOST]
            shown[-1] = MessagePart(
                DiscordBody(texts[-1], tuple(Placed(message.id, button) for button in buttons)), buttons=buttons
            )
        return [*shown, *(MessagePart(DiscordBody(""), file) for file in message.files)]

    def simpler(self, part: MessagePart) -> MessagePart | None:
        """See Platform. There is no text that Discord refuses for its formatting."""
        return MessagePart(DiscordBody(_body(part).text)) if part.buttons else None

    def preview(self, text: str) -> Sequence[MessagePart]:
        return [
            MessagePart(DiscordBody(part)) for part in discord_parts(text, TEXT_LIMIT - _ROOM_FOR_MARK, growing=True)
        ]

    async def send(self, message: OutboundMessage, part: MessagePart, number: int) -> str:
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
        except DiscordTooLargeError:
            excuse = MessagePart(DiscordBody(self._too_big(message.address, part.file)))
            return await self._post(message.address, excuse, more)

    async def send_preview(
        self, address: Address, turn: str, part: MessagePart, name: str, *, reply_to: str | None = None
    ) -> str:
        more = _guarded(nonce_of_preview(turn, name)) | _reference(address, reply_to)
        return await self._post(address, part, more)

    async def edit(self, address: Address, platform_id: str, part: MessagePart) -> None:
        """See Platform. In a channel that is gone the message is gone, too."""
        body = _body(part)
        if body.unsaid:
            await self.delete(address, platform_id)
            return
        await self._keep(body)
        try:
            await self._rest.call("PATCH", _path(platform_id), body.payload)
        except DiscordThreadLostError as error:
            raise LostPreviewError(str(error)) from error

    async def delete(self, address: Address, platform_id: str) -> None:
        try:
            await self._rest.call("DELETE", _path(platform_id))
        except (LostPreviewError, DiscordThreadLostError):
            return

    async def settle(self, message: OutboundMessage, platform_id: str) -> None:
        try:
            body = {"components": outcome(message.text), **_NO_PINGS}
            await self._rest.call("PATCH", _path(platform_id), body)
        except DiscordThreadLostError as error:
            raise LostPreviewError(str(error)) from error

    async def typing(self, address: Address) -> None:
        await self._rest.call("POST", f"/channels/{_channel(address)}/typing")

    async def find(
        self, message: OutboundMessage, part: MessagePart, number: int, *, known: Collection[str] = ()
    ) -> str | None:
        """See Platform. Looks at the newest hundred messages."""
        if not self._me:
            self._me = str((await self._rest.call("GET", "/users/@me"))["id"])
        channel = _channel(message.address)
        try:
            history = await self._rest.call("GET", f"/channels/{channel}/messages?limit={_SEARCHED}")
        except DiscordThreadLostError:
            return None
        ours = [said for said in history if said["author"]["id"] == self._me and f"{channel}:{said['id']}" not in known]
        found = arrived(ours, message, number, _body(part).text, part.file)
        return f"{channel}:{found}" if found else None

    async def _post(self, address: Address, part: MessagePart, more: dict[str, Any]) -> str:
        """Post a message; as a plain one if it cannot be a reply, or not in its thread."""
        await self._keep(_body(part))
        try:
            return await self._create(_channel(address), part, more)
        except BadReferenceError:
            return await self._create(_channel(address), part, _without_reference(more))
        except DiscordThreadLostError:
            if address.topic is None:
                raise
            return await self._create(address.chat, part, _without_reference(more))

    async def _create(self, channel: str, part: MessagePart, more: dict[str, Any]) -> str:
        path, payload = f"/channels/{channel}/messages", _body(part).payload | more
        if part.file is None:
            said = await self._rest.call("POST", path, payload)
        else:
            said = await self._rest.upload(path, payload, self._desk.media.path(part.file), _name(part.file))
        return f"{channel}:{said['id']}"

    async def _keep(self, body: DiscordBody) -> None:
        for button in body.buttons:
            await button.keep(self._desk.bookmarks)

    def _excuse(self, address: Address, file: Attachment) -> MessagePart | None:
        """Return the text shown in place of a file that cannot be sent."""
        try:
            size = self._desk.media.path(file).stat().st_size
        except (OSError, StoreError):
            return MessagePart(DiscordBody(say("discord.file_missing", self._desk.language(address), name=_name(file))))
        if size <= self._desk.file_limit(_channel(address)):
            return None
        return MessagePart(DiscordBody(self._too_big(address, file)))

    def _too_big(self, address: Address, file: Attachment) -> str:
        size, most = self._desk.media.path(file).stat().st_size, self._desk.file_limit(_channel(address))
        sizes = {"size": f"{size / 2**20:.1f}", "most": f"{most / 2**20:.0f}"}
        return say("discord.file_too_big", self._desk.language(address), name=_name(file), path=file.path, **sizes)


def _body(part: MessagePart) -> DiscordBody:
    return cast("DiscordBody", part.body)  # all parts were made here


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
