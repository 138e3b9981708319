"""Files that people attach."""

import logging
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from nanobot.authority import Scope
from nanobot.channels.discord.failures import TooLargeError
from nanobot.channels.discord.rest import Rest
from nanobot.channels.fetching import Fetcher
from nanobot.channels.platform import UnreachableError
from nanobot.errors import NanobotError, StoreError
from nanobot.i18n import Language, say
from nanobot.messages import Attachment
from nanobot.ports import Clock, Media
from nanobot.text import as_name

if TYPE_CHECKING:
    import discord

MOST_BYTES = 50 * 2**20
_PAUSES = (1.0, 4.0)

log = logging.getLogger(__name__)


class Downloads:
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
        came = [next(fetched) if file.size <= MOST_BYTES else TooLargeError(file.filename) for file in files]
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
    if isinstance(came, TooLargeError):
        size, most = f"{file.size / 2**20:.0f}", f"{MOST_BYTES / 2**20:.0f}"
        return say("discord.file_not_taken", language, name=as_name(file.filename), size=size, most=most)
    log.warning("discord: the file %s did not arrive: %s", file.id, came)
    return say("discord.file_lost", language, name=as_name(file.filename))
