"""Single requests to Discord's REST API, the files that people attach, and what its refusals mean."""

import json
import logging
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from nanobot import __version__
from nanobot.authority import Scope
from nanobot.channels.fetching import Fetcher
from nanobot.channels.platform import (
    DeliveryError,
    FloodError,
    GoneError,
    LostPreviewError,
    RejectedError,
    UnreachableError,
)
from nanobot.errors import NanobotError, StoreError
from nanobot.i18n import Language, say
from nanobot.messages import Attachment
from nanobot.ports import Clock, Media
from nanobot.text import as_name

if TYPE_CHECKING:
    import discord


# Refusals; the numbers are from "Opcodes and Status Codes" of its documentation.


UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
_TOO_LARGE = 40005
_INVALID_FORM = 50035
_MAY_NOT_REPLY = 160002
_FOREIGN_MESSAGE = 50005  # only the author edits a message
_OVERLOADED = 130000
_CLOSED = {
    10004,  # unknown guild
    20009,  # explicit content cannot be sent there
    50001,  # missing access
    50007,  # this person takes no messages from it
    50008,  # not a channel for text
    50009,  # verification level
    50013,  # missing permissions
    50083,  # the thread is archived
    50278,  # no server in common
    160005,  # the thread is locked
    240000,  # blocked by the server's AutoMod
}
_DEFAULT_PAUSE = 5.0


class DiscordThreadLostError(GoneError):
    """The channel or thread does not exist any more."""


class DiscordTooLargeError(RejectedError):
    """The file is bigger than Discord takes there."""


class BadReferenceError(RejectedError):
    """Error: the message to reply to does not exist any more, or cannot be replied to."""


def failure(status: int, body: object, headers: Mapping[str, str]) -> DeliveryError:
    """Return the error for an unsuccessful response; `body` is the parsed JSON, or None if it was none."""
    told = body if isinstance(body, dict) else {}
    code = told.get("code", 0)
    text = f"Discord answered {status}: {told.get('message') or 'nothing that can be read'} (code {code})"
    if status == 429:
        everywhere = bool(told.get("global")) or not told  # without JSON it comes from the wall before Discord
        return FloodError(text, retry_after=_pause(told, headers), everywhere=everywhere)
    if status >= 500 or code == _OVERLOADED:
        return UnreachableError(text, may_have_arrived=code != _OVERLOADED)
    if not told or status == 401:  # not Discord itself, or the token: either may be put right
        return UnreachableError(text, may_have_arrived=False)
    return _refusal(status, code, text, told.get("errors"))


def _refusal(status: int, code: int, text: str, errors: object) -> DeliveryError:
    if code == UNKNOWN_CHANNEL:
        return DiscordThreadLostError(text)
    if code in (UNKNOWN_MESSAGE, _FOREIGN_MESSAGE):
        return LostPreviewError(text)
    if code == _TOO_LARGE or status == 413:
        return DiscordTooLargeError(text)
    if code == _MAY_NOT_REPLY or (code == _INVALID_FORM and isinstance(errors, dict) and "message_reference" in errors):
        return BadReferenceError(text)
    if code in _CLOSED or status == 403:
        return GoneError(text)
    return RejectedError(text)


def _pause(told: Mapping[str, object], headers: Mapping[str, str]) -> float:
    for value in (told.get("retry_after"), headers.get("Retry-After")):
        try:
            return max(float(str(value)), 0.0)
        except ValueError:
            continue
    return _DEFAULT_PAUSE


# Requests.
#
# discord.py's own requests are not used for sending: they try five times, sleep on a 429 and hold a message back
# after it was sent when its bucket is empty. Whoever sends here (delivery) waits and repeats by itself, and must
# know at once what came of a request.


SECONDS = 30.0
"""How long a request may take; one that carries a file has longer, by its size."""

SLOWEST_UPLOAD = 50_000
"""Bytes a second."""

_CONNECT_SECONDS = 10.0
_PIECE = 2**16
_AGENT = f"DiscordBot (https://github.com/nanobot, {__version__})"


class Rest:
    """Makes one request at a time, each once. Give it back with `aclose`."""

    def __init__(self, api_base: str, token: str) -> None:
        self._base = api_base.rstrip("/")
        self._token = token
        self._session: aiohttp.ClientSession | None = None

    async def aclose(self) -> None:
        """Close the connections; another request opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def call(self, method: str, path: str, body: object = None, *, seconds: float = SECONDS) -> Any:
        """Make a request; the parsed answer, None if there is none. Raises a DeliveryError."""
        return await self._request(method, path, seconds, json=body)

    async def upload(self, path: str, body: Mapping[str, object], file: Path, name: str) -> Any:
        """Post a message that carries a file. Raises a DeliveryError, or OSError if the file cannot be read."""
        with file.open("rb") as content:
            form = aiohttp.FormData(quote_fields=False)
            form.add_field("payload_json", json.dumps(body), content_type="application/json")
            form.add_field("files[0]", content, filename=name, content_type="application/octet-stream")
            return await self._request(
                "POST", path, SECONDS + os.fstat(content.fileno()).st_size / SLOWEST_UPLOAD, data=form
            )

    async def fetch(self, url: str, most: int) -> AsyncGenerator[bytes]:
        """The content of a file on Discord's CDN, at most so many bytes. Raises a DeliveryError.

        Only silence ends it here; how long all of it may take is for whoever fetches it.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=SECONDS, sock_read=SECONDS)
        size = 0
        try:
            async with self._opened().get(url, timeout=timeout) as response:
                if response.status >= 500 or response.status == 429:
                    raise UnreachableError(f"the file server answered {response.status}", may_have_arrived=False)
                if response.status != 200:
                    raise RejectedError(f"the file server answered {response.status}")
                async for piece in response.content.iter_chunked(_PIECE):
                    size += len(piece)
                    if size > most:
                        raise DiscordTooLargeError(f"a file has more than {most} bytes")
                    yield piece
        except (TimeoutError, aiohttp.ClientError, ConnectionError) as error:
            raise UnreachableError(f"a file did not arrive: {error}", may_have_arrived=False) from error

    async def _request(self, method: str, path: str, seconds: float, **content: Any) -> Any:
        session, timeout = self._opened(), aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_SECONDS)
        headers = {"Authorization": f"Bot {self._token}"}
        try:
            async with session.request(
                method, self._base + path, headers=headers, timeout=timeout, **content
            ) as response:
                text = await response.text()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise UnreachableError(f"Discord cannot be reached: {error}", may_have_arrived=False) from error
        except (TimeoutError, aiohttp.ClientError, ConnectionError) as error:
            reason = str(error) or type(error).__name__
            raise UnreachableError(f"the connection to Discord broke: {reason}", may_have_arrived=True) from error
        if response.status == 204:
            return None
        parsed = _parsed(text)
        if not 200 <= response.status < 300:
            raise failure(response.status, parsed, response.headers)
        if parsed is None:
            raise UnreachableError("Discord answered with something unreadable", may_have_arrived=True)
        return parsed

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(headers={"User-Agent": _AGENT})
        return self._session


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


# Attachments.


MOST_BYTES = 50 * 2**20
_PAUSES = (1.0, 4.0)

log = logging.getLogger(__name__)


class DiscordDownloads:
    """Fetches files from Discord into the media folder."""

    def __init__(self, rest: Rest, media: Media, clock: Clock) -> None:
        self._rest = rest
        self._media = media
        self._clock = clock
        self._fetcher = Fetcher(clock)

    async def fetch(
        self, files: Sequence["discord.Attachment"], scope: Scope, language: Language
    ) -> Sequence[Attachment | str]:
        """The files of a message; for each that cannot be had a sentence that says so. Raises StoreError."""
        wanted = [file for file in files if file.size <= MOST_BYTES]
        fetches = [partial(self._in_some_tries, file, scope) for file in wanted]
        fetched = iter(await self._fetcher.fetch(sum(file.size for file in wanted), fetches))
        came = [next(fetched) if file.size <= MOST_BYTES else DiscordTooLargeError(file.filename) for file in files]
        return [_told(file, one, language) for file, one in zip(files, came, strict=True)]

    async def _in_some_tries(self, file: "discord.Attachment", scope: Scope) -> Attachment:
        for pause in _PAUSES:
            try:
                return await self._save(file, scope)
            except UnreachableError as error:
                log.info("discord: the file %s did not arrive: %s", file.id, error)
            await self._clock.sleep(pause)
        return await self._save(file, scope)

    async def _save(self, file: "discord.Attachment", scope: Scope) -> Attachment:
        mime = (file.content_type or "application/octet-stream").partition(";")[0]
        async with aclosing(self._rest.fetch(file.url, MOST_BYTES)) as pieces:
            return await self._media.save(scope, file.filename, mime, pieces)


def _told(file: "discord.Attachment", came: Attachment | NanobotError, language: Language) -> Attachment | str:
    if isinstance(came, Attachment):
        return came
    if isinstance(came, StoreError):
        raise came
    if isinstance(came, DiscordTooLargeError):
        size, most = f"{file.size / 2**20:.0f}", f"{MOST_BYTES / 2**20:.0f}"
        return say("discord.file_not_taken", language, name=as_name(file.filename), size=size, most=most)
    log.warning("discord: the file %s did not arrive: %s", file.id, came)
    return say("discord.file_lost", language, name=as_name(file.filename))
