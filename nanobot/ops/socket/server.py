"""Takes connections, and hands each to whoever does what it asks for."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from nanobot.ops.socket.place import bound, removed
from nanobot.ops.socket.wire import LONGEST, Wire, WireError
from nanobot.workspace import Workspace

log = logging.getLogger(__name__)


class Hello(msgspec.Struct):
    """Who answers: the first line of every connection."""

    nanobot: str  # the version
    pid: int
    is_gateway: bool = True  # else a terminal's process, which serves those that came later


class Wish(msgspec.Struct):
    """What somebody wants: the first line of theirs."""

    do: str
    args: list[str] = []


class Problem(msgspec.Struct, tag=True):
    """It was not done; the text says why."""

    text: str


_WISH = msgspec.json.Decoder(Wish)

Serve = Callable[[Sequence[str], Wire], Awaitable[None]]


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
                connections.create_task(self._connected(Wire(reader, writer)))

            server = await asyncio.start_unix_server(connected, sock=listening, limit=LONGEST, start_serving=False)
            try:
                await server.start_serving()
                await asyncio.Event().wait()
            finally:
                server.close()

    async def _connected(self, wire: Wire) -> None:
        try:
            await self._talk(wire)
        except WireError as error:
            wire.write(Problem(f"This is not what nanobot says on this socket: {error}"))
        except Exception:  # the boundary of a connection
            log.exception("a connection to the socket failed")
            wire.write(Problem("This should not have happened; the gateway's log has the details."))
        finally:
            await wire.aclose()

    async def _talk(self, wire: Wire) -> None:
        wire.write(Hello(self._version, os.getpid(), self._is_gateway))
        wish = await wire.read(_WISH)
        if wish is None:
            return
        if wish.do not in self._serve:
            wire.write(Problem(f"This gateway does not know {wish.do!r}."))
            return
        await self._serve[wish.do](wish.args, wire)
