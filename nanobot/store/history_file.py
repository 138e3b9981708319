"""history.jsonl as a file: appended to, read from its end, and elsewhere by the places of its lines."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from nanobot.ports import Episode
from nanobot.store import episode_lines, jsonl
from nanobot.store.cursor import read_cursor, write_cursor
from nanobot.store.episode_index import EpisodeIndex, Field
from nanobot.store.episode_lines import Head
from nanobot.store.stamp import Stamp

TAIL = 256 * 1024
"""Bytes at the end that are looked through before the places of all lines are gathered."""

_log = logging.getLogger(__name__)

T = TypeVar("T")
Wanted = Callable[[Head], bool]


class HistoryFile:
    """Each method blocks and raises OSError; one thread at a time."""

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
        line = episode_lines.encode(replace(episode, cursor=self._highest + 1))
        before, after = jsonl.append(self._path, line, first=b"", durable=self._fsync)
        written = episode_lines.decode(line)
        if before == self._stamp:
            self._stamp, self._last, self._highest = after, written.cursor, written.cursor
            if self._index is not None:
                self._index.add(episode_lines.head(line), after.size - len(line))
        else:  # somebody else wrote, too: look anew
            self._looked = False
        try:
            write_cursor(self._cursor, written.cursor)
        except OSError as error:  # the line says it, too
            _log.warning("%s could not be written: %s", self._cursor, error.strerror or error)
        return written

    def revise(self, work: Callable[[Path], T]) -> T:
        """What the work returns, which may put another file in place of this one. No number is given again."""
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

        def is_wanted(head: Head) -> bool:
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

    def _add(self, index: EpisodeIndex, head: Head, at: int) -> None:
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

    def _head(self, at: int, line: bytes) -> Head | None:
        try:
            return episode_lines.head(line)
        except ValueError as error:
            self._warn(at, error)
            return None

    def _episode(self, at: int, line: bytes) -> Sequence[Episode]:
        """One or, if the line cannot be read, none."""
        try:
            return [episode_lines.decode(line)]
        except ValueError as error:
            self._warn(at, error)
            return []

    def _warn(self, at: int, error: ValueError) -> None:
        if at not in self._bad:
            self._bad.add(at)
            number = jsonl.line_number(self._path, at)
            _log.warning("%s, line %d cannot be read and is left out: %s", self._path, number, error)
