"""Small JSON files that the program keeps for itself: cursors, job times, models, people, proposals, Dream."""

import asyncio
import fcntl
import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from nanobot.aio import shielded
from nanobot.errors import StoreError
from nanobot.ports import DreamRecord, Edit, ProposedChange, SummaryFailure
from nanobot.ports.people import PeopleBook
from nanobot.store.documents import check_regular
from nanobot.store.private import private_folder, remove, write_private
from nanobot.text import parse_time
from nanobot.workspace import PRIVATE_FILE, Workspace

# Cursor file.


_MOST_DIGITS = 18

_log = logging.getLogger(__name__)


def read_cursor(path: Path) -> int:
    """The number in the file; 0 if there is no file, or no number in it (then with a warning). Raises OSError."""
    try:
        text = path.read_bytes()[: _MOST_DIGITS + 2].strip()
    except FileNotFoundError:
        return 0
    if text.isdigit() and len(text) <= _MOST_DIGITS:
        return int(text)
    _log.warning("%s holds no number and is not believed", path)
    return 0


def write_cursor(path: Path, number: int) -> None:
    """Write a number that is not smaller than the last one. Not durable by itself. Blocks; raises OSError.

    It is written over the old one, which is never longer, so that no moment leaves the file without a number.
    """
    data = b"%d\n" % number
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, PRIVATE_FILE)
    except FileNotFoundError:
        private_folder(path.parent)
        descriptor = os.open(path, flags, PRIVATE_FILE)
    try:
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))  # something else may have stood there
    finally:
        os.close(descriptor)


# JSON state file.


T = TypeVar("T")


def read_state(path: Path, kind: type[T], otherwise: T) -> T:
    """Return the content of the file, as this type; `otherwise` if there is no file.

    A file that cannot be understood is set aside, with a warning. Raises StoreError if it cannot be read.
    """
    try:
        check_regular(path.stat())
        return msgspec.convert(json.loads(path.read_bytes()), kind)
    except FileNotFoundError:
        return otherwise
    except (ValueError, RecursionError) as error:
        aside = path.with_name(f"{path.name}.damaged")
        path.replace(aside)
        _log.warning("%s is damaged (%s); it was set aside as %s", path, error, aside)
        return otherwise
    except OSError as error:
        raise StoreError(f"{path} could not be read: {error.strerror or error}") from error


@contextmanager
def locked_state(path: Path) -> Iterator[None]:
    """Keep other processes out that read the file and write it back; where locks do not work, nobody is kept out.

    Blocks until they have done so. Raises StoreError if the folder cannot be written.
    """
    try:
        private_folder(path.parent)
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    except OSError as error:
        raise StoreError(f"{path}.lock could not be opened: {error.strerror or error}") from error
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_state(path: Path, content: object) -> None:
    """Replace the file, durably. Raises StoreError."""
    write_private(path, json.dumps(content, indent=1, sort_keys=True) + "\n")  # ASCII: keys may hold lone surrogates


# Job times.


class JobTimesFile:
    """The JobTimes in a small file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._times: dict[str, datetime] | None = None
        self._writing = asyncio.Lock()

    def last(self, name: str) -> datetime | None:
        return self._known().get(name)

    async def note(self, name: str, at: datetime) -> None:
        times = self._known()
        times[name] = at
        async with self._writing:  # so that what is written last holds all
            content = {job: time.isoformat() for job, time in times.items()}
            await shielded(asyncio.to_thread(write_state, self._path, content))

    def _known(self) -> dict[str, datetime]:
        if self._times is None:
            kept = read_state(self._path, dict[str, str], {})
            self._times = {name: moment for name, text in kept.items() if (moment := _moment(name, text))}
        return self._times


def _moment(name: str, text: str) -> datetime | None:
    moment = parse_time(text)
    if moment is None:
        _log.warning("when the job %s last began cannot be read (%r); it counts as never", name, text)
    return moment


# Models chosen for sessions.


class StoredSessionModels:
    """Remembers choices in the workspace's state, which is read when first needed and written by one process."""

    def __init__(self, workspace: Workspace) -> None:
        self._path = workspace.session_models
        self._lock = asyncio.Lock()

    def get(self, key: str) -> str | None:
        """The preset chosen for a session; None if nothing was. Raises StoreError if what is there cannot be read."""
        return self._chosen.get(key)

    async def set(self, key: str, preset: str | None) -> None:
        """Remember the choice; None forgets it. Raises StoreError; then the old one holds."""
        async with self._lock:
            await shielded(self._set(key, preset))

    @cached_property
    def _chosen(self) -> dict[str, str]:
        return read_state(self._path, dict[str, str], {})

    async def _set(self, key: str, preset: str | None) -> None:
        chosen = {known: value for known, value in self._chosen.items() if known != key}
        if preset is not None:
            chosen[key] = preset
        if chosen != self._chosen:
            await asyncio.to_thread(write_state, self._path, chosen)
            self._chosen = chosen


# People.


class PeopleFile:
    """A PeopleStore, written by one process."""

    def __init__(self, workspace: Workspace) -> None:
        self._path = workspace.people

    def read(self) -> PeopleBook:
        return read_state(self._path, PeopleBook, PeopleBook())

    async def write(self, book: PeopleBook) -> None:
        await asyncio.to_thread(write_state, self._path, msgspec.to_builtins(book))


# Proposals.


class _Row(msgspec.Struct):
    """As it stands in the file: the contents apart, as text in which a byte that is no UTF-8 is half a surrogate."""

    proposal: ProposedChange
    texts: dict[str, tuple[str | None, str | None]]


class ProposalsFile:
    """The ProposalStore in a small file; there is none while nothing waits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._one_at_a_time = asyncio.Lock()

    async def read(self) -> Sequence[ProposedChange]:
        return await asyncio.to_thread(self._read)

    async def change(self, edit: Callable[[Sequence[ProposedChange]], Sequence[ProposedChange]]) -> None:
        async with self._one_at_a_time:
            await shielded(asyncio.to_thread(self._change, edit))

    def _change(self, edit: Callable[[Sequence[ProposedChange]], Sequence[ProposedChange]]) -> None:
        before = self._read()
        after = edit(before)
        if list(after) == list(before):
            return
        _log.debug("%d proposals are to be kept", len(after))
        try:
            if after:
                write_state(self._path, [msgspec.to_builtins(_row(proposal)) for proposal in after])
            else:
                remove(self._path)
        except OSError as error:
            raise StoreError(f"{self._path} could not be written: {error.strerror or error}") from error
        _log.debug("%d proposals are kept", len(after))

    def _read(self) -> Sequence[ProposedChange]:
        return [_proposal(row) for row in read_state(self._path, list[_Row], [])]


def _row(proposal: ProposedChange) -> _Row:
    texts = {path: (_text(edit.before), _text(edit.after)) for path, edit in proposal.edits.items()}
    return _Row(replace(proposal, edits={}), texts)


def _proposal(row: _Row) -> ProposedChange:
    edits = {path: Edit(_bytes(before), _bytes(after)) for path, (before, after) in row.texts.items()}
    return replace(row.proposal, edits=edits)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


# State of Dream.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """As it stands in the file, where keys are texts."""

    last: str = ""
    outcome: str = ""
    failure: str = ""
    failures: int = 0
    not_before: str = ""
    day: str = ""
    runs: int = 0
    smaller: int = 0
    tries: dict[str, int] = field(default_factory=dict)
    set_aside: list[int] = field(default_factory=list)
    gave_up: dict[str, str] = field(default_factory=dict)


class DreamFiles:
    """The DreamBook on disk."""

    def __init__(self, workspace: Workspace) -> None:
        self._cursor = workspace.dream_cursor
        self._record = workspace.dreams
        self._summaries = workspace.summaries

    async def cursor(self) -> int:
        try:
            return await asyncio.to_thread(read_cursor, self._cursor)
        except OSError as error:
            raise StoreError(f"{self._cursor} could not be read: {error.strerror or error}") from error

    async def move(self, cursor: int) -> None:
        await shielded(asyncio.to_thread(write_private, self._cursor, f"{cursor}\n"))

    async def read(self) -> DreamRecord:
        found = await asyncio.to_thread(read_state, self._record, _Record, _Record())
        fields = {name: getattr(found, name) for name in _Record.__slots__}
        tries = {int(cursor): count for cursor, count in found.tries.items() if cursor.isdecimal()}
        gave_up = {int(cursor): model for cursor, model in found.gave_up.items() if cursor.isdecimal()}
        return DreamRecord(**{**fields, "tries": tries, "set_aside": tuple(found.set_aside), "gave_up": gave_up})

    async def write(self, record: DreamRecord) -> None:
        await shielded(asyncio.to_thread(write_state, self._record, asdict(record)))

    async def summary_failure(self) -> SummaryFailure:
        return await asyncio.to_thread(read_state, self._summaries, SummaryFailure, SummaryFailure())

    async def write_summary_failure(self, failure: SummaryFailure) -> None:
        await shielded(asyncio.to_thread(write_state, self._summaries, asdict(failure)))
