"""Sessions as JSONL files: one line per message, on disk the moment it exists."""

import asyncio
import hashlib
import logging
import os
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from urllib.parse import unquote_to_bytes
from weakref import WeakValueDictionary

from nanobot.aio import shielded
from nanobot.errors import StoreError
from nanobot.sessions import lines
from nanobot.sessions.replay import Replay, follow, read_first_words, read_owed, read_spans, read_unarchived
from nanobot.store import jsonl
from nanobot.store.documents import check_regular
from nanobot.store.jsonl import Stamp, torn_path
from nanobot.store.private import sync_folder
from nanobot.store.state import read_state, write_state
from nanobot.transcript import Line, Message, Owed, Session, SessionInfo, Span
from nanobot.workspace import Workspace

# Paths of session files: each key has one, and each file tells its key.
#
# A key `channel:chat[:topic]` becomes `<channel>/<chat[.topic]>.jsonl`; one without a colon `<key>.jsonl`.
# Only a-z, 0-9, "-" and "_" stand for themselves, so that names differ on file systems that ignore case
# or normalise letters; all else is percent-encoded, a dot inside a part, too. "%00" is the empty part.


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
    """True if a part was too long, so that the key stands elsewhere."""
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


# Session store.


_LONGEST_HEADER = 64 * 1024  # bytes; a key is far shorter

_log = logging.getLogger(__name__)


class SessionFiles:
    """Finds the file of a key, and the key of a file.

    A name that had to be shortened does not tell its key: that stands in the file's header, and
    in the workspace's state for the day the header is damaged.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._folder = workspace.sessions
        self._names = workspace.session_names
        self._lock = threading.Lock()  # for the file of names

    def path(self, key: str) -> Path:
        """Return the path of a session's file. Raises StoreError for an impossible key."""
        return self._folder / path_of(key)

    def check(self, path: Path) -> None:
        """Raise OSError for what must not be opened: a pipe, a device, a folder, a link that leads out of sessions/."""
        if self._leads_out(path):
            raise OSError("it is a link that leads out of the folder of conversations")
        with suppress(FileNotFoundError):
            check_regular(path.stat())

    def paths(self) -> Iterator[Path]:
        """Every file that may be a session's. What must not be opened is left out, with a warning."""
        for path in [*self._folder.glob(f"*{SUFFIX}"), *self._folder.glob(f"*/*{SUFFIX}")]:
            try:
                self.check(path)
            except OSError as error:
                _log.warning("%s is left out: %s", path, error.strerror or error)
            else:
                if path.exists():
                    yield path

    def remember(self, key: str) -> None:
        """Record the key of a file that is about to be made, if its name does not tell it. Raises StoreError."""
        path = path_of(key)
        if is_shortened(path):
            with self._lock:
                names = self._read()
                if names.get(str(path)) != key:
                    write_state(self._names, names | {str(path): key})

    def all(self) -> Iterator[tuple[str, Path]]:
        """Every key with its file. Files that are not sessions are left out. Raises StoreError."""
        names: dict[str, str] | None = None
        for path in self.paths():
            inside = PurePosixPath(path.relative_to(self._folder))
            key = key_of(inside)
            if key is None and is_shortened(inside):
                names = self._read() if names is None else names
                key = _first_that_fits(inside, names.get(str(inside)), _key_in_header(path))
            if key is not None:
                yield key, path

    def delete(self, key: str) -> bool:
        """Remove a session's file with all that was set aside; False if there is none. Raises OSError, StoreError."""
        path = self.path(key)
        torn_path(path).unlink(missing_ok=True)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        sync_folder(path.parent)
        inside = path_of(key)
        if is_shortened(inside):
            with self._lock:
                names = self._read()
                if names.pop(str(inside), None):
                    write_state(self._names, names)
        return True

    def _leads_out(self, path: Path) -> bool:
        links = (path, path.parent) if path.parent != self._folder else (path,)  # sessions/ may be elsewhere itself
        if not any(link.is_symlink() for link in links):
            return False
        return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self._folder))

    def _read(self) -> dict[str, str]:
        return read_state(self._names, dict[str, str], {})


def _key_in_header(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return lines.header_key(file.readline(_LONGEST_HEADER))
    except OSError:
        return None


def _first_that_fits(path: PurePosixPath, *keys: str | None) -> str | None:
    return next((key for key in keys if key and "\0" not in key and path_of(key) == path), None)


REPLAY_BYTES = 4 * 1024 * 1024
"""How much of a log is read at most: some 500,000 tokens of English."""

_OPEN_AT_ONCE = 512  # sessions kept in memory; one that was not used for long is read again


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
                opened = await shielded(asyncio.to_thread(self._read, key, path))
                self._keep(opened)
            self._opened.move_to_end(key)
            return opened.session

    async def append(self, session: Session, *lines: Line) -> None:
        self._files.path(session.key)  # a key that cannot be is refused whatever there is to add
        if lines:
            async with self._lock(session.key):
                await shielded(self._append(session, lines))

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
            return await shielded(asyncio.to_thread(self._delete, key, path))

    async def revise(self, key: str, work: Callable[[Path], None]) -> None:
        """Have a conversation's file written anew while nobody adds to it; what is open is read anew. Blocks nobody.

        Raises StoreError.
        """
        path = self._files.path(key)
        async with self._lock(key):
            self._opened.pop(key, None)
            self._bad.pop(path, None)
            await shielded(asyncio.to_thread(self._revise, path, work))

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
