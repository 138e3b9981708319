"""What of a conversation is replayed: that which follows its last reset or window mark."""

from collections.abc import Iterable

from nanobot.transcript import Archived, Asked, Ended, Line, Message, QueuedMessage, Reset, Session, Window


def follow(session: Session, lines: Iterable[Line]) -> None:
    """Bring a session up to date with lines that were added to its log."""
    for line in lines:
        match line:
            case Message():
                _add(session, line)
            case Asked():
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
            case Asked() if self._asking is None:
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
        """What was gathered."""
        session = Session(key, [*self._before[::-1], *self._messages[::-1]], self._ended, episodes=self._episodes)
        session.asking = self._asking or ""
        session.waiting = dict(reversed(self._waiting.items()))
        if self._window is not None and self._begun:
            session.along = len(self._before)
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
    session.along, session.brief, session.episodes, session.asking = 0, None, None, ""


def _set_aside(session: Session, turn: str, in_place: str) -> None:
    """Drop a turn from the replay: the message `in_place` asks the same again."""
    before = session.messages[: session.along]
    if any(message.turn == turn and message.id == session.brief for message in session.messages):
        session.brief = in_place
    session.along -= sum(message.turn == turn for message in before)
    session.messages[:] = [message for message in session.messages if message.turn != turn]
    session.ended.discard(turn)


def _move_window(session: Session, window: Window) -> None:
    """Drop what stands before the message `start`, but for the turns that go along.

    Of several messages with this id the last one counts. What went along with the window before, does not again.
    """
    messages = session.messages
    start = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].id == window.start), None)
    if start is not None:
        before = [message for message in messages[session.along : start] if message.turn in window.kept]
        messages[:start] = before
        session.along, session.brief = len(before), window.brief
    session.episodes = window.episodes
    _forget_ended(session)


def _forget_ended(session: Session) -> None:
    """Keep the turns that have messages here."""
    if session.ended:
        session.ended &= {message.turn for message in session.messages}
