"""Fetches the files that people send."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing
from functools import partial

import httpx

from nanobot.authority import Scope
from nanobot.channels.fetching import PLACES, SIDE_BY_SIDE, Fetcher, at_most
from nanobot.channels.platform import UnreachableError
from nanobot.channels.telegram.api import Api, tls
from nanobot.channels.telegram.arriving import Arriving
from nanobot.channels.telegram.failures import TooLargeError
from nanobot.errors import NanobotError
from nanobot.messages import Attachment
from nanobot.ports import Clock, Media

log = logging.getLogger(__name__)

MB = 1_000_000
PUBLIC_LIMIT = 20 * MB
"""Bytes that the public Bot API gives out (its documentation, getFile)."""

OWN_LIMIT = 2000 * MB
"""Bytes that a server of one's own gives out."""

_PAUSES = (1.0, 4.0, None)
_SILENCE = 30.0  # seconds without a byte
_PIECE = 1 << 18


class Downloads:
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
        except TooLargeError:
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
                        raise TooLargeError(f"more than {self.limit} bytes came")
                    yield piece
        except TimeoutError:
            raise UnreachableError(f"nothing came for {_SILENCE:.0f} s", may_have_arrived=False) from None
        except httpx.HTTPError as error:
            raise UnreachableError(f"the file broke off: {type(error).__name__}", may_have_arrived=False) from None


def _too_large(file: Arriving) -> TooLargeError:
    return TooLargeError(f"{file.name} has {file.size} bytes")
