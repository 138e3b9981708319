"""Runs a command so that nothing of it is left behind: no process, no endless output."""

import asyncio
import os
import re
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

_KEPT_HEAD = 4_000_000  # bytes of output that are kept; what comes between head and tail is counted only
_KEPT_TAIL = 100_000
_CHUNK = 65_536
_DRAIN = 1.0  # seconds in which output may still come after the command itself has ended
_GRACE = 2.0  # seconds between asking a process to end and making it

_ESCAPES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended: its exit code (negative: the signal), whether the time was up, and what it wrote."""

    output: str
    code: int
    timed_out: bool
    left_running: bool


class Output:
    """What a command writes, in bounded memory."""

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


async def run(words: Sequence[str], folder: Path, environment: Mapping[str, str], *, seconds: float) -> Finished:
    """Run a command to its end, at most for so long; its whole process group ends with it, also when cancelled.

    Raises OSError if it cannot be started.
    """
    output = Output()
    async with _pipe() as (reader, writer):
        process = await _start(words, folder, environment, writer)
        writer.close()
        timed_out, left_running = await _to_its_end(process, output.collect(reader), seconds)
    return Finished(await asyncio.to_thread(output.text), await process.wait(), timed_out, left_running)


async def _to_its_end(process: Process, collect: Coroutine[None, None, None], seconds: float) -> tuple[bool, bool]:
    """Whether the time was up, and whether something still ran when the command itself had ended."""
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
        with suppress(OSError):
            _signal((await starting).pid, signal.SIGKILL)
        raise


async def _end(process: Process, collecting: asyncio.Task[None]) -> bool:
    """End the process group: asked first, then made to; whether there was anybody left."""
    if not _signal(process.pid, signal.SIGTERM):
        return False
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await process.wait()
                await asyncio.wait([collecting])
    finally:
        _signal(process.pid, signal.SIGKILL)
    await process.wait()
    return True


def _signal(group: int, number: signal.Signals) -> bool:
    """Whether anybody in the group got it."""
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
