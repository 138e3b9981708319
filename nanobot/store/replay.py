"""What of a conversation is replayed: that which follows its last reset or window mark."""

from collections.abc import Iterable

from nanobot.transcript import Archived, Ended, Line, Message, Reset, Session, Window


def follow(session: Session, lines: Iterable[Line]) -> None:
    """Bring a session up to date with lines that were added to its log."""
    for line in lines:
        match line:
            case Message():
                session.messages.append(line)
            case Ended():
                session.ended.add(line.turn)
                _forget_ended(session)
            case Reset():
                session.messages.clear()
                session.ended.clear()
            case Window():
                _move_window(session, line.start)
            case Archived():
                pass


class Replay:
    """Gathers a session from its lines, given from the last one backwards."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._ended: set[str] = set()
        self._start: str | None = None

    def take(self, line: Line | None) -> bool:
        """Take the line before; False once nothing before it belongs to the replay."""
        if type(line) is Message:
            self._messages.append(line)
            return line.id != self._start
        match line:
            case Reset():
                return False
            case Ended():
                self._ended.add(line.turn)
            case Window() if self._start is None:
                self._start = line.start
        return True

    def session(self, key: str) -> Session:
        """What was gathered."""
        session = Session(key, self._messages[::-1], self._ended)
        _forget_ended(session)
        return session


def _move_window(session: Session, start: str) -> None:
    """Drop what stands before the message `start`; of several with this id the last one counts."""
    for i in range(len(session.messages) - 1, -1, -1):
        if session.messages[i].id == start:
            del session.messages[:i]
            break
    _forget_ended(session)


def _forget_ended(session: Session) -> None:
    """Keep the turns that have messages here."""
    if session.ended:
        session.ended &= {message.turn for message in session.messages}
