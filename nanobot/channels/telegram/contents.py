"""What is in a message: its words, its files, what is spoken in it, and what it quotes."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from telegram import Message, User

from nanobot.channels.access import Admission
from nanobot.channels.platform import DeliveryError
from nanobot.channels.telegram.addressed import own_words
from nanobot.channels.telegram.answers import Answers
from nanobot.channels.telegram.arriving import Arriving, files_in
from nanobot.channels.telegram.described import described
from nanobot.channels.telegram.downloads import MB, Downloads
from nanobot.channels.telegram.failures import TooLargeError
from nanobot.channels.telegram.limit import at_most
from nanobot.channels.telegram.people import plain_name
from nanobot.channels.telegram.quoting import forwarded_by, quotes_in
from nanobot.channels.telegram.settings import House
from nanobot.errors import LLMError
from nanobot.messages import Attachment, Quote

log = logging.getLogger(__name__)

_SPEECH = 120.0
"""Seconds for having a voice message transcribed; everybody in its chat waits for that."""


@dataclass(frozen=True, slots=True)
class Content:
    """What an InboundMessage takes from Telegram's messages."""

    text: str = ""
    files: Sequence[Attachment] = ()
    quotes: Sequence[Quote] = ()


class _NotHadError(Exception):
    """A file could not be had, or not be understood; `what` is the sentence that says so."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Contents:
    """Fetches files and has speech transcribed. What cannot be had is told at once; the words beside it are heard."""

    def __init__(self, me: User, house: House, downloads: Downloads, answers: Answers) -> None:
        self._me = me
        self._media = house.media
        self._transcriber = house.transcriber
        self._clock = house.clock
        self._downloads = downloads
        self._answers = answers

    async def of(self, messages: Sequence[Message], admission: Admission) -> Content | None:
        """The content of a message, or of an album as one; None if no file of it could be had. Raises StoreError."""
        found = [await self._of(message, admission) for message in messages]
        contents = [content for content in found if content is not None]
        if not contents:
            return None
        texts = [content.text if content else "" for content in found]
        if len(list(filter(None, texts))) > 1:  # each stands with its picture
            texts = [f"[{number}/{len(texts)}] {text}" if text else "" for number, text in enumerate(texts, start=1)]
        return Content(
            "\n".join(filter(None, texts)),
            tuple(file for content in contents for file in content.files),
            tuple(quote for content in contents for quote in content.quotes),
        )

    async def _of(self, message: Message, admission: Admission) -> Content | None:
        files: list[Attachment] = []
        spoken: list[str] = []
        for arriving in files_in(message, self._downloads.limit):
            try:
                file, said = await self._fetch(message, arriving, admission)
            except _NotHadError as error:
                name = plain_name(arriving.name)
                if admission.to_bot:
                    values = {"name": name, "most": self._downloads.limit // MB}
                    await self._answers.tell(message, error.what, **values)
                if not (words := own_words(message, self._me)):
                    return None
                note = f"[a file came with this, {name}, and could not be had]"
                return Content(f"{words}\n{note}", (), quotes_in(message))
            files.append(file)
            spoken += [said] if said else []
        by = forwarded_by(message)
        if by is not None:
            return Content("", files, (*(Quote(said, by, "forward") for said in spoken), *quotes_in(message)))
        texts = filter(None, (*spoken, described(message), own_words(message, self._me)))
        return Content("\n".join(texts), files, quotes_in(message))

    async def _fetch(self, message: Message, arriving: Arriving, admission: Admission) -> tuple[Attachment, str]:
        """A file, and what is spoken in it if it is speech."""
        if arriving.is_speech and self._transcriber is None:
            raise _NotHadError("voice_none_owner" if admission.authority.scope.is_owner else "voice_none")
        try:
            file = await self._downloads.fetch(admission.authority.scope, arriving)
        except TooLargeError as error:
            raise _NotHadError("too_large") from error
        except DeliveryError as error:
            log.warning("telegram:%s: message %s: %s", message.chat_id, message.message_id, error)
            raise _NotHadError("voice_lost" if arriving.is_speech else "file_lost") from error
        return file, await self._spoken(message, file) if arriving.is_speech else ""

    async def _spoken(self, message: Message, file: Attachment) -> str:
        if self._transcriber is None:
            return ""
        try:
            async with at_most(self._clock, _SPEECH):
                spoken = await self._transcriber.transcribe(self._media.path(file), file.mime)
        except (LLMError, TimeoutError) as error:
            log.warning("telegram:%s: message %s: no transcription: %s", message.chat_id, message.message_id, error)
            raise _NotHadError("voice_failed") from error
        if not spoken:
            raise _NotHadError("voice_silent")
        return spoken
