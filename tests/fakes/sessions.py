"""A SessionStore in memory."""

from collections.abc import Collection, Sequence
from datetime import datetime

from nanobot.sessions import lines
from nanobot.sessions.replay import follow
from nanobot.sessions.store import path_of
from nanobot.transcript import Archived, Line, Message, Owed, Reset, Session, SessionInfo, Span


class InMemorySessions:
    """Keeps every line that was appended in `logs`."""

    def __init__(self) -> None:
        self.logs: dict[str, list[Line]] = {}
        self._open: dict[str, Session] = {}

    def restarted(self) -> "InMemorySessions":
        """The same conversations as a new process finds them."""
        other = InMemorySessions()
        other.logs = self.logs
        return other

    async def load(self, key: str) -> Session:
        path_of(key)
        if key not in self._open:
            self._open[key] = Session(key)
            follow(self._open[key], self.logs.get(key, []))
        return self._open[key]

    async def append(self, session: Session, *added: Line) -> None:
        path_of(session.key)
        if added:
            _, readable = lines.encode(added)
            self.logs.setdefault(session.key, []).extend(readable)
            follow(session, readable)

    async def first_words(self, key: str) -> Message | None:
        path_of(key)
        first: Message | None = None
        for line in reversed(self.logs.get(key, [])):
            if isinstance(line, Reset) and first:
                break
            if isinstance(line, Message) and line.role == "user":
                first = line
        return first

    async def messages(self, key: str) -> Sequence[Message]:
        path_of(key)
        return [line for line in self.logs.get(key, []) if isinstance(line, Message)]

    async def between(self, key: str, spans: Collection[Span]) -> Sequence[Message]:
        every = await self.messages(key)
        places = {message.id: place for place, message in enumerate(every)}
        wanted: set[int] = set()
        for first, last in spans:
            if first in places and last in places:
                begin = places[first]
                while begin and every[begin].turn and every[begin - 1].turn == every[begin].turn:
                    begin -= 1
                wanted.update(range(begin, places[last] + 1))
        return [every[place] for place in sorted(wanted)]

    async def unarchived(self, key: str) -> Sequence[Sequence[Message]]:
        parts: list[list[Message]] = [[]]
        for line in self._behind_the_archived(key):
            if isinstance(line, Reset):
                parts.append([])
            elif isinstance(line, Message):
                parts[-1].append(line)
        return parts

    async def owed(self) -> Sequence[Owed]:
        found = []
        for key in self.logs:
            *over, running = await self.unarchived(key)
            if said := [message for part in [*over, running] for message in part]:
                found.append(Owed(key, said[-1].at, any(over)))
        return found

    def _behind_the_archived(self, key: str) -> Sequence[Line]:
        log = self.logs.get(key, [])
        marks = [line for line in log if isinstance(line, Archived)]
        if not marks:
            return log
        place = max(i for i, line in enumerate(log) if isinstance(line, Message) and line.id == marks[-1].through)
        return log[place + 1 :]

    async def list(self) -> Sequence[SessionInfo]:
        infos = [SessionInfo(key, log[-1].at, len(lines.encode(log)[0])) for key, log in self.logs.items()]
        return sorted(infos, key=lambda info: datetime.fromisoformat(info.updated), reverse=True)

    async def delete(self, key: str) -> bool:
        path_of(key)
        self._open.pop(key, None)
        return self.logs.pop(key, None) is not None
