"""The control line: what other commands ask of the running gateway."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from nanobot.errors import NanobotError
from nanobot.ops.socket import Serve, SocketProblem, SocketWire, WireError, connected
from nanobot.workspace import Workspace

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
