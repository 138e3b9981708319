"""The files in a message."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from telegram import Message, PhotoSize


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
