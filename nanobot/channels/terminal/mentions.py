"""Files that a person names in what they type: `@notes.txt` goes along with the message."""

import asyncio
import mimetypes
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from nanobot.authority import Scope
from nanobot.errors import StoreError
from nanobot.messages import Attachment, Quote
from nanobot.ports import Media
from nanobot.workspace import is_secret

MOST_IN_MESSAGE = 64_000
"""Characters of files that stand in a message itself, some 16,000 tokens; what is longer goes along as a file."""

MOST_OF_FILE = 20 * 2**20
"""Bytes of a file that goes along."""

MOST_OF_PICTURE = 15 * 2**20
"""Bytes; endpoints take no larger ones."""

MOST_FILES = 20
_CHUNK = 256 * 1024
_LONGEST_PATH = 300

_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
_MENTION = re.compile(r'(?<![A-Za-z0-9_.+/@\\-])@(?:"([^"\n]+)"|((?:\\.|[^\s\\"@])+))')
_IN_PATH = re.compile(r"[A-Za-z0-9_/~-]")

Decode = Callable[[bytes], str | None]
"""The text in the bytes of a file; None if they are no text."""


class MentionError(Exception):
    """A file cannot go along; the sentence says why."""

    def __init__(self, sentence: str, **values: object) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.values = values


@dataclass(frozen=True, slots=True)
class Mention:
    """A file that was named, as it was written, and where that is."""

    written: str
    path: Path


@dataclass(slots=True)
class CarriedFiles:
    """Attachments of a message, and the sentences that tell the person so."""

    quotes: list[Quote] = field(default_factory=list)
    files: list[Attachment] = field(default_factory=list)
    told: list[tuple[str, dict[str, object]]] = field(default_factory=list)


def marks(text: str) -> Set[str]:
    """All in a text that could name a file, with its @."""
    return {match[0] for match in _MENTION.finditer(text)}


def mentions(text: str, folder: Path, pasted: Set[str] = frozenset()) -> Iterator[Mention]:
    """The files that a text names. An address, an @handle or a decorator in code is none of them.

    A name with blanks stands in quotes, or has a backslash before each. One that is not there counts if it cannot be
    meant otherwise: it is quoted, it begins like a path, its folder is there, or it ends as files do. What was `pasted`
    with its @ names none: who pastes a text has not chosen what is in it.
    """
    seen: set[Path] = set()
    for match in _MENTION.finditer(text):
        if match[0].startswith(tuple(pasted)):
            continue
        found = Mention(match[1], _place(match[1], folder)) if match[1] else _unquoted(match[2], folder)
        if found and found.path not in seen:
            seen.add(found.path)
            yield found


def gather(
    text: str, folder: Path, decode: Decode, pasted: Set[str] = frozenset()
) -> "tuple[CarriedFiles, list[tuple[Mention, str]]]":
    """Return the attachments that a text names: texts in the message, and files to be kept, with their types.

    Blocks; for use in a thread. Raises MentionError; then nothing is to be sent.
    """
    carried, to_keep, room = CarriedFiles(), list[tuple[Mention, str]](), MOST_IN_MESSAGE
    named = list(mentions(text, folder, pasted))
    if len(named) > MOST_FILES:
        raise MentionError("many_files", count=len(named), most=MOST_FILES)
    if left := [each.written for each in mentions(text, folder) if each not in named] if pasted else []:
        carried.told.append(("pasted_mention", {"names": ", ".join(left[:3])}))
    for mention in named:
        data = _read(mention)
        if mime := _picture(data):
            if len(data) > MOST_OF_PICTURE:
                raise _too_large(mention, len(data), MOST_OF_PICTURE)
            to_keep.append((mention, mime))
            carried.told.append(("picture_along", {"name": mention.written}))
            continue
        words = decode(data)
        if words is None:
            raise MentionError("file_binary", name=mention.written)
        if len(words) > room:
            to_keep.append((mention, "text/plain"))
            carried.told.append(("long_file_along", {"name": mention.written, "size": f"{len(words):,}"}))
            continue
        room -= len(words)
        carried.quotes.append(Quote(words or "(the file is empty)", str(mention.path), "file"))
        carried.told.append(("file_along", {"name": mention.written, "count": len(words.splitlines())}))
    return carried, to_keep


async def carry(
    text: str, folder: Path, decode: Decode, media: Media | None, pasted: Set[str] = frozenset()
) -> CarriedFiles:
    """Collect the attachments of a typed text. Raises MentionError, StoreError; then nothing is to be sent."""
    carried, to_keep = await asyncio.to_thread(gather, text, folder, decode, pasted)
    for mention, mime in to_keep:
        if media is None:
            raise MentionError("file_not_kept", name=mention.written)
        carried.files.append(await _keep(media, mention, mime))
    return carried


async def _keep(media: Media, mention: Mention, mime: str) -> Attachment:
    """A copy of a file where the bot may read it, in the owner's folder. Raises StoreError."""
    return await media.save(Scope.owner(), mention.path.name, mime, _pieces(mention.path))


def spelled(path: str) -> str:
    """A path as it is typed behind the @."""
    return f'"{path}"' if re.search(r'[\s"\\@]', path) or not path.isprintable() else path


def _unquoted(typed: str, folder: Path) -> Mention | None:
    """The longest beginning that is there; words may follow it without a blank, as in Chinese."""
    typed = typed[:_LONGEST_PATH]
    for end in range(len(typed), 0, -1):
        if end < len(typed) and _IN_PATH.match(typed[end]):
            continue
        name = re.sub(r"\\(.)", r"\1", typed[:end])
        if _exists(place := _place(name, folder)):
            return Mention(name, place)
    name = re.sub(r"\\(.)", r"\1", typed).rstrip(".,;:!?)]}'…，。；：！？）】」』、")
    return Mention(name, _place(name, folder)) if name and _is_path(name, folder) else None


def _is_path(name: str, folder: Path) -> bool:
    if name.startswith(("/", "./", "../", "~/")):
        return True
    place = _place(name, folder)
    is_in_folder = "/" in name and _exists(place.parent)
    return is_in_folder or (bool(place.suffix) and mimetypes.guess_type(place.name)[0] is not None)


def _place(name: str, folder: Path) -> Path:
    try:
        return folder / Path(name).expanduser()
    except RuntimeError:  # there is no such home
        return folder / name


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _read(mention: Mention) -> bytes:
    path, name = mention.path, mention.written
    try:
        if path.is_dir():
            raise MentionError("file_is_folder", name=name)
        if not path.is_file():
            raise MentionError("file_not_there" if not path.exists() else "file_special", name=name, path=path)
        real = Path(os.path.realpath(path))
        if any(is_secret(PurePosixPath(*each.parts[1:])) for each in (path.absolute(), real)):
            raise MentionError("file_secret", name=name)
        if (size := path.stat().st_size) > MOST_OF_FILE:
            raise _too_large(mention, size, MOST_OF_FILE)
        return path.read_bytes()
    except OSError as error:
        raise MentionError("file_denied", name=name, error=error.strerror or error) from error
    except ValueError:
        raise MentionError("file_not_there", name=name, path=path) from None


def _too_large(mention: Mention, size: int, most: int) -> MentionError:
    return MentionError("file_too_large", name=mention.written, size=f"{size / 2**20:.1f}", most=most // 2**20)


def _picture(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for mark, mime in _PICTURES if data.startswith(mark)), "")


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    try:
        with path.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _CHUNK):
                yield piece
    except OSError as error:
        raise StoreError(f"{path} could not be read: {error.strerror or error}") from error
