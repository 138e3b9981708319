"""What is in a message: its words, its files, what is spoken in it, and what it quotes."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from telegram import Message, User

from nanobot.channels.access import Admission
from nanobot.channels.fetching import at_most
from nanobot.channels.telegram.addressed import own_words
from nanobot.channels.telegram.answers import Answers
from nanobot.channels.telegram.arriving import Arriving, files_in
from nanobot.channels.telegram.downloads import MB, Downloads
from nanobot.channels.telegram.failures import TooLargeError
from nanobot.channels.telegram.people import plain_name
from nanobot.channels.telegram.quoting import Source, quotes_in, sign_of, source_of
from nanobot.channels.telegram.settings import House
from nanobot.errors import LLMError, NanobotError, StoreError
from nanobot.messages import Attachment, Quote
from nanobot.text import as_name

log = logging.getLogger(__name__)

_SPEECH = 120.0
"""Seconds for having a voice message transcribed; everybody in its chat waits for that."""

_MOST_KEPT = 100
"""Messages and albums whose files are kept in case that the disk does not take them at once."""

_LOST = "[a file came with this and could not be had]"


@dataclass(frozen=True, slots=True)
class Content:
    """What an InboundMessage takes from Telegram's messages."""

    text: str = ""
    files: Sequence[Attachment] = ()
    quotes: Sequence[Quote] = ()


@dataclass(frozen=True, slots=True)
class _Fetched:
    """What came of the file of a message: the file and what is spoken in it, or `why` there is none (a sentence)."""

    name: str
    file: Attachment | None = None
    spoken: str = ""
    why: str = ""


class Contents:
    """Fetches files and has speech transcribed. What cannot be had is told at once; the words beside it are heard."""

    def __init__(self, me: User, house: House, downloads: Downloads, answers: Answers) -> None:
        self._me = me
        self._media = house.media
        self._transcriber = house.transcriber
        self._clock = house.clock
        self._downloads = downloads
        self._answers = answers
        self._kept: dict[tuple[int, int, str], dict[int, _Fetched]] = {}

    async def of(
        self, messages: Sequence[Message], admission: Admission, shows: Callable[[Message], bool]
    ) -> Content | None:
        """The content of a message, or of an album as one; None if no file of it could be had. Raises StoreError.

        `shows` tells whether a message may be shown to which somebody replies.
        What was fetched is kept until `published`: where the disk does not take the message, it is asked for again.
        """
        fetched = await self._fetched(messages, admission)
        if admission.to_bot:
            await self._tell(messages, fetched)
        source = source_of(messages)
        found = [
            self._of(message, fetched.get(message.message_id), source, quotes_in(message, source, shows))
            for message in messages
        ]
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

    def published(self, messages: Sequence[Message], admission: Admission) -> None:
        """What was fetched for these messages is not asked for again."""
        self._kept.pop(_key(messages, admission), None)

    async def _tell(self, messages: Sequence[Message], fetched: Mapping[int, _Fetched]) -> None:
        """Say of which files there is nothing, in a sentence for each reason. Raises StoreError."""
        lost = [(message, fetched[message.message_id]) for message in messages if message.message_id in fetched]
        for why in dict.fromkeys(one.why for _, one in lost if one.why):
            first = next(message for message, one in lost if one.why == why)
            names = dict.fromkeys(one.name for _, one in lost if one.why == why)
            await self._answers.tell(first, why, name=", ".join(names), most=self._downloads.limit // MB)

    def _of(
        self, message: Message, fetched: _Fetched | None, source: Source | None, quotes: Sequence[Quote]
    ) -> Content | None:
        words = "" if source else own_words(message, self._me)
        if fetched is not None and fetched.file is None:
            if not (words or message.caption):
                return None
            lost = () if source else (Quote(f"[file: {as_name(fetched.name)}]", how="card"),)
            return Content("\n".join(filter(None, (words, _LOST))), (), (*quotes, *lost))
        files = [fetched.file] if fetched and fetched.file else []
        spoken = fetched.spoken if fetched else ""
        if source is not None:
            return Content("", files, (*([Quote(spoken, source.by, source.how)] if spoken else ()), *quotes))
        return Content("\n".join(filter(None, (spoken, sign_of(message), words))), files, quotes)

    async def _fetched(self, messages: Sequence[Message], admission: Admission) -> Mapping[int, _Fetched]:
        """What came of the files of an album, by the ids of its messages. Raises StoreError."""
        scope, kept = admission.authority.scope, self._kept.setdefault(_key(messages, admission), {})
        while len(self._kept) > _MOST_KEPT:  # nobody asked for them again
            del self._kept[next(iter(self._kept))]
        files = [(message, file) for message in messages for file in files_in(message, self._downloads.limit)]
        for message, file in files:
            if file.is_speech and self._transcriber is None:
                why = "voice_none_owner" if scope.is_owner else "voice_none"
                kept[message.message_id] = _Fetched(plain_name(file.name), why=why)
        missing = [(message, file) for message, file in files if message.message_id not in kept]
        came = await self._downloads.fetch(scope, [file for _, file in missing])
        for (message, file), one in zip(missing, came, strict=True):
            if not isinstance(one, StoreError):
                kept[message.message_id] = await self._understood(message, file, one)
        for one in came:
            if isinstance(one, StoreError):
                raise one
        return kept

    async def _understood(self, message: Message, file: Arriving, came: Attachment | NanobotError) -> _Fetched:
        """A file that came, with what is spoken in it if it is speech."""
        name = plain_name(file.name)
        if isinstance(came, Attachment):
            return await self._spoken(message, name, came) if file.is_speech else _Fetched(name, came)
        if isinstance(came, TooLargeError):
            return _Fetched(name, why="too_large")
        log.warning("telegram:%s: message %s: %s", message.chat_id, message.message_id, came)
        return _Fetched(name, why="voice_lost" if file.is_speech else "file_lost")

    async def _spoken(self, message: Message, name: str, file: Attachment) -> _Fetched:
        if self._transcriber is None:
            return _Fetched(name, file)
        try:
            async with at_most(self._clock, _SPEECH):
                spoken = await self._transcriber.transcribe(self._media.path(file), file.mime)
        except (LLMError, TimeoutError) as error:
            log.warning("telegram:%s: message %s: no transcription: %s", message.chat_id, message.message_id, error)
            return _Fetched(name, why="voice_failed")
        return _Fetched(name, file, spoken) if spoken else _Fetched(name, why="voice_silent")


def _key(messages: Sequence[Message], admission: Admission) -> tuple[int, int, str]:
    """A message or an album, as long as the same person may have it kept."""
    return messages[0].chat_id, messages[0].message_id, admission.authority.scope.name
