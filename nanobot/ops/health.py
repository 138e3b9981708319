"""Health of the gateway as figures, `GET /health`: no names, no secrets."""

import re
from collections.abc import Mapping

from aiohttp import web

from nanobot.http import HttpCall, Route
from nanobot.ports.gateway import GatewayState, LookAtGateway

OK = 200
NOT_OK = 503
_ROOT, _NAME = r"(?:~?/|\.{1,2}/|[A-Za-z]:\\)", r"[^\s:;,'\"()]"
_PATH = re.compile(
    rf"(['\"]){_ROOT}.*?\1"
    rf"|(?<![\w:/.]){_ROOT}{_NAME}+(?:(?:\s{_NAME}+){{0,2}}?\s{_NAME}*[/\\]{_NAME}*)*"  # names may hold blanks
)
"""Of a file; an address on the web is none."""


def health_route(look: LookAtGateway) -> Route:
    """Return the route that answers 200 while every channel is well, 503 otherwise, with the figures as JSON."""

    async def answer(_: HttpCall) -> web.Response:
        state = await look()
        is_well = not state.is_stopping and not any(channel.is_red for channel in state.channels)
        return web.json_response(figures(state, is_well=is_well), status=OK if is_well else NOT_OK)

    return Route("GET", "/health", answer)


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
