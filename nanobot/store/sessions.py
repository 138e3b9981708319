"""Sessions as JSONL files: one line per message, on disk the moment it exists."""

import asyncio
import logging
import os
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from weakref import WeakValueDictionary

from nanobot.errors import StoreError
from nanobot.store import jsonl, lines
from nanobot.store.jsonl import Stamp
from nanobot.store.replay import Replay, follow
from nanobot.store.session_files import SessionFiles
from nanobot.store.spans import read_first_words, read_spans
from nanobot.store.unarchived import read_owed, read_unarchived
from nanobot.transcript import Line, Message, Owed, Session, SessionInfo, Span
from nanobot.uncancelled import to_the_end
from nanobot.workspace import Workspace

REPLAY_BYTES = 4 * 1024 * 1024
"""How much of a log is read at most: some 500,000 tokens of English."""

_OPEN_AT_ONCE = 512  # sessions kept in memory; one that was not used for long is read again

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Opened:
    """A session in memory, and the file as we left it (None: no file)."""

    session: Session
    stamp: Stamp | None


class SessionManager:
    """The SessionStore on disk. One process writes a workspace; each session has its own order of writing."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        fsync: bool = True,
        replay_bytes: int = REPLAY_BYTES,
        on_append: Callable[[str], None] | None = None,
    ) -> None:
        """Say how durable, and who else follows.

        Args:
            workspace: its sessions are kept.
            fsync: whether an append returns only when its bytes are on the disk itself.
            replay_bytes: how much of a log is read at most.
            on_append: told the key of each session to which something was just added.
        """
        self._on_append = on_append
        self._files = SessionFiles(workspace)
        self._fsync = fsync
        self._replay_bytes = replay_bytes
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._bad: defaultdict[Path, set[int]] = defaultdict(set)  # where the bad lines begin that were met so far
        self._owed: dict[Path, tuple[Stamp, Owed | None]] = {}  # of the files as they were then

    async def load(self, key: str) -> Session:
        path = self._files.path(key)
        async with self._lock(key):
            opened = self._opened.get(key)
            if opened is None or opened.stamp != Stamp.at(path):
                opened = await to_the_end(asyncio.to_thread(self._read, key, path))
                self._keep(opened)
            self._opened.move_to_end(key)
            return opened.session

    async def append(self, session: Session, *lines: Line) -> None:
        self._files.path(session.key)  # a key that cannot be is refused whatever there is to add
        if lines:
            async with self._lock(session.key):
                await to_the_end(self._append(session, lines))

    async def messages(self, key: str) -> Sequence[Message]:
        return await asyncio.to_thread(self._read_all, self._files.path(key))

    async def between(self, key: str, spans: Collection[Span]) -> Sequence[Message]:
        return await asyncio.to_thread(self._read_spans, self._files.path(key), spans)

    async def first_words(self, key: str) -> Message | None:
        return await asyncio.to_thread(self._read_first_words, self._files.path(key))

    async def unarchived(self, key: str) -> Sequence[Sequence[Message]]:
        path = self._files.path(key)
        async with self._lock(key):
            return await asyncio.to_thread(self._read_unarchived, path)

    async def owed(self) -> Sequence[Owed]:
        return await asyncio.to_thread(self._list_owed)

    async def list(self) -> Sequence[SessionInfo]:
        """All conversations, the latest first. Their bad lines are those met so far; `messages` meets all."""
        return await asyncio.to_thread(self._list)

    async def delete(self, key: str) -> bool:
        path = self._files.path(key)
        async with self._lock(key):
            self._opened.pop(key, None)
            self._bad.pop(path, None)
            return await to_the_end(asyncio.to_thread(self._delete, key, path))

    async def revise(self, key: str, work: Callable[[Path], None]) -> None:
        """Have a conversation's file written anew while nobody adds to it; what is open is read anew. Blocks nobody.

        Raises StoreError.
        """
        path = self._files.path(key)
        async with self._lock(key):
            self._opened.pop(key, None)
            self._bad.pop(path, None)
            await to_the_end(asyncio.to_thread(self._revise, path, work))

    def _lock(self, key: str) -> asyncio.Lock:
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock

    def _keep(self, opened: _Opened) -> None:
        self._opened[opened.session.key] = opened
        if len(self._opened) > _OPEN_AT_ONCE:
            self._opened.popitem(last=False)

    async def _append(self, session: Session, added: Sequence[Line]) -> None:
        data, readable = lines.encode(added)
        _log.debug("%s: %d lines are to be added", session.key, len(added))
        before, after = await asyncio.to_thread(self._write, session.key, data, added[0].at)
        _log.debug("%s: %d lines are added", session.key, len(added))
        follow(session, readable)
        opened = self._opened.get(session.key)
        if opened and opened.session is session and opened.stamp == before:
            opened.stamp = after
        else:  # somebody else wrote, too, or this session was not ours: read it anew
            self._opened.pop(session.key, None)
        if self._on_append:
            self._on_append(session.key)

    def _write(self, key: str, data: bytes, at: str) -> tuple[Stamp | None, Stamp]:
        path = self._files.path(key)
        try:
            self._files.check(path)
            if not path.exists():
                self._files.remember(key)
            return jsonl.append(path, data, first=lines.header(key, at), durable=self._fsync)
        except OSError as error:
            raise StoreError(f"{path} could not be written: {error.strerror or error}") from error

    def _read(self, key: str, path: Path) -> _Opened:
        replay = Replay()
        try:
            self._files.check(path)
            jsonl.settle(path)
            with path.open("rb") as file:
                stamp = Stamp.of(os.fstat(file.fileno()))
                self._bad[path] = {at for at in tuple(self._bad[path]) if at < stamp.size}
                self._gather(file.fileno(), stamp.size, path, replay)
        except FileNotFoundError:
            return _Opened(Session(key), None)
        except OSError as error:
            raise _unreadable(path, error) from error
        return _Opened(replay.session(key), stamp if stamp.size else None)

    def _gather(self, descriptor: int, size: int, path: Path, replay: Replay) -> None:
        enough = size - self._replay_bytes
        for at, raw in jsonl.backwards(descriptor, size):
            try:
                goes_on = replay.take(lines.decode(raw))
            except ValueError as error:
                self._note_bad(path, at, error)
            else:
                if not goes_on:
                    return
            if at <= enough:
                return

    def _read_all(self, path: Path) -> Sequence[Message]:
        messages: list[Message] = []
        at = 0
        try:
            self._files.check(path)
            with path.open("rb") as file:
                for raw in file:
                    try:
                        line = lines.decode(raw) if raw.strip() else None
                        if isinstance(line, Message):
                            messages.append(line)
                    except ValueError as error:
                        if raw.endswith(b"\n"):  # else it is torn, or just being written: not there yet
                            self._note_bad(path, at, error)
                    at += len(raw)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unreadable(path, error) from error
        return messages

    def _read_spans(self, path: Path, spans: Collection[Span]) -> Sequence[Message]:
        try:
            self._files.check(path)
            with path.open("rb") as file:
                return read_spans(file.fileno(), os.fstat(file.fileno()).st_size, spans)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unreadable(path, error) from error

    def _read_first_words(self, path: Path) -> Message | None:
        try:
            self._files.check(path)
            with path.open("rb") as file:
                return read_first_words(file.fileno(), os.fstat(file.fileno()).st_size)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(path, error) from error

    def _read_unarchived(self, path: Path) -> Sequence[Sequence[Message]]:
        try:
            self._files.check(path)
            with path.open("rb") as file:
                return read_unarchived(file, os.fstat(file.fileno()).st_size)
        except FileNotFoundError:
            return [[]]
        except OSError as error:
            raise _unreadable(path, error) from error

    def _list_owed(self) -> Sequence[Owed]:
        """An unchanged file costs a stat."""
        known = {path: self._owed_by(key, path) for key, path in self._files.all()}
        self._owed = {path: found for path, found in known.items() if found}
        return [owed for _, owed in self._owed.values() if owed]

    def _owed_by(self, key: str, path: Path) -> tuple[Stamp, Owed | None] | None:
        try:
            known, stamp = self._owed.get(path), Stamp.at(path)
            if known and known[0] == stamp:
                return known
            with path.open("rb") as file:
                stamp = Stamp.of(os.fstat(file.fileno()))
                return stamp, read_owed(file.fileno(), stamp.size, key)
        except OSError as error:
            _log.warning("%s is left out: %s", path, error.strerror or error)
            return None

    def _note_bad(self, path: Path, at: int, error: ValueError) -> None:
        if at not in self._bad[path]:
            self._bad[path].add(at)
            _log.warning("%s, line %d cannot be read and is left out: %s", path, jsonl.line_number(path, at), error)

    def _list(self) -> Sequence[SessionInfo]:
        infos = [info for key, path in self._files.all() if (info := self._info(key, path))]
        return sorted(infos, key=lambda info: _moment(info.updated), reverse=True)

    def _info(self, key: str, path: Path) -> SessionInfo | None:
        try:
            with path.open("rb") as file:
                info = os.fstat(file.fileno())
                updated = _last_time(file.fileno(), info.st_size)
        except FileNotFoundError:  # deleted a moment ago
            return None
        except OSError as error:
            _log.warning("%s is left out of the list: %s", path, error.strerror or error)
            return None
        updated = updated or datetime.fromtimestamp(info.st_mtime).astimezone().isoformat(timespec="milliseconds")
        return SessionInfo(key, updated, info.st_size, len(self._bad.get(path, ()))) if info.st_size else None

    def _revise(self, path: Path, work: Callable[[Path], None]) -> None:
        try:
            work(path)
        except OSError as error:
            raise StoreError(f"{path} could not be written: {error.strerror or error}") from error

    def _delete(self, key: str, path: Path) -> bool:
        try:
            return self._files.delete(key)
        except OSError as error:
            raise StoreError(f"{path} could not be deleted: {error.strerror or error}") from error


def _last_time(descriptor: int, size: int) -> str | None:
    for _, raw in jsonl.backwards(descriptor, size):
        try:
            at = lines.time_of(raw)
            _moment(at)
        except (ValueError, OverflowError):
            continue
        return at
    return None


def _moment(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def _unreadable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path} could not be read: {error.strerror or error}")
