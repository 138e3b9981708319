"""Replay of a session: what follows its last reset or window mark, pieces of it, and what is in no episode yet."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import BinaryIO

from nanobot.sessions import lines
from nanobot.store import jsonl
from nanobot.transcript import (
    ApprovalMark,
    Archived,
    Ended,
    Line,
    Message,
    Owed,
    QueuedMessage,
    Reset,
    Session,
    Span,
    Window,
)

# Replay of a session from its end.


def follow(session: Session, lines: Iterable[Line]) -> None:
    """Bring a session up to date with lines that were added to its log."""
    for line in lines:
        match line:
            case Message():
                _add(session, line)
            case ApprovalMark():
                session.asking = line.turn if line.open else ""
            case Ended():
                session.ended.add(line.turn)
                _forget_ended(session)
            case Reset() | Window():
                _leave_behind(session, line)
            case Archived():
                session.episodes = line.cursor
            case QueuedMessage(message=message):
                session.waiting[message.inbound or ""] = message


class Replay:
    """Gathers a session from its lines, given from the last one backwards."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._before: list[Message] = []  # what stands before the window and goes along
        self._ended: set[str] = set()
        self._retried: dict[str, str] = {}  # turns that were asked again: the id of the message that did so
        self._brief: str | None = None
        self._window: Window | None = None
        self._older: str | None = None  # where the window before began
        self._begun = False  # the window's first message was met
        self._episodes: int | None = None
        self._knows_episodes = False
        self._recorded: set[str | None] = set()  # by `inbound`
        self._waiting: dict[str, Message] = {}
        self._asking: str | None = None  # None as long as neither a question nor a message was met

    def take(self, line: Line | None) -> bool:
        """Take the line before; False once nothing before it belongs to the replay."""
        if type(line) is Message:
            return self._take_message(line)
        match line:
            case Reset():
                return False
            case Ended():
                self._ended.add(line.turn)
            case ApprovalMark() if self._asking is None:
                self._asking = line.turn if line.open else ""
            case Window():
                self._take_episodes(line.episodes)
                self._take_window(line)
            case Archived():
                self._take_episodes(line.cursor)
            case QueuedMessage(message=message) if message.inbound not in self._recorded:
                self._waiting.setdefault(message.inbound or "", message)
        return True

    def session(self, key: str) -> Session:
        """Session as gathered."""
        session = Session(key, [*self._before[::-1], *self._messages[::-1]], self._ended, episodes=self._episodes)
        session.asking = self._asking or ""
        session.waiting = dict(reversed(self._waiting.items()))
        if self._window is not None and self._begun:
            session.kept = len(self._before)
            session.brief = self._brief or self._window.brief
        _forget_ended(session)
        return session

    def _take_message(self, message: Message) -> bool:
        if self._asking is None:
            self._asking = ""
        self._recorded.add(message.inbound)
        if message.retries:
            self._retried[message.retries] = message.id
        in_place = self._retried.get(message.turn)
        if self._window is None:
            self._messages += [] if in_place else [message]
            return True
        if in_place and message.id == self._window.brief:
            self._brief = in_place
        if not self._begun:
            self._messages += [] if in_place else [message]
            self._begun = message.id == self._window.start
            return not self._begun or (bool(self._window.kept) and message.id != self._older)
        if message.turn in self._window.kept and not in_place:
            self._before.append(message)
        elif self._before and self._before[-1].turn == self._window.kept[0]:
            return False
        return message.id != self._older

    def _take_window(self, window: Window) -> None:
        if self._window is None:
            self._window = window
        elif self._older is None:
            self._older = window.start

    def _take_episodes(self, cursor: int | None) -> None:
        if not self._knows_episodes:
            self._episodes, self._knows_episodes = cursor, True


def _add(session: Session, message: Message) -> None:
    if message.retries:
        _set_aside(session, message.retries, message.id)
    session.messages.append(message)
    session.asking = ""
    session.waiting.pop(message.inbound or "", None)


def _leave_behind(session: Session, mark: Reset | Window) -> None:
    if isinstance(mark, Window):
        _move_window(session, mark)
        return
    session.messages.clear()
    session.ended.clear()
    session.kept, session.brief, session.episodes, session.asking = 0, None, None, ""


def _set_aside(session: Session, turn: str, in_place: str) -> None:
    """Drop a turn from the replay: the message `in_place` asks the same again."""
    before = session.messages[: session.kept]
    if any(message.turn == turn and message.id == session.brief for message in session.messages):
        session.brief = in_place
    session.kept -= sum(message.turn == turn for message in before)
    session.messages[:] = [message for message in session.messages if message.turn != turn]
    session.ended.discard(turn)


def _move_window(session: Session, window: Window) -> None:
    """Drop what stands before the message `start`, but for the turns that go along.

    Of several messages with this id the last one counts. What went along with the window before, does not again.
    """
    messages = session.messages
    start = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].id == window.start), None)
    if start is not None:
        before = [message for message in messages[session.kept : start] if message.turn in window.kept]
        messages[:start] = before
        session.kept, session.brief = len(before), window.brief
    session.episodes = window.episodes
    _forget_ended(session)


def _forget_ended(session: Session) -> None:
    """Keep the turns that have messages here."""
    if session.ended:
        session.ended &= {message.turn for message in session.messages}


# Pieces of a session, read from the end of its log.


MOST = 16 << 20
"""Bytes of the lines that are given at once: a piece whose beginning is gone would have none."""

LOOKED_THROUGH = 1 << 20
"""Bytes at the end of a log in which its first words are looked for; of a longer one they are the first in there."""

_FIRST = (b'"role":"user"', b'"type":"reset"')


def read_first_words(descriptor: int, size: int) -> Message | None:
    """Return the first words since the last reset; None if there are none. Raises OSError."""
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


# Messages that are in no episode yet.


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
    """True if something is in no episode, by the last lines; None if all is. Raises OSError."""
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
    """Return the position of the first line behind the last archived message; 0 if none is archived."""
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
