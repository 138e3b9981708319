"""How a message of the bot looks on Telegram: the parts to send."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from nanobot.channels.platform import Part
from nanobot.channels.telegram.commands import Spelling
from nanobot.channels.text.telegram import CAPTION_LIMIT, TEXT_LIMIT, RichText, plain, telegram_parts
from nanobot.errors import StoreError
from nanobot.i18n import Language, say
from nanobot.messages import Address, Attachment, OutboundMessage
from nanobot.ports import Media

MB = 1_000_000
PHOTO_BYTES = 10 * MB
_PHOTOS = ("image/jpeg", "image/png", "image/webp")
_MARK_ROOM = 64
"""UTF-16 units that are left free in each part for the mark of a repetition, so that it is cut in the same places."""


@dataclass(frozen=True, slots=True)
class Body:
    """A text as Telegram shows it; `question` is the id of the message whose buttons stand below it.

    `holds_up_a_turn` is the question's, as in OutboundMessage.
    """

    text: RichText
    question: str = ""
    holds_up_a_turn: bool = False


class Wording:
    """Cuts messages into parts."""

    def __init__(self, media: Media, language: Callable[[Address], Language], largest: int, spelling: Spelling) -> None:
        """`largest` is the size of a file, in bytes, above which it cannot be sent."""
        self._spelling = spelling
        self._media = media
        self._language = language
        self._largest = largest

    def parts(self, message: OutboundMessage, *, repeat: bool) -> Sequence[Part]:
        """As Platform.parts."""
        language = self._language(message.address)
        if message.kind != "answer":  # those are our own words
            message = replace(message, text=self._spelling(message.text))
        mark = say("telegram.repeat", language) + " " if repeat else ""
        if part := self._captioned(message, mark):
            return [part]
        texts = telegram_parts(message.text, TEXT_LIMIT - _MARK_ROOM)
        if not texts and not message.files:
            texts = [RichText(say("telegram.empty", language))]
        parts = [Part(Body(_marked(text, mark))) for text in texts]
        parts += [self._file(file, language) for file in message.files]
        if message.buttons:
            parts = list(_with_buttons(parts, message))
        return parts

    def simpler(self, part: Part) -> Part | None:
        """As Platform.simpler."""
        body = part.body
        if isinstance(body, Body) and body.text.entities:
            return replace(part, body=replace(body, text=plain(body.text, TEXT_LIMIT)))
        return replace(part, buttons=()) if part.buttons else None

    def preview(self, text: str) -> Sequence[Part]:
        """As Platform.preview."""
        return [Part(Body(each)) for each in telegram_parts(text, TEXT_LIMIT - _MARK_ROOM, growing=True)]

    def is_photo(self, file: Attachment) -> bool:
        """Whether Telegram shows this file as a picture."""
        return file.mime in _PHOTOS and (self._size(file) or 0) <= PHOTO_BYTES

    def _captioned(self, message: OutboundMessage, mark: str) -> Part | None:
        """One file with a short text is one message, unless the text was already shown growing, as a text."""
        if len(message.files) != 1 or message.turn is not None or message.buttons:
            return None
        part = self._file(message.files[0], self._language(message.address))
        texts = telegram_parts(message.text, CAPTION_LIMIT - _MARK_ROOM)
        if part.file is None or len(texts) != 1:
            return None
        return replace(part, body=Body(_marked(texts[0], mark)))

    def _file(self, file: Attachment, language: Language) -> Part:
        size, name = self._size(file), file.name or file.path.rpartition("/")[2]
        if size is None:
            return Part(Body(RichText(say("telegram.file_missing", language, name=name))))
        if size > self._largest:
            figures = {"size": -(-size // MB), "most": self._largest // MB}
            return Part(Body(RichText(say("telegram.file_too_big", language, name=name, path=file.path, **figures))))
        return Part(file=file)

    def _size(self, file: Attachment) -> int | None:
        """In bytes; None for what is not there, and for an empty file, which Telegram refuses."""
        try:
            return self._media.path(file).stat().st_size or None
        except (OSError, StoreError):
            return None


def _marked(text: RichText, mark: str) -> RichText:
    shift = len(mark.encode("utf-16-le")) // 2
    return RichText(mark + text.text, tuple(replace(each, offset=each.offset + shift) for each in text.entities))


def _with_buttons(parts: Sequence[Part], message: OutboundMessage) -> Iterator[Part]:
    """The buttons stand below the last text."""
    last = max((number for number, part in enumerate(parts) if part.file is None), default=-1)
    for number, part in enumerate(parts):
        if number == last and isinstance(part.body, Body):
            body = replace(part.body, question=message.id, holds_up_a_turn=message.holds_up_a_turn)
            yield Part(body, buttons=message.buttons)
        else:
            yield part
