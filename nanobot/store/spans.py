"""Pieces of a session, read from the end of its log."""

from collections import defaultdict
from collections.abc import Collection

from nanobot.store import jsonl, lines
from nanobot.transcript import Message, Reset, Span

MOST = 16 << 20
"""Bytes of the lines that are given at once: a piece whose beginning is gone would have none."""

LOOKED_THROUGH = 1 << 20
"""Bytes at the end of a log in which its first words are looked for; of a longer one they are the first in there."""

_FIRST = (b'"role":"user"', b'"type":"reset"')


def read_first_words(descriptor: int, size: int) -> Message | None:
    """What was said first since the last reset; None if nothing was. Raises OSError."""
    first: Message | None = None
    for at, raw in jsonl.backwards(descriptor, size):
        if any(mark in raw for mark in _FIRST):
            try:
                line = lines.decode(raw)
            except ValueError:
                continue
            if isinstance(line, Reset) and first:
                break
            if isinstance(line, Message) and line.role == "user":
                first = line
        if size - at > LOOKED_THROUGH:
            break
    return first


def read_spans(descriptor: int, size: int, spans: Collection[Span]) -> list[Message]:
    """The messages of these pieces in their order, each from the beginning of its first turn on.

    Of a log to which lines are being added, the last one may be torn: it is not there yet. Lines that cannot be read
    are left out. Raises OSError.
    """
    pieces = _Pieces(spans)
    for _, raw in jsonl.backwards(descriptor, size):
        pieces.take(raw)
        if pieces.are_whole or pieces.size > MOST:
            break
    return pieces.found[::-1]


class _Pieces:
    """Told the lines of a log from the last to the first; reads those that may belong to one of them."""

    def __init__(self, spans: Collection[Span]) -> None:
        self._waiting: defaultdict[str, set[str]] = defaultdict(set)  # where pieces begin, by where they end
        for first, last in spans:
            self._waiting[last].add(first)
        self._open: set[str] = set()  # the beginnings of pieces that were begun at their ends
        self._turn: str | None = None  # of the newest message that was found: it is read to its beginning
        self.found: list[Message] = []
        self.size = 0

    @property
    def are_whole(self) -> bool:
        return not (self._waiting or self._open or self._turn)

    def take(self, raw: bytes) -> None:
        is_inside = self._open or self._turn
        if not is_inside and not any(name.encode("utf-8", "replace") in raw for name in self._waiting):
            return
        try:
            message = lines.decode(raw)
        except ValueError:
            return
        if not isinstance(message, Message):
            return
        self._open |= self._waiting.pop(message.id, set())
        if not self._open and message.turn != self._turn:
            self._turn = None
            return
        self.found.append(message)
        self.size += len(raw)
        if self._open:
            self._turn = message.turn or None
            self._open.discard(message.id)
