"""Files that people attach."""

import logging
from typing import TYPE_CHECKING

from nanobot.authority import Scope
from nanobot.channels.discord.failures import TooLargeError
from nanobot.channels.discord.rest import Rest
from nanobot.channels.platform import DeliveryError, UnreachableError
from nanobot.i18n import Language, say
from nanobot.messages import Attachment
from nanobot.ports import Clock, Media

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

    async def fetch(self, file: "discord.Attachment", scope: Scope, language: Language) -> Attachment | str:
        """The file, or a sentence that says why there is none. Raises StoreError."""
        if file.size > MOST_BYTES:
            return _too_big(file, language)
        for pause in (*_PAUSES, None):
            try:
                return await self._save(file, scope)
            except TooLargeError:
                return _too_big(file, language)
            except DeliveryError as error:
                log.warning("discord: the file %s did not arrive: %s", file.id, error)
                if pause is None or not isinstance(error, UnreachableError):
                    break
                await self._clock.sleep(pause)
        return say("discord.file_lost", language, name=file.filename)

    async def _save(self, file: "discord.Attachment", scope: Scope) -> Attachment:
        mime = (file.content_type or "application/octet-stream").partition(";")[0]
        return await self._media.save(scope, file.filename, mime, self._rest.fetch(file.url, MOST_BYTES))


def _too_big(file: "discord.Attachment", language: Language) -> str:
    size, most = f"{file.size / 2**20:.0f}", f"{MOST_BYTES / 2**20:.0f}"
    return say("discord.file_not_taken", language, name=file.filename, size=size, most=most)
