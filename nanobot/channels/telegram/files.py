"""The files in a message, and fetching them."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
from telegram import Message, PhotoSize

from nanobot.authority import Scope
from nanobot.channels.fetching import PLACES, SIDE_BY_SIDE, Fetcher, at_most
from nanobot.channels.platform import UnreachableError
from nanobot.channels.telegram.api import Api, TelegramTooLargeError, tls
from nanobot.errors import NanobotError
from nanobot.messages import Attachment
from nanobot.ports import Clock, Media

# Files of a message.


@dataclass(frozen=True, slots=True)
class Arriving:
    """A file that Telegram holds for us; `size` in bytes as it says, 0 if it does not. `is_speech`: a voice message."""

    id: str
    name: str
    mime: str
    size: int
    is_speech: bool = False


_FALLBACK = {
    "audio": ("audio.mp3", "audio/mpeg"),
    "video": ("video.mp4", "video/mp4"),
    "video_note": ("video_note.mp4", "video/mp4"),
    "animation": ("animation.mp4", "video/mp4"),
    "document": ("file", "application/octet-stream"),
    "voice": ("voice.ogg", "audio/ogg"),
}
"""Name and type where Telegram says none; an animation is a document, too, and counts once."""


def files_in(message: Message, limit: float = float("inf")) -> tuple[Arriving, ...]:
    """The file of a message, none or one; of a photo the largest version of at most `limit` bytes."""
    if message.photo:
        photo = _largest(message.photo, limit)
        return (Arriving(photo.file_id, "photo.jpg", "image/jpeg", photo.file_size or 0),)
    for kind, (name, mime) in _FALLBACK.items():
        content: Any = getattr(message, kind)
        if content is not None and (kind != "document" or message.animation is None):
            given = getattr(content, "file_name", None) or name
            is_speech = kind == "voice"
            told = mime if is_speech else getattr(content, "mime_type", None) or mime
            return (Arriving(content.file_id, given, told, int(content.file_size or 0), is_speech),)
    return ()


def _largest(photo: Sequence[PhotoSize], limit: float) -> PhotoSize:
    sizes = sorted(photo, key=lambda size: size.width * size.height)
    return next((size for size in reversed(sizes) if (size.file_size or 0) <= limit), sizes[0])


# Downloads.


log = logging.getLogger(__name__)

MB = 1_000_000
PUBLIC_LIMIT = 20 * MB
"""Bytes that the public Bot API gives out (its documentation, getFile)."""

OWN_LIMIT = 2000 * MB
"""Bytes that a server of one's own gives out."""

_PAUSES = (1.0, 4.0, None)
_SILENCE = 30.0  # seconds without a byte
_PIECE = 1 << 18


class TelegramDownloads:
    """Brings files from Telegram into the folder of a scope."""

    def __init__(self, api: Api, media: Media, clock: Clock) -> None:
        self._api = api
        self._media = media
        self._clock = clock
        self.limit = OWN_LIMIT if api.access.is_self_hosted else PUBLIC_LIMIT
        self._client = httpx.AsyncClient(
            proxy=api.access.proxy,
            timeout=httpx.Timeout(None, connect=_SILENCE),  # what is silent is watched by our own clock
            limits=httpx.Limits(max_connections=PLACES * SIDE_BY_SIDE),
            verify=tls(),
        )
        self._fetcher = Fetcher(clock)

    async def fetch(self, scope: Scope, files: Sequence[Arriving]) -> Sequence[Attachment | NanobotError]:
        """Keep the files of a message; what came of each: a TooLargeError, another DeliveryError, a StoreError."""
        largest = self.limit
        wanted = [file for file in files if file.size <= largest]
        fetches = [partial(self._in_some_tries, scope, file) for file in wanted]
        fetched = iter(await self._fetcher.fetch(sum(file.size for file in wanted), fetches))
        return [next(fetched) if file.size <= largest else _too_large(file) for file in files]

    async def _in_some_tries(self, scope: Scope, file: Arriving) -> Attachment:
        for pause in _PAUSES:
            try:
                return await self._once(scope, file)
            except UnreachableError as error:
                if pause is None:
                    raise
                log.info("telegram file %s: %s", file.name, error)
            await self._clock.sleep(pause)
        raise AssertionError("the last pause is None")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _once(self, scope: Scope, file: Arriving) -> Attachment:
        try:
            told = await self._api.ask(self._api.bot.get_file(file.id))
        except TelegramTooLargeError:
            self.limit = PUBLIC_LIMIT  # a server of one's own without --local is as strict as the public one
            raise
        if not (told.file_path or "").startswith("http"):
            raise UnreachableError(
                f"{file.name} cannot be fetched: the server gives no address", may_have_arrived=False
            )
        async with aclosing(self._pieces(told.file_path or "")) as pieces:
            return await self._media.save(scope, file.name, file.mime, pieces)

    async def _next(self, pieces: AsyncIterator[bytes]) -> bytes:
        """The next piece, b"" at the end."""
        async with at_most(self._clock, _SILENCE):
            return await anext(pieces, b"")

    async def _pieces(self, url: str) -> AsyncGenerator[bytes]:
        """The content of a file, no more of it than the limit. Errors come without the address: the token is in it."""
        received = 0
        try:
            async with AsyncExitStack() as stack:
                async with at_most(self._clock, _SILENCE):
                    answer = await stack.enter_async_context(self._client.stream("GET", url))
                if answer.status_code != httpx.codes.OK:
                    raise UnreachableError(f"Telegram answered {answer.status_code}", may_have_arrived=False)
                pieces = answer.aiter_bytes(_PIECE)
                while piece := await self._next(pieces):
                    received += len(piece)
                    if received > self.limit:
                        raise TelegramTooLargeError(f"more than {self.limit} bytes came")
                    yield piece
        except TimeoutError:
            raise UnreachableError(f"nothing came for {_SILENCE:.0f} s", may_have_arrived=False) from None
        except httpx.HTTPError as error:
            raise UnreachableError(f"the file broke off: {type(error).__name__}", may_have_arrived=False) from None


def _too_large(file: Arriving) -> TelegramTooLargeError:
    return TelegramTooLargeError(f"{file.name} has {file.size} bytes")
