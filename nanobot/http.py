"""HTTP server of the program: the one place that listens on ports of this machine; others bring their routes.

A connection that says nothing, or too much, holds up nobody; a call without the secret of its route gets no further.
"""

import asyncio
import hmac
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from nanobot.errors import NanobotError

Handler = Callable[["HttpCall"], Awaitable[web.StreamResponse]]
"""Answers a call; where it raises, the answer is 500, and the log tells why."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Limits on the resources of whoever connects.

    Args:
        seconds: until a request has begun, until its head is there, and until its body is.
        body: bytes.
        connections: at once; beyond it the one that has asked for nothing for longest is dropped.
    """

    seconds: float = 10.0
    body: int = 4 << 20
    connections: int = 200


class HttpCall:
    """A request whose body has not been read yet."""

    def __init__(self, request: web.BaseRequest, limits: ServerLimits) -> None:
        self._request = request
        self._limits = limits

    def header(self, name: str) -> str:
        """One header, "" without it."""
        return self._request.headers.get(name, "")

    async def read(self) -> bytes:
        """The body. Raises what becomes 413 if it is too long, and 408 if it comes too slowly."""
        limits, body = self._limits, bytearray()
        if (self._request.content_length or 0) > limits.body:
            raise web.HTTPRequestEntityTooLarge(limits.body)
        try:
            async with asyncio.timeout(limits.seconds):
                while chunk := await self._request.content.readany():
                    body += chunk
                    if len(body) > limits.body:
                        raise web.HTTPRequestEntityTooLarge(limits.body)
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        return bytes(body)


@dataclass(frozen=True, slots=True)
class HeaderSecret:
    """Header, and the value that it must have in each call of a route."""

    header: str
    value: str = field(repr=False)

    def is_in(self, call: HttpCall) -> bool:
        """True if a call has it. Takes the same time wherever two values differ."""
        sent = call.header(self.header).encode("utf-8", "surrogateescape")
        return hmac.compare_digest(sent, self.value.encode())


@dataclass(frozen=True, slots=True)
class Route:
    """Method and path with their handler; calls without the `secret` are answered with 403, unread."""

    method: str
    path: str
    handler: Handler
    secret: HeaderSecret | None = None


class ListenError(NanobotError):
    """Error: an address of this machine cannot be listened on; `reason` in the system's words."""

    def __init__(self, host: str, port: int, error: OSError) -> None:
        self.reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        super().__init__(f"{host}:{port} cannot be listened on ({self.reason})")


class HttpServer:
    """Server of some routes at one address."""

    def __init__(self, routes: Sequence[Route], limits: ServerLimits | None = None) -> None:
        self._routes = {(route.method, route.path): route for route in routes}
        self._limits = limits or ServerLimits()

    @asynccontextmanager
    async def listening(self, host: str, port: int, *, patience: float) -> AsyncIterator[int]:
        """Serve meanwhile; gives the port. At the end what is being answered has `patience` seconds.

        Raises ListenError.
        """
        runner = web.ServerRunner(_Server(self._answer, self._limits), shutdown_timeout=patience)
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, host, port).start()
            except OSError as error:
                raise ListenError(host, port, error) from error
            yield runner.addresses[0][1]
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        method = "GET" if request.method == "HEAD" else request.method
        route = self._routes.get((method, request.path))
        if route is None:
            is_there = any(path == request.path for _, path in self._routes)
            return web.Response(status=405 if is_there else 404)
        call = HttpCall(request, self._limits)
        if route.secret and not route.secret.is_in(call):
            return web.Response(status=403)
        return await route.handler(call)


class _Server(web.Server):
    """Drops the connection that has been idle for longest when there are too many."""

    def __init__(
        self, answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], limits: ServerLimits
    ) -> None:
        super().__init__(self._busily, access_log=None, keepalive_timeout=limits.seconds, lingering_time=1.0)
        self._answer = answer
        self._most = limits.connections
        self._busy = 0
        self._idle: dict[web.RequestHandler, None] = {}  # in the order in which they became that

    async def _busily(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        self._idle.pop(connection, None)
        self._busy += 1
        try:
            return await self._answer(request)
        finally:
            self._busy -= 1
            if connection.transport is not None:
                self._idle[connection] = None

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self._idle[handler] = None
        if self._busy + len(self._idle) > self._most:
            longest = next(iter(self._idle))
            del self._idle[longest]
            longest.force_close()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self._idle.pop(handler, None)
