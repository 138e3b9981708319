"""Messages as they lie in a row, and the keys by which rows are found."""

import hashlib
from dataclasses import fields, replace
from typing import Any, Literal, TypeVar

import msgspec

from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.ports import Trouble

T = TypeVar("T", bound=InboundMessage | OutboundMessage | Trouble)


class UnreadableError(Exception):
    """What lies in a row is not what was put there."""


def key(kind: Literal["in", "out", "turn"], name: str) -> bytes:
    """A name as 16 bytes: as long as it is remembered that an id was seen, nothing of a chat is kept for it."""
    return hashlib.blake2b(valid(name).encode(), digest_size=16, person=kind.encode()).digest()


def encode(content: InboundMessage | OutboundMessage | Trouble) -> bytes:
    """As JSON. Half a surrogate pair, which JSON can carry and UTF-8 cannot, becomes U+FFFD."""
    try:
        return msgspec.json.encode(content)
    except UnicodeEncodeError:
        return msgspec.json.encode(_valid(msgspec.to_builtins(content)))


def decode(raw: bytes, kind: type[T]) -> T:
    """What was encoded. Raises UnreadableError."""
    try:
        content = msgspec.json.decode(raw, type=kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableError(str(error)) from error
    lists: dict[str, Any] = {
        field.name: tuple(value) for field in fields(content) if isinstance(value := getattr(content, field.name), list)
    }
    return replace(content, **lists)


def valid(text: str) -> str:
    """Text that can be written as UTF-8."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _valid(content: Any) -> Any:
    if isinstance(content, str):
        return valid(content)
    if isinstance(content, dict):
        return {name: _valid(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_valid(value) for value in content]
    return content
