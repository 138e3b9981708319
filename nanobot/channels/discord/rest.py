"""Single requests to Discord's REST API.

discord.py's own requests are not used for sending: they try five times, sleep on a 429 and hold a message back
after it was sent when its bucket is empty. Whoever sends here (delivery) waits and repeats by itself, and must
know at once what came of a request.
"""

import json
import os
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import aiohttp

from nanobot import __version__
from nanobot.channels.discord.failures import TooLargeError, failure
from nanobot.channels.platform import RejectedError, UnreachableError

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
                        raise TooLargeError(f"a file has more than {most} bytes")
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
