"""memory/history.jsonl: the episodes on disk, appended to, read from the end, found by number."""

import asyncio
import json
import logging
import os
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from nanobot.aio import shielded
from nanobot.authority import Origin, Scope
from nanobot.errors import StoreError
from nanobot.ports import Episode, Fact
from nanobot.store import jsonl
from nanobot.store.jsonl import loads
from nanobot.store.private import Stamp, utf8
from nanobot.store.state import read_cursor, write_cursor
from nanobot.workspace import Workspace

# Lines of history.jsonl.


T = TypeVar("T")


class EpisodeHead(msgspec.Struct):
    """Head of an episode, which identifies it without reading all of it."""

    cursor: int
    session: str
    scope: str


class _Fact(msgspec.Struct, kw_only=True, omit_defaults=True):
    text: str
    category: str = ""
    confidence: float = 1.0
    messages: tuple[str, ...]


class _Episode(msgspec.Struct, kw_only=True, omit_defaults=True):
    cursor: int
    timestamp: str
    session: str
    scope: str
    origin: Origin
    messages: tuple[str, str]
    content: str
    facts: tuple[_Fact, ...] = ()
    raw: bool = False
    own: tuple[str, ...] | None = None


_head = msgspec.json.Decoder(EpisodeHead).decode
_episode = msgspec.json.Decoder(_Episode).decode


def encode(episode: Episode) -> bytes:
    """Line of an episode, its newline included.

    A lone surrogate becomes U+FFFD; of `own`, only lines that are there are kept.
    """
    lines = episode.content.split("\n")
    row = _Episode(
        cursor=episode.cursor,
        timestamp=episode.timestamp,
        session=episode.session,
        scope=episode.scope.name,
        origin=episode.origin,
        messages=episode.messages,
        content=episode.content,
        facts=tuple(
            _Fact(text=fact.text, category=fact.category, confidence=fact.confidence, messages=tuple(fact.messages))
            for fact in episode.facts
        ),
        raw=episode.raw,
        own=None if episode.own is None else tuple(line for line in episode.own if line in lines),
    )
    try:
        return msgspec.json.encode(row) + b"\n"
    except UnicodeEncodeError:
        return utf8(json.dumps(msgspec.to_builtins(row), ensure_ascii=False, separators=(",", ":"))) + b"\n"


def decode(line: bytes) -> Episode:
    """Decode a line; unknown fields are left out. Raises ValueError."""
    row = _read(_episode, line)
    return Episode(
        cursor=row.cursor,
        timestamp=row.timestamp,
        session=row.session,
        scope=Scope(row.scope),
        origin=row.origin,
        messages=row.messages,
        content=row.content,
        facts=_facts(row.facts),
        raw=row.raw,
        own=row.own,
    )


def is_readable(line: bytes) -> bool:
    """True if it is an episode."""
    try:
        decode(line)
    except ValueError:
        return False
    return True


def head(line: bytes) -> EpisodeHead:
    """Number, session and scope of a line. Raises ValueError."""
    return _read(_head, line)


def _read(as_kind: Callable[[bytes], T], line: bytes) -> T:
    try:
        return as_kind(line)
    except ValueError:
        if rb"\ud" not in line and rb"\uD" not in line:
            raise
        return as_kind(utf8(json.dumps(loads(line), ensure_ascii=False)))  # legal JSON, but not to msgspec
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _facts(rows: Sequence[_Fact]) -> tuple[Fact, ...]:
    return tuple(Fact(row.text, row.messages, row.category, row.confidence) for row in rows)


# Places of the episodes in history.jsonl.


Field = Literal["scope", "session"]

_BYTES = "Q"
_LINES = "L"


class EpisodeIndex:
    """The places of all episodes by number, scope and session, in memory: some 30 bytes for each."""

    def __init__(self) -> None:
        self._cursors = array(_BYTES)
        self._places = array(_BYTES)
        self._of_scope: defaultdict[str, array[int]] = defaultdict(lambda: array(_LINES))
        self._of_session: defaultdict[str, array[int]] = defaultdict(lambda: array(_LINES))

    def add(self, head: EpisodeHead, place: int) -> None:
        """Take in the next line, which begins at this byte. Raises ValueError if its number is not a higher one."""
        if self._cursors and head.cursor <= self._cursors[-1]:
            raise ValueError(f"its number, {head.cursor}, does not follow {self._cursors[-1]}")
        number = len(self._cursors)
        self._cursors.append(head.cursor)
        self._places.append(place)
        self._of_scope[head.scope].append(number)
        self._of_session[head.session].append(number)

    def after(self, cursor: int, limit: int) -> Sequence[int]:
        """The places of the next episodes, oldest first."""
        start = bisect_right(self._cursors, cursor)
        return self._places[start : start + limit]

    def newest(self, field: Field, value: str, limit: int, through: int | None = None) -> Sequence[int]:
        """The places of the newest episodes with this in a field, up to a number, newest first."""
        numbers = (self._of_scope if field == "scope" else self._of_session).get(value, array(_LINES))
        end = len(numbers) if through is None else bisect_left(numbers, bisect_right(self._cursors, through))
        return [self._places[number] for number in reversed(numbers[max(0, end - limit) : end])]


# The file: appended to, read from its end, and elsewhere by the places of its lines.


TAIL = 256 * 1024
"""Bytes at the end that are looked through before the places of all lines are gathered."""

_log = logging.getLogger(__name__)

Wanted = Callable[[EpisodeHead], bool]


class HistoryFile:
    """File of episodes. Each method blocks and raises OSError; one thread at a time."""

    def __init__(self, path: Path, cursor: Path, *, fsync: bool) -> None:
        self._path = path
        self._cursor = cursor
        self._fsync = fsync
        self._stamp: Stamp | None = None  # of the file for which all that follows is true
        self._looked = False
        self._last = 0  # the number of the last line
        self._highest = 0  # that was ever given
        self._index: EpisodeIndex | None = None
        self._bad: set[int] = set()  # where the lines begin that were warned of

    def append(self, episode: Episode) -> Episode:
        """Add an episode under the next number, and return it as it will be read."""
        self._look()
        line = encode(replace(episode, cursor=self._highest + 1))
        before, after = jsonl.append(self._path, line, first=b"", durable=self._fsync)
        written = decode(line)
        if before == self._stamp:
            self._stamp, self._last, self._highest = after, written.cursor, written.cursor
            if self._index is not None:
                self._index.add(head(line), after.size - len(line))
        else:  # somebody else wrote, too: look anew
            self._looked = False
        try:
            write_cursor(self._cursor, written.cursor)
        except OSError as error:  # the line says it, too
            _log.warning("%s could not be written: %s", self._cursor, error.strerror or error)
        return written

    def revise(self, work: Callable[[Path], T]) -> T:
        """Run work that may put another file in place of this one, and return its result. No number is given again."""
        self._look()
        if self._highest:
            write_cursor(self._cursor, self._highest)
        self._looked = False
        return work(self._path)

    def last(self) -> int:
        """The number of the last line, 0 if there is none."""
        self._look()
        return self._last

    def newest(self, field: Field, value: str, limit: int, through: int | None = None) -> Sequence[Episode]:
        """The last lines that have this in a field, up to a number, newest first."""

        def is_wanted(head: EpisodeHead) -> bool:
            return getattr(head, field) == value and (through is None or head.cursor <= through)

        self._look()
        near = self._near_end(is_wanted, limit) if self._index is None else None
        return near if near is not None else self._at(self._all().newest(field, value, limit, through))

    def after(self, cursor: int, limit: int) -> Sequence[Episode]:
        """The next lines behind this number, oldest first."""
        self._look()
        near = self._near_end(lambda _: True, None, behind=cursor) if self._index is None else None
        return near[::-1][:limit] if near is not None else self._at(self._all().after(cursor, limit))

    def _look(self) -> None:
        """Notice that the file is another one than we left."""
        if self._looked and self._stamp == Stamp.at(self._path):
            return
        self._stamp, self._index, self._looked = Stamp.at(self._path), None, True
        self._bad.clear()
        with self._opened() as (descriptor, size):
            heads = (self._head(at, line) for at, line in jsonl.backwards(descriptor, size))
            self._last = next((head.cursor for head in heads if head), 0)
        self._highest = max(self._last, read_cursor(self._cursor))

    def _near_end(self, wanted: Wanted, limit: int | None, *, behind: int = 0) -> list[Episode] | None:
        """The wanted lines behind a number, newest first; None if it takes more than the end of the file to say."""
        found: list[Episode] = []
        with self._opened() as (descriptor, size):
            for at, line in jsonl.backwards(descriptor, size):
                head = self._head(at, line)
                if len(found) == limit or (head and head.cursor <= behind):
                    return found
                if size - at > TAIL:
                    return None
                if head and wanted(head):
                    found += self._episode(at, line)
        return found

    def _all(self) -> EpisodeIndex:
        if self._index is None:
            self._index = EpisodeIndex()
            at = 0
            with self._opened() as (descriptor, _), os.fdopen(os.dup(descriptor), "rb") as file:
                for line in file:
                    head = self._head(at, line) if line.strip() else None
                    if head is not None:
                        self._add(self._index, head, at)
                    at += len(line)
        return self._index

    def _add(self, index: EpisodeIndex, head: EpisodeHead, at: int) -> None:
        try:
            index.add(head, at)
        except ValueError as error:
            self._warn(at, error)

    def _at(self, places: Iterable[int]) -> list[Episode]:
        found: list[Episode] = []
        with self._opened() as (descriptor, _), os.fdopen(os.dup(descriptor), "rb") as file:
            for at in places:
                file.seek(at)
                found += self._episode(at, file.readline())
        return found

    @contextmanager
    def _opened(self) -> Iterator[tuple[int, int]]:
        """A descriptor and the size as far as we looked; of a file that is not there, nothing can be read."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield descriptor, self._stamp.size if self._stamp else 0
        finally:
            os.close(descriptor)

    def _head(self, at: int, line: bytes) -> EpisodeHead | None:
        try:
            return head(line)
        except ValueError as error:
            self._warn(at, error)
            return None

    def _episode(self, at: int, line: bytes) -> Sequence[Episode]:
        """Episode in a line; None if it cannot be read."""
        try:
            return [decode(line)]
        except ValueError as error:
            self._warn(at, error)
            return []

    def _warn(self, at: int, error: ValueError) -> None:
        if at not in self._bad:
            self._bad.add(at)
            number = jsonl.line_number(self._path, at)
            _log.warning("%s, line %d cannot be read and is left out: %s", self._path, number, error)


# Store of episodes.


class EpisodeStore:
    """The Episodes on disk; one process writes them.

    A number is never given twice, also when the last line was erased: `.cursor` remembers the highest one.
    A line that cannot be read is left out, with a warning, and stays where it is.
    """

    def __init__(self, workspace: Workspace, *, fsync: bool = True) -> None:
        """`fsync`: whether an append returns only when its bytes are on the disk itself."""
        self._path = workspace.history
        self._file = HistoryFile(workspace.history, workspace.history_cursor, fsync=fsync)
        self._lock = asyncio.Lock()

    async def append(self, episode: Episode) -> Episode:
        return await self._in_order(lambda: self._file.append(episode))

    async def last(self) -> int:
        return await self._in_order(self._file.last)

    async def after(self, cursor: int, limit: int) -> Sequence[Episode]:
        return await self._in_order(lambda: self._file.after(cursor, limit))

    async def newest(self, scope: Scope, limit: int, through: int | None = None) -> Sequence[Episode]:
        return await self._in_order(lambda: self._file.newest("scope", scope.name, limit, through))

    async def get(self, cursor: int) -> Episode | None:
        found = await self.after(cursor - 1, 1)
        return found[0] if found and found[0].cursor == cursor else None

    async def of_session(self, session: str, limit: int, through: int | None = None) -> Sequence[Episode]:
        return await self._in_order(lambda: self._file.newest("session", session, limit, through))

    async def revise(self, work: Callable[[Path], T]) -> T:
        """Have the file written anew while nobody adds to it. Raises StoreError."""
        return await self._in_order(lambda: self._file.revise(work))

    async def _in_order(self, work: Callable[[], T]) -> T:
        """Run the work in a thread, one after the other, and to its end."""
        async with self._lock:
            return await shielded(self._in_thread(work))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise StoreError(f"{self._path} could not be read or written: {error.strerror or error}") from error


async def bad_lines(workspace: Workspace) -> int:
    """Return the number of unreadable lines. Raises StoreError."""
    return await asyncio.to_thread(_bad_lines, workspace.history)


def _bad_lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(bool(line.strip()) and not is_readable(line) for line in file)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreError(f"{path} could not be read: {error.strerror or error}") from error
