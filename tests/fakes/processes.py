"""The `nanobot` command in processes of its own, quickly: see tests/fakes/forker.py."""

import asyncio
import atexit
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import Self

import msgspec

from tests.fakes.forker import Request

ROOT = Path(__file__).parents[2]


class Running:
    """A command that runs, or ran. Where `together` was asked for, `stderr` is empty."""

    def __init__(self, report: asyncio.StreamReader, stdout: asyncio.StreamReader, stderr: asyncio.StreamReader):
        self.pid = 0
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self._report = report

    @classmethod
    async def start(cls, *arguments: str, env: Mapping[str, str] | None = None, together: bool = False) -> Self:
        """Run `nanobot` without standard input.

        `env` is added to the environment; `together`: standard error goes where standard output does.
        """
        request = Request(list(arguments), {**os.environ, **(env or {})}, str(ROOT))
        readers = []
        with ExitStack() as given:
            files = [os.open(os.devnull, os.O_RDONLY)]
            given.callback(os.close, files[0])
            for _ in range(3):
                reading, writing = os.pipe()
                given.callback(os.close, writing)
                files.append(writing)
                readers.append(await _reader(reading))
            report, out, err = files[1:]
            streams = [files[0], out, out if together else err]
            socket.send_fds(_forker(), [msgspec.json.encode(request)], [*streams, report])
        running = cls(*readers)
        running.pid = int(await running._report.readline())
        return running

    async def wait(self) -> int:
        """Wait until it has ended; its exit code, or minus the number of the signal that killed it."""
        if line := await self._report.read():
            self.returncode = int(line)
        assert self.returncode is not None
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        """Wait until it has ended; what it printed that nobody has read."""
        out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, err

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.send_signal(signal.SIGKILL)


def run(*arguments: str, text: bytes = b"", env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `nanobot` to its end, for tests without an event loop; the text is piped in."""
    request = Request(list(arguments), {**os.environ, **(env or {})}, str(ROOT))
    with TemporaryFile() as out, TemporaryFile() as err, _piped_in(text) as given:
        report, ended = os.pipe()
        socket.send_fds(_forker(), [msgspec.json.encode(request)], [given, out.fileno(), err.fileno(), ended])
        os.close(ended)
        os.close(given)
        with os.fdopen(report, "rb") as lines:
            _, code = lines.read().split()
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(arguments, int(code), out.read().decode(), err.read().decode())


@contextmanager
def _piped_in(text: bytes) -> Iterator[int]:
    """The end of a pipe from which the text is read; whoever gets it closes it."""
    reading, writing = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as pipe:
            pipe.write(text)

    writer = Thread(target=write)
    writer.start()
    yield reading
    writer.join()


async def _reader(file: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(file, "rb", 0))
    return reader


@cache
def _forker() -> socket.socket:
    """One for all tests of this process; it ends with us."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.fakes.forker", str(theirs.fileno())]
        process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
