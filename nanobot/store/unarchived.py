"""What of a session is in no episode yet, read from its log."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from nanobot.store import jsonl, lines
from nanobot.transcript import Archived, Line, Message, Owed, Reset

MOST_MESSAGES = 2000
"""That are given at once; the rest comes when these are archived."""

LOOKED_AT = 256 * 1024
"""Bytes at the end of a log in which a reset is looked for."""

_HEAD = 32  # bytes in which a line's type stands


def read_unarchived(file: BinaryIO, size: int) -> Sequence[Sequence[Message]]:
    """The oldest messages that are in no episode, conversation by conversation: a reset begins a new one.

    Lines that cannot be read are left out. Raises OSError.
    """
    file.seek(_start(file.fileno(), size))
    parts: list[list[Message]] = [[]]
    count = 0
    for raw in file:
        match _decoded(raw):
            case Message() as message:
                if count == MOST_MESSAGES:
                    break
                parts[-1].append(message)
                count += 1
            case Reset():
                parts.append([])
    return parts


def read_owed(descriptor: int, size: int, key: str) -> Owed | None:
    """Whether something is in no episode, by the last lines; None if all is. Raises OSError."""
    newest: Message | None = None
    has_reset = False
    for at, line in _behind_the_archived(descriptor, size):
        has_reset = has_reset or isinstance(line, Reset)
        if isinstance(line, Message):
            newest = newest or line
            if has_reset:
                return Owed(key, newest.at, is_reset=True)
        if newest is not None and size - at > LOOKED_AT:
            break
    return Owed(key, newest.at, is_reset=False) if newest else None


def _behind_the_archived(descriptor: int, size: int) -> Iterator[tuple[int, Message | Reset]]:
    """The messages and resets behind the last message that is in an episode, the last one first."""
    through: str | None = None
    for at, raw in jsonl.backwards(descriptor, size):
        match _decoded(raw):
            case Archived() as mark:
                through = through or mark.through
            case Message() as message if message.id == through:
                return
            case Message() | Reset() as line:
                yield at, line


def _start(descriptor: int, size: int) -> int:
    """Where the first line stands behind the last message that is in an episode; 0 if none is."""
    mark: tuple[int, str] | None = None
    for at, raw in jsonl.backwards(descriptor, size):
        if mark is None:
            line = _decoded(raw) if b"archived" in raw[:_HEAD] else None
            if isinstance(line, Archived):
                mark = at, line.through
        elif mark[1].encode("utf-8", "replace") in raw and _is_message(_decoded(raw), mark[1]):
            return at + len(raw)
    return mark[0] if mark else 0  # its message was erased: it stood before the mark


def _is_message(line: Line | None, name: str) -> bool:
    return isinstance(line, Message) and line.id == name


def _decoded(raw: bytes) -> Line | None:
    try:
        return lines.decode(raw)
    except ValueError:
        return None
