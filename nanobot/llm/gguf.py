"""GGUF files: whether one is whole, which model is in it, and why one cannot be loaded, for a person to read.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from nanobot.errors import WeightsError

MAGIC = b"GGUF"
VERSIONS = range(1, 1 << 16)  # 3 at present; a file for big-endian machines seems to have a far higher one

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_MOST_NESTED = 4
_LONGEST_TEXT = 1 << 24
_ALIGNMENT = 32
_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 30: (1, 2),
}  # fmt: skip
"""Elements and bytes of a block, by the type of a tensor; of a type that is not here one byte is expected."""


@dataclass(frozen=True, slots=True)
class GgufFile:
    """What the head of a file says: which kind of model it holds, and how many bytes the file must have."""

    architecture: str
    needed: int


def check_weights(path: Path) -> GgufFile:
    """Read the head of a model file. Raises WeightsError if it is gone, no GGUF file, or not whole."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = _read_head(file, path, size)
    except FileNotFoundError:
        raise WeightsError("gone", path) from None
    except OSError as error:
        raise WeightsError("unreadable", path, error=error.strerror or str(error)) from error
    if head.needed > size:
        raise WeightsError("truncated", path, size=size, needed=head.needed)
    if head.needed > _physical_memory():
        raise WeightsError("memory", path, needed=head.needed, free=_physical_memory())
    return head


def why_not_loaded(path: Path, head: GgufFile) -> WeightsError:
    """Why the engine refused a file that is whole: it only says that it did."""
    free = _free_memory()
    if head.needed > free:
        return WeightsError("memory", path, needed=head.needed, free=free)
    return WeightsError("architecture", path, architecture=head.architecture or "?")


def _read_head(file: BinaryIO, path: Path, size: int) -> GgufFile:
    if file.read(4) != MAGIC:
        raise WeightsError("truncated" if size == 0 else "not_gguf", path, size=size, needed="?")
    try:
        version, tensors, pairs = struct.unpack("<IQQ", _exactly(file, 20))
        if version not in VERSIONS:
            raise WeightsError("not_gguf", path)
        keys = dict(_pair(file) for _ in range(pairs))
        end = max((_tensor(file) for _ in range(tensors)), default=0)
    except EOFError:
        raise WeightsError("truncated", path, size=size, needed="?") from None
    except (ValueError, struct.error):
        raise WeightsError("not_gguf", path) from None
    alignment = keys.get("general.alignment")
    step = alignment if isinstance(alignment, int) and alignment > 0 else _ALIGNMENT
    return GgufFile(str(keys.get("general.architecture") or ""), -(-file.tell() // step) * step + end)


def _pair(file: BinaryIO) -> tuple[str, object]:
    name = _text(file)
    (kind,) = struct.unpack("<I", _exactly(file, 4))
    return name, _value(file, kind)


def _value(file: BinaryIO, kind: int, depth: int = 0) -> object:
    """A text or a whole number; what is neither is skipped."""
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY:
        inner, count = struct.unpack("<IQ", _exactly(file, 12))
        if inner in _SIZES:
            _skip(file, _SIZES[inner] * count)
        elif depth < _MOST_NESTED:
            for _ in range(count):
                _value(file, inner, depth + 1)
        else:
            raise ValueError("nested too deeply")
        return None
    if kind not in _SIZES:
        raise ValueError(f"a value of kind {kind}")
    raw = _exactly(file, _SIZES[kind])
    return int.from_bytes(raw, "little") if kind in (4, 10) else None


def _tensor(file: BinaryIO) -> int:
    """Where a tensor ends, behind the head."""
    _text(file)
    (dimensions,) = struct.unpack("<I", _exactly(file, 4))
    if dimensions > 8:
        raise ValueError(f"{dimensions} dimensions")
    elements = 1
    for size in struct.unpack(f"<{dimensions}Q", _exactly(file, 8 * dimensions)):
        elements *= size
    kind, offset = struct.unpack("<IQ", _exactly(file, 12))
    per_block, size = _BLOCKS.get(kind, (max(1, elements), 1))
    return int(offset + elements // per_block * size)


def _text(file: BinaryIO) -> str:
    (size,) = struct.unpack("<Q", _exactly(file, 8))
    if size > _LONGEST_TEXT:
        raise ValueError("a text without end")
    return _exactly(file, size).decode("utf-8", "replace")


def _exactly(file: BinaryIO, size: int) -> bytes:
    raw = file.read(size)
    if len(raw) < size:
        raise EOFError
    return raw


def _skip(file: BinaryIO, size: int) -> None:
    if file.seek(size, os.SEEK_CUR) > os.fstat(file.fileno()).st_size:
        raise EOFError


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 1 << 62


def _free_memory() -> int:
    """What Linux says is available; elsewhere all there is."""
    try:
        rows = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        known: Mapping[str, str] = dict(row.split(":", 1) for row in rows if ":" in row)
        return int(known["MemAvailable"].split()[0]) * 1024
    except (OSError, ValueError, KeyError, IndexError):
        return _physical_memory()
