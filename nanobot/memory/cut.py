"""A text made to fit its budget, visibly."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shown:
    """What a model reads of a text. Sizes in bytes of UTF-8: of what was kept of it, and of all of it."""

    text: str
    kept: int
    size: int

    @property
    def is_cut(self) -> bool:
        return self.kept < self.size


def cut(text: str, budget: int, name: str) -> Shown:
    """As much of a text as fits into `budget` bytes, mark included, and a mark that says what was left out.

    The cut is at a line's end; within a line only if that line alone would cost more than half of the room.
    The same text and budget always give the same result.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= budget:
        return Shown(data.decode(), len(data), len(data))
    room = max(0, budget - len(_mark(name, budget, len(data), len(data)).encode()) - 1)
    kept = _whole_lines(data[: room + 1], room)
    mark = _mark(name, budget, len(kept), len(data))
    text = kept.decode()
    gap = "" if not text or text.endswith("\n") else "\n"
    return Shown(f"{text}{gap}{mark}", len(kept), len(data))


def _whole_lines(data: bytes, room: int) -> bytes:
    end = data.rfind(b"\n", 0, room) + 1
    if end >= room // 2:
        return data[:end]
    return data[:room].decode("utf-8", "ignore").encode()  # not half a character


def _mark(name: str, budget: int, kept: int, size: int) -> str:
    limit = f"{budget // 1024}KB" if budget % 1024 == 0 else f"{budget} bytes"
    return f"[{name} truncated at {limit}: kept {kept} of {size} bytes]"
