"""Reaches the gateway that runs for a workspace."""

import asyncio
from collections.abc import Sequence

import msgspec

from nanobot.errors import WorkspaceError
from nanobot.ops.socket.place import found
from nanobot.ops.socket.server import Hello, Wish
from nanobot.ops.socket.wire import LONGEST, Wire, WireError
from nanobot.workspace import Workspace

PATIENCE = 10.0
"""Seconds in which a gateway that works says who it is, however busy the machine."""


OF_GATEWAYS = ("status",)
"""What only a gateway can be asked, not the process of a terminal that serves others."""

_HELLO = msgspec.json.Decoder(Hello)


class NoGatewayError(WorkspaceError):
    """No gateway runs for this workspace."""


class DeafGatewayError(WorkspaceError):
    """Somebody holds the socket and does not answer."""


async def connected(workspace: Workspace, version: str, do: str, args: Sequence[str] = ()) -> Wire:
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
    wire = Wire(reader, writer)
    try:
        is_gateway = await _greet(wire, workspace, version)
    except BaseException:
        await wire.aclose()
        raise
    if do in OF_GATEWAYS and not is_gateway:
        await wire.aclose()
        raise NoGatewayError(none)
    wire.write(Wish(do, list(args)))
    return wire


async def _greet(wire: Wire, workspace: Workspace, version: str) -> bool:
    """Whether it is a gateway; else a terminal's process answers."""
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
