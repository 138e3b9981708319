"""Where a session's file is: any key has exactly one, and each tells its key.

A key `channel:chat[:topic]` becomes `<channel>/<chat[.topic]>.jsonl`; one without a colon `<key>.jsonl`.
Only a-z, 0-9, "-" and "_" stand for themselves, so that names differ on file systems that ignore case
or normalise letters; all else is percent-encoded, a dot inside a part, too. "%00" is the empty part.
"""

import hashlib
from pathlib import PurePosixPath
from urllib.parse import unquote_to_bytes

from nanobot.errors import StoreError

SUFFIX = ".jsonl"

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
_DEVICES = frozenset(  # Windows reserves them in every folder and with any ending
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)
_EMPTY = "\0"  # no key holds it
_LONGEST = 200  # bytes; names are at most 255, and endings like .jsonl.torn need some
_HASH = 32  # hexadecimal digits
_CUT = "~"  # never stands in an encoded name


def path_of(key: str) -> PurePosixPath:
    """The path below sessions/. Raises StoreError for a key that is empty or holds a NUL."""
    if not key or "\0" in key:
        raise StoreError(f"{key!r} cannot be the name of a session: it is empty or holds a NUL.")
    channel, *rest = (_encode(part) for part in key.split(":", 2))
    if not rest:
        return PurePosixPath(_short(channel) + SUFFIX)
    return PurePosixPath(_short(channel), _short(".".join(rest)) + SUFFIX)


def key_of(path: PurePosixPath) -> str | None:
    """The key whose file has this path below sessions/; None if the path does not tell it, or is none of ours."""
    if is_shortened(path) or not path.name.endswith(SUFFIX):
        return None
    parts = [*path.parts[:-1], *path.name.removesuffix(SUFFIX).split(".")]
    try:
        key = ":".join(_decode(part) for part in parts)
        return key if path_of(key) == path else None
    except (StoreError, UnicodeError):
        return None


def is_shortened(path: PurePosixPath) -> bool:
    """Whether a part was too long, so that the key stands elsewhere."""
    return _CUT in str(path)


def _encode(part: str) -> str:
    raw = (part or _EMPTY).encode("utf-8", "surrogatepass")
    plain_first = part not in _DEVICES
    return "".join(chr(byte) if byte in _PLAIN and (i or plain_first) else f"%{byte:02X}" for i, byte in enumerate(raw))


def _decode(part: str) -> str:
    return unquote_to_bytes(part).decode("utf-8", "surrogatepass").replace(_EMPTY, "")


def _short(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}{_CUT}{hashlib.sha256(name.encode()).hexdigest()[:_HASH]}"
