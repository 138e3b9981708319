"""`GET /health`: whether the gateway is well, for whoever watches it."""

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from nanobot.errors import NanobotError
from nanobot.ports.gateway import GatewayState, LookAtGateway

if TYPE_CHECKING:
    from aiohttp import web

    from nanobot.http import HttpCall, ServerLimits

OK = 200
NOT_OK = 503
_ROOT, _NAME = r"(?:~?/|\.{1,2}/|[A-Za-z]:\\)", r"[^\s:;,'\"()]"
_PATH = re.compile(
    rf"(['\"]){_ROOT}.*?\1"
    rf"|(?<![\w:/.]){_ROOT}{_NAME}+(?:(?:\s{_NAME}+){{0,2}}?\s{_NAME}*[/\\]{_NAME}*)*"  # names may hold blanks
)
"""Of a file; an address on the web is none."""


class HealthError(NanobotError):
    """Error: the health server cannot run; the text says why and what to do."""


class Health:
    """Answers 200 while every channel is well, 503 otherwise, with the figures as JSON: no names, no secrets."""

    def __init__(
        self,
        host: str,
        port: int,
        look: LookAtGateway,
        listening: Callable[[int], None],
        limits: "ServerLimits | None" = None,
    ) -> None:
        """`listening` is told the port, which the system chooses if it is 0."""
        self._host = host
        self._port = port
        self._look = look
        self._listening = listening
        self._limits = limits

    async def run(self) -> None:
        """Serve until cancelled. Raises HealthError."""
        from nanobot.http import HttpServer  # a fifth of a second

        server = HttpServer({("GET", "/health"): self._answer}, self._limits)
        try:
            async with server.listening(self._host, self._port, patience=1.0) as port:
                self._listening(port)
                await asyncio.Event().wait()
        except OSError as error:
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            raise HealthError(
                f"{self._host}:{self._port} cannot be listened on ({why}); set gateway.health to another address, "
                "or to off"
            ) from error

    async def _answer(self, _: "HttpCall") -> "web.Response":
        from aiohttp import web

        state = await self._look()
        is_well = not state.is_stopping and not any(channel.is_red for channel in state.channels)
        return web.json_response(figures(state, is_well=is_well), status=OK if is_well else NOT_OK)


def figures(state: GatewayState, *, is_well: bool) -> Mapping[str, object]:
    """Return the figures for whoever can reach the port."""
    backlog = state.backlog
    kinds = [trouble.kind for trouble in backlog.troubles]
    return {
        "status": "stopping" if state.is_stopping else "ok" if is_well else "trouble",
        "version": state.version,
        "pid": state.pid,
        "uptime": round(state.uptime, 1),
        "channels": {
            each.name: {
                "state": each.state,
                "since": each.since.isoformat(timespec="seconds") if each.since else None,
                "trouble": _PATH.sub("…", each.trouble),
                **({"refused": each.refused} if each.refused else {}),
            }
            for each in state.channels
        },
        "spool": {
            "waiting_in": backlog.waiting_in,
            "being_answered": backlog.being_answered,
            "waiting_out": dict(backlog.waiting_out),
            "oldest": round(backlog.oldest, 1),
            "undeliverable": kinds.count("undeliverable"),
            "set_aside": kinds.count("set_aside"),
        },
    }
