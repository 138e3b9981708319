"""Runs a command so that nothing of it is left behind: no process, no endless output."""

import asyncio
import logging
import os
import re
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from nanobot.aio import shielded
from nanobot.ids import new_id
from nanobot.workspace import PRIVATE_FILE

MARK = "STARTED_BY_NANOBOT"
"""The variable in the environment of a command, and of all that it starts, that holds the name of its record."""

_RECORD = "command_"
_PROCESSES = Path("/proc")  # of Linux; elsewhere nobody's environment can be read

_log = logging.getLogger(__name__)

_KEPT_HEAD = 4_000_000  # bytes of output that are kept; what comes between head and tail is counted only
_KEPT_TAIL = 100_000
_CHUNK = 65_536
_DRAIN = 1.0  # seconds in which output may still come after the command itself has ended
_GRACE = 2.0  # seconds between asking a process to end and making it
_LOOK = 0.02  # seconds between two looks whether it has ended

_ESCAPES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")

_INHERITED = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LOGNAME", "SHELL", "TMPDIR", "TZ", "USER"}
)
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

# The model can write files that git takes for a bare repository, with a configuration that names programs to run.
_GIT = {"safe.bareRepository": "explicit", "core.fsmonitor": "false"}


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a command: what is on a short list, and what makes it harmless.

    TERM says that nobody paints here.
    """
    folders = environment.get("PATH", _USUAL_PATH).split(os.pathsep)
    clean = {name: value for name, value in environment.items() if name in _INHERITED}
    # A relative folder on the PATH would be one in the workspace, where the model can write programs.
    clean["PATH"] = os.pathsep.join(filter(os.path.isabs, folders)) or _USUAL_PATH
    clean["TERM"] = "dumb"
    clean["GIT_CONFIG_COUNT"] = str(len(_GIT))
    for number, (key, value) in enumerate(_GIT.items()):
        clean[f"GIT_CONFIG_KEY_{number}"], clean[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return clean


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    """End of a command: its exit code (negative: the signal), whether the time was up, and its output."""

    output: str
    code: int
    timed_out: bool
    left_running: bool


class CommandOutput:
    """Output of a command, in bounded memory."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    async def collect(self, reader: asyncio.StreamReader) -> None:
        """Take in everything until nobody can write any more."""
        while chunk := await reader.read(_CHUNK):
            room = _KEPT_HEAD - len(self._head)
            self._head += chunk[:room]
            self._tail += chunk[room:]
            if (surplus := len(self._tail) - _KEPT_TAIL) > 0:
                del self._tail[:surplus]
                self._dropped += surplus

    def text(self) -> str:
        """As a person would have seen it in the end: no escape sequences, no progress bars that were painted over."""
        if self._dropped:
            gap = f"\n[… {self._dropped:,} bytes of output were not kept …]\n"
            return _plain(self._head) + gap + _plain(self._tail)
        return _plain(self._head + self._tail)


async def run(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], *, seconds: float, records: Path, turn: str
) -> FinishedCommand:
    """Run a command to its end, at most for so long; its whole process group ends with it, also when cancelled.

    While it runs, a file in the folder `records` says so, and in which turn. Raises OSError if it cannot be started.
    """
    output = CommandOutput()
    with _recorded(records, turn) as mark:
        async with _pipe() as (reader, writer):
            process = await _start(words, folder, {**environment, MARK: mark}, writer)
            writer.close()
            timed_out, left_running = await _to_its_end(process, output.collect(reader), seconds)
    return FinishedCommand(await asyncio.to_thread(output.text), await process.wait(), timed_out, left_running)


async def end_left_over(records: Path) -> Collection[str]:
    """End what commands of a killed process still run; the turns in which those were started.

    Only whoever has the workspace may call it, before a command of its own runs. A process is known by the mark in
    its environment, which is looked for right before each signal: a number may have passed to somebody else. What
    cannot be ended keeps its record, and the next start tries again.
    """
    left = {path.name: path for path in await asyncio.to_thread(lambda: list(records.glob(f"{_RECORD}*")))}
    left.pop(os.environ.get(MARK, ""), None)  # it started us, and waits for us
    found = groups = await asyncio.to_thread(_groups_with, left) if left else {}
    for number in (signal.SIGTERM, signal.SIGKILL):
        for group in groups:
            _signal(group, number)
        groups = await _groups_after(_GRACE, left) if groups else {}
    if groups:
        _log.warning("commands of an earlier process still run and could not be ended: groups %s", sorted(groups))
    for mark in left.keys() - groups.values():
        with suppress(OSError):
            left[mark].unlink(missing_ok=True)
    return {_turn_of(mark) for mark in set(found.values()) - set(groups.values())}


@contextmanager
def _recorded(records: Path, turn: str) -> Iterator[str]:
    """The name of a file that is there meanwhile. It holds nothing: what is run is nobody's business.

    It needs to outlive this process, not the machine, so that it need not reach the disk.
    """
    record = records / f"{_RECORD}{turn}_{new_id()}"
    with suppress(OSError):  # no reason not to run a command
        os.close(os.open(record, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))
    try:
        yield record.name
    finally:
        with suppress(OSError):
            record.unlink(missing_ok=True)


def _turn_of(mark: str) -> str:
    return mark.removeprefix(_RECORD).rpartition("_")[0]


async def _groups_after(seconds: float, marks: Collection[str]) -> Mapping[int, str]:
    """The process groups that are still there after so long; returns as soon as there are none."""
    for _ in range(round(seconds / _LOOK)):
        if not await asyncio.to_thread(_groups_with, marks):
            break
        await asyncio.sleep(_LOOK)
    return await asyncio.to_thread(_groups_with, marks)


def _groups_with(marks: Collection[str]) -> Mapping[int, str]:
    """The process groups in which somebody of ours carries one of these marks, and which one.

    A command begins a session of its own, so that all members of such a group come from it, also those that have
    hidden their environment.
    """
    groups: dict[int, str] = {}
    for path in _PROCESSES.glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or is none of ours
            variables = path.read_bytes().split(b"\0") if path.stat().st_uid == os.getuid() else []
            mark = next((line for line in variables if line.startswith(f"{MARK}=".encode())), b"")
            name = os.fsdecode(mark.partition(b"=")[2])
            if name in marks:
                groups[os.getpgid(int(path.parent.name))] = name
    groups.pop(os.getpgrp(), None)
    return groups


async def _to_its_end(process: Process, collect: Coroutine[None, None, None], seconds: float) -> tuple[bool, bool]:
    """True if the time was up, and whether something still ran when the command itself had ended."""
    timed_out = False
    async with asyncio.TaskGroup() as group:
        collecting = group.create_task(collect)
        try:
            async with asyncio.timeout(seconds):
                await process.wait()
            await asyncio.wait([collecting], timeout=_DRAIN)
        except TimeoutError:
            timed_out = True
        finally:
            try:
                left_running = await _end(process, collecting)
            finally:
                collecting.cancel()  # a process that left the group may hold the pipe for ever
    return timed_out, left_running and not timed_out


async def _start(words: Sequence[str], folder: Path, environment: Mapping[str, str], writer: FileIO) -> Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *words,
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await shielded(_kill_when_started(starting))
        raise


async def _kill_when_started(starting: asyncio.Future[Process]) -> None:
    with suppress(OSError):
        process = await starting
        _signal(process.pid, signal.SIGKILL)
        await process.wait()


async def _end(process: Process, collecting: asyncio.Task[None]) -> bool:
    """End the process group: asked first, then made to; whether there was anybody left."""
    anybody = _signal(process.pid, signal.SIGTERM)
    try:
        if anybody:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await process.wait()
                    await asyncio.wait([collecting])
    finally:
        _signal(process.pid, signal.SIGKILL)
        await shielded(process.wait())
    return anybody


def _signal(group: int, number: signal.Signals) -> bool:
    """True if anybody in the group got it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS says "not permitted" of those who have ended
        return False
    return True


@asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, FileIO]]:
    """Our own, not asyncio's: with that one, some versions of Python wait for a process until its pipe is closed."""
    reading, writing = os.pipe()
    with FileIO(reading) as source, FileIO(writing, "w") as writer:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
        try:
            yield reader, writer
        finally:
            transport.close()


def _plain(data: bytearray) -> str:
    text = _ESCAPES.sub("", data.decode("utf-8", "replace").replace("\r\n", "\n"))
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROL.sub("\ufffd", "\n".join(lines))
