"""A process that has imported the program, and forks whenever a test wants it run.

Most of what starting `nanobot` costs is imports, and the tests start it a hundred times. Here it is
imported once per test worker; each fork then runs the real command, with its own arguments,
environment and standard streams, and is killed as any process is. That the command also starts by
itself is shown by tests/cli/test_main.py, tests/test_examples.py and all tests in a terminal.

Run as `python -m tests.fakes.forker FILE`, the number of an open socket. It ends when that does.
"""

import gc
import importlib
import os
import pkgutil
import select
import signal
import socket
import sys
from contextlib import suppress

import msgspec

import nanobot
from nanobot.cli import main
from nanobot.models import endpoint
from tests.fakes.disk import nothing_is_flushed

LAZY = ("openai.resources.chat.completions", "discord", "telegram.ext", "httpx2", "aiohttp.web", "apscheduler", "yaml")
"""What nanobot imports only once it needs it."""

LONGEST = 1 << 20  # bytes of a request
STREAMS = 3  # standard input, output, error


class Request(msgspec.Struct):
    """What is to run, and where."""

    arguments: list[str]
    env: dict[str, str]
    folder: str


def _import_all() -> None:
    for module in pkgutil.walk_packages(nanobot.__path__, "nanobot."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in LAZY:
        importlib.import_module(name)
    endpoint.tls(trust_env=False)
    gc.freeze()  # else each child's first collection copies all of it


def _serve(requests: socket.socket) -> int:
    """Fork for each request, until there are no more; the exit code, in a fork that of the command."""
    while True:
        request, files, _, _ = socket.recv_fds(requests, LONGEST, STREAMS + 1)
        if not request:
            return 0
        if not os.fork():
            requests.close()
            return _attend(msgspec.json.decode(request, type=Request), files[:STREAMS], files[STREAMS])
        for file in files:
            os.close(file)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _attend(request: Request, streams: list[int], report: int) -> int:
    """Fork once more, and report the child's number and how it ended: only its parent hears of that."""
    child = os.fork()
    if not child:
        os.close(report)
        return _run(request, streams)
    for file in streams:
        os.close(file)
    os.write(report, b"%d\n" % child)
    _await(child, report)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(BrokenPipeError):  # who asked is gone
        os.write(report, b"%d\n" % status)
    os._exit(0)


def _await(child: int, report: int) -> None:
    """Wait until it has ended; when nobody reads the report any more, the tests were killed, and it is, too."""
    if not hasattr(os, "pidfd_open"):
        return
    ended = os.pidfd_open(child)
    waiting = select.poll()
    waiting.register(ended, select.POLLIN)
    waiting.register(report, 0)  # its other end was closed
    if ended not in dict(waiting.poll()):
        os.kill(child, signal.SIGKILL)
    os.close(ended)


def _run(request: Request, streams: list[int]) -> int:
    for stream, file in enumerate(streams):
        os.dup2(file, stream)
        os.close(file)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.env)
    sys.argv = ["nanobot", *request.arguments]
    return main()


if __name__ == "__main__":
    _import_all()
    nothing_is_flushed()
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1]))))
