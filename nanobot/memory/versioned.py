"""What of a memory file is versioned: all of it but the index of notes."""

from collections.abc import Mapping
from types import MappingProxyType

from nanobot.memory.index import MARKER, lines_of, newline_of, split, without_index

_NAME = "MEMORY.md"
_CLEAN = f"""LC_ALL=C awk '
{{ line = $0; sub(/[ \\t\\r]+$/, "", line); bare = line; sub(/^[ \\t]+/, "", bare) }}
bare == "{MARKER}" {{ if (!below) fresh = 1; below = 1; next }}
below && line ~ /^- .*\\(`[^`]+`\\) · updated [0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]$/ {{ next }}
/^\\r?$/ {{ if (!fresh) held = held $0 "\\n"; next }}
{{ fresh = 0; printf "%s%s\\n", held, $0; held = "" }}'"""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class WithoutIndex:
    """A Shape: in each MEMORY.md the index block is derived from the notes, and blank lines at the end do not count."""

    filters: Mapping[str, str] = MappingProxyType({_NAME: _CLEAN})

    def versioned(self, path: str, data: bytes) -> bytes:
        if not _has_index(path, data):
            return data
        text = _text(without_index(_decoded(data)))
        return text.encode("utf-8", "surrogateescape")

    def on_disk(self, path: str, versioned: bytes, current: bytes | None) -> bytes:
        if current is None or not _has_index(path, current):
            return versioned
        block = _block(split(_decoded(current))[1])
        text = _decoded(versioned)
        if not block or split(text)[1]:
            return versioned
        gap = newline_of(text) if text else ""
        return (text + gap + block).encode("utf-8", "surrogateescape")


def _has_index(path: str, data: bytes) -> bool:
    return path.rpartition("/")[2] == _NAME and not data.startswith(_UTF16)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _text(facts: str) -> str:
    """Facts with one line end behind them, however many there were: the index brings a blank line of its own."""
    end = newline_of(facts)
    trimmed = facts.rstrip("\r\n")
    return trimmed + end if trimmed else ""


def _block(rest: str) -> str:
    """The marker and the lines of the index, without what people wrote among them."""
    kept = [line for line in lines_of(rest) if not without_index(f"{MARKER}\n{line}").strip() and line.strip()]
    return "".join(kept)
