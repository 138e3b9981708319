"""The gateway's socket: how other commands of the same person reach it, a JSON object a line."""

import asyncio
import errno
import logging
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from nanobot.errors import NanobotError, WorkspaceError
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, Workspace, set_mode

# Path.


LONGEST_PATH = 100
"""Bytes of a socket's path that every system takes (Linux 108, macOS 104, with the NUL at the end)."""


def bound(workspace: Workspace) -> socket.socket:
    """A listening socket that only its owner can reach. Whoever calls this holds the lock of the workspace.

    What a gateway that was killed left behind is replaced. Raises WorkspaceError.
    """
    try:
        return _bound(workspace)
    except OSError as error:
        raise WorkspaceError(
            f"The socket {workspace.socket} cannot be made: {error.strerror or error}. The workspace must lie on "
            "a file system that knows sockets (a share of another machine may not)."
        ) from error


def _bound(workspace: Workspace) -> socket.socket:
    removed(workspace)
    path = workspace.socket
    if len(os.fsencode(path)) > LONGEST_PATH:
        path = Path(tempfile.mkdtemp(prefix="nanobot-")) / "socket"
        _write(workspace.socket_elsewhere, os.fsencode(path))
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(os.fspath(path))
        _make_private(path)  # before it listens, so that nobody else is ever let in
        made.listen()
    except BaseException:
        made.close()
        raise
    return made


def _make_private(path: Path) -> None:
    """Others must not be able to write to it: that is how one connects."""
    if not set_mode(path, PRIVATE_FILE) and path.stat().st_mode & 0o022:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def removed(workspace: Workspace) -> None:
    """Remove the socket, and the folder that was made for it. For whoever holds the lock."""
    elsewhere = found(workspace)
    if elsewhere is not None and elsewhere != workspace.socket:
        shutil.rmtree(elsewhere.parent, ignore_errors=True)
    for path in (workspace.socket, workspace.socket_elsewhere):
        path.unlink(missing_ok=True)


def found(workspace: Workspace) -> Path | None:
    """The path at which a gateway of this workspace would listen; None if there certainly is none.

    A folder of somebody else in the place of ours is not trusted.
    """
    with suppress(OSError):
        path = Path(os.fsdecode(workspace.socket_elsewhere.read_bytes()))
        folder = path.parent.stat(follow_symlinks=False)
        is_ours = folder.st_uid == os.geteuid() and stat.S_IMODE(folder.st_mode) == PRIVATE_FOLDER
        return path if is_ours and stat.S_ISDIR(folder.st_mode) else None
    return workspace.socket if workspace.socket.is_socket() else None


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


# Connections.


LONGEST = 16 * 1024 * 1024
"""Bytes of a line: more than any text that a person pastes."""

MOST_UNREAD = 32 * 1024 * 1024
"""Bytes that wait for somebody who does not read; then the connection is cut."""

FAREWELL = 2.0
"""Seconds that somebody may take to see that we have nothing more to say."""

T = TypeVar("T")


class WireError(Exception):
    """Error: a line is none of ours."""


class SocketWire:
    """Reads and writes lines; writing never waits, so that somebody who stops reading holds up nobody."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, decoder: msgspec.json.Decoder[T]) -> T | None:
        """The next line; None at the end, however it came. Raises WireError."""
        try:
            line = await self._reader.readline()
        except ConnectionError:
            return None
        except ValueError as error:  # longer than the limit of the reader
            raise WireError("a line is too long") from error
        if not line.endswith(b"\n"):  # the end, or half a line before it
            return None
        try:
            return decoder.decode(line)
        except ValueError as error:
            raise WireError(str(error)) from error

    def write(self, line: object) -> None:
        """Send a line; lost if nobody is there any more."""
        if self._writer.is_closing():
            return
        self._writer.write(msgspec.json.encode(line) + b"\n")
        if self._writer.transport.get_write_buffer_size() > MOST_UNREAD:
            self._writer.transport.abort()

    async def aclose(self) -> None:
        """Send what is left, and close.

        What the other one is still saying is read and dropped: closing before it has ended would be an error to it,
        and could cost it the last lines of ours.
        """
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(FAREWELL):
                self._writer.write_eof()
                while await self._reader.read(LONGEST):
                    pass
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


# Server.


log = logging.getLogger(__name__)


class Hello(msgspec.Struct):
    """Greeting of the server: the first line of every connection."""

    nanobot: str  # the version
    pid: int
    is_gateway: bool = True  # else a terminal's process, which serves those that came later


class SocketRequest(msgspec.Struct):
    """Request of a client: its first line."""

    do: str
    args: list[str] = []


class SocketProblem(msgspec.Struct, tag=True):
    """Error: a request was not carried out; the text says why."""

    text: str


_WISH = msgspec.json.Decoder(SocketRequest)

Serve = Callable[[Sequence[str], SocketWire], Awaitable[None]]


class SocketServer:
    """Serves the socket of a workspace while it runs."""

    def __init__(
        self, workspace: Workspace, version: str, serve: Mapping[str, Serve], *, is_gateway: bool = True
    ) -> None:
        """`serve` does what is asked for, by name, until it returns or the connection ends."""
        self._is_gateway = is_gateway
        self._workspace = workspace
        self._version = version
        self._serve = serve

    async def run(self) -> None:
        """Serve until cancelled; then all connections are closed. Raises WorkspaceError."""
        with bound(self._workspace) as listening:
            try:
                await self._accept(listening)
            finally:
                removed(self._workspace)

    async def _accept(self, listening: socket.socket) -> None:
        async with asyncio.TaskGroup() as connections:

            def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                connections.create_task(self._connected(SocketWire(reader, writer)))

            server = await asyncio.start_unix_server(connected, sock=listening, limit=LONGEST, start_serving=False)
            try:
                await server.start_serving()
                await asyncio.Event().wait()
            finally:
                server.close()

    async def _connected(self, wire: SocketWire) -> None:
        try:
            await self._talk(wire)
        except WireError as error:
            wire.write(SocketProblem(f"This is not what nanobot says on this socket: {error}"))
        except Exception:  # the boundary of a connection
            log.exception("a connection to the socket failed")
            wire.write(SocketProblem("This should not have happened; the gateway's log has the details."))
        finally:
            await wire.aclose()

    async def _talk(self, wire: SocketWire) -> None:
        wire.write(Hello(self._version, os.getpid(), self._is_gateway))
        wish = await wire.read(_WISH)
        if wish is None:
            return
        if wish.do not in self._serve:
            wire.write(SocketProblem(f"This gateway does not know {wish.do!r}."))
            return
        await self._serve[wish.do](wish.args, wire)


# Client.


PATIENCE = 10.0
"""Seconds in which a gateway that works says who it is, however busy the machine."""


OF_GATEWAYS = ("status",)
"""What only a gateway can be asked, not the process of a terminal that serves others."""

_HELLO = msgspec.json.Decoder(Hello)


class NoGatewayError(WorkspaceError):
    """No gateway runs for this workspace."""


class DeafGatewayError(WorkspaceError):
    """Somebody holds the socket and does not answer."""


async def connected(workspace: Workspace, version: str, do: str, args: Sequence[str] = ()) -> SocketWire:
    """A connection to the gateway of this workspace that has been told what is wanted.

    Raises NoGatewayError, DeafGatewayError, and another WorkspaceError if it is of another version.
    """
    path = found(workspace)
    none = f"No gateway runs for the workspace {workspace.root}. `nanobot gateway` starts one."
    if path is None:
        raise NoGatewayError(none)
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST)
    except (FileNotFoundError, ConnectionRefusedError):  # a gateway that was killed leaves the file behind
        raise NoGatewayError(none) from None
    except OSError as error:
        raise WorkspaceError(f"The gateway's socket {path} cannot be used: {error.strerror or error}.") from error
    wire = SocketWire(reader, writer)
    try:
        is_gateway = await _greet(wire, workspace, version)
    except BaseException:
        await wire.aclose()
        raise
    if do in OF_GATEWAYS and not is_gateway:
        await wire.aclose()
        raise NoGatewayError(none)
    wire.write(SocketRequest(do, list(args)))
    return wire


async def _greet(wire: SocketWire, workspace: Workspace, version: str) -> bool:
    """True if it is a gateway; else a terminal's process answers."""
    try:
        async with asyncio.timeout(PATIENCE):
            hello = await wire.read(_HELLO)
    except (TimeoutError, WireError):
        hello = None
    if hello is None:
        raise DeafGatewayError(
            f"A gateway holds the socket of the workspace {workspace.root}, but does not answer. If it stays like "
            f"that, end its process; {workspace.lock} names it."
        )
    if hello.nanobot != version:
        raise WorkspaceError(
            f"The gateway that runs here (process {hello.pid}) is nanobot {hello.nanobot}, this command is {version}. "
            "Restart the gateway, so that both are the same."
        )
    return hello.is_gateway


# Commands asked of the gateway over the socket.


Tell = Callable[[str], None]
"""Takes a sentence about work that goes on, to be shown at once."""

Handler = Callable[[Sequence[str], Tell], Awaitable[object]]
"""Does what is asked for with these words, and returns what JSON can say. A NanobotError becomes its sentence."""


class ControlError(NanobotError):
    """The gateway did not do it; the text is what it said."""


class _Line(msgspec.Struct, tag=True):
    text: str


class _Done(msgspec.Struct, tag=True):
    result: object


_REPLY: msgspec.json.Decoder[_Line | _Done | SocketProblem] = msgspec.json.Decoder(_Line | _Done | SocketProblem)


def served(handlers: Mapping[str, Handler]) -> dict[str, Serve]:
    """The handlers, as what the socket serves."""
    return {name: _Served(handler).serve for name, handler in handlers.items()}


class _Served:
    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def serve(self, args: Sequence[str], wire: SocketWire) -> None:
        try:
            result = await self._handler(args, lambda text: wire.write(_Line(text)))
        except NanobotError as error:
            wire.write(SocketProblem(str(error)))
        else:
            wire.write(_Done(result))


async def ask(
    workspace: Workspace, version: str, what: str, args: Sequence[str] = (), tell: Tell = lambda _: None
) -> object:
    """Ask the gateway that runs for a workspace, and return what it answers.

    `tell` hears how long work goes on. Raises ControlError if the gateway says that it could not be done,
    NoGatewayError if none runs, and another WorkspaceError if it cannot be talked to.
    """
    wire = await connected(workspace, version, what, args)
    try:
        while reply := await wire.read(_REPLY):
            match reply:
                case _Line(text):
                    tell(text)
                case _Done(result):
                    return result
                case SocketProblem(text):
                    raise ControlError(text)
    except WireError as error:
        raise ControlError(f"The gateway said something that cannot be understood: {error}") from error
    finally:
        await wire.aclose()
    raise ControlError("The gateway ended before it answered. `nanobot status` says whether it runs again.")
