"""A port of ours: nobody who connects and says nothing, too slowly or too much holds it up."""

import asyncio
import gzip
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from nanobot.http import HeaderSecret, HttpCall, HttpServer, ListenError, Route, ServerLimits

HASTY = ServerLimits(seconds=0.2, body=1_000, connections=50)
PATIENT = ServerLimits(seconds=60.0, body=1_000, connections=50)


class Line:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def says(self, text: str | bytes) -> None:
        self.writer.write(text.encode() if isinstance(text, str) else text)

    async def hears(self) -> str:
        """All until the other side hangs up; it need not do so politely."""
        with suppress(ConnectionError):
            return (await self.reader.read()).decode()
        return ""

    async def status(self) -> int:
        return int((await self.reader.readline()).split()[1])


class Served:
    """A server that gives back what it is sent. `gate` holds up the calls to /slow."""

    def __init__(self, limits: ServerLimits) -> None:
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()
        self.lines: list[Line] = []
        routes = [
            Route("POST", "/echo", self._echo),
            Route("POST", "/slow", self._slow),
            Route("GET", "/health", self._echo),
            Route("POST", "/private", self._echo, HeaderSecret("X-Secret", "opensesame")),
        ]
        self.server = HttpServer(routes, limits)
        self.port = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Served"]:
        async with asyncio.timeout(30), self.server.listening("127.0.0.1", 0, patience=0.1) as self.port:
            try:
                yield self
            finally:
                for line in self.lines:
                    line.writer.close()
                await asyncio.gather(*(line.writer.wait_closed() for line in self.lines), return_exceptions=True)

    async def connect(self) -> Line:
        self.lines.append(Line(*await asyncio.open_connection("127.0.0.1", self.port)))
        return self.lines[-1]

    async def call(self, text: str | bytes) -> Line:
        line = await self.connect()
        line.says(text)
        return line

    async def _echo(self, call: HttpCall) -> web.Response:
        return web.Response(body=await call.read())

    async def _slow(self, call: HttpCall) -> web.Response:
        self.begun.set()
        await self.gate.wait()
        return web.Response(text="at last")


def post(body: str = "", path: str = "/echo", *, length: int | None = None, more: str = "") -> str:
    length = len(body) if length is None else length
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{more}\r\n{body}"


@pytest.mark.parametrize(
    "beginning",
    ["", "P", "POST /echo HTTP/1.1\r\n", "POST /echo HTTP/1.1\r\nHost: x\r\nX-Long: aaaa", "\r\n\r\n", "\x16\x03\x01"],
)
async def test_who_does_not_finish_a_request_is_dropped(beginning: str) -> None:
    async with Served(HASTY).listening() as served:
        line = await served.call(beginning)
        assert "200" not in await line.hears()


async def test_who_says_a_byte_now_and_then_is_dropped_as_well() -> None:
    async with Served(HASTY).listening() as served:
        line = await served.call("POST /echo HTTP/1.1\r\nX-Drip: ")

        async def drip() -> None:
            with suppress(ConnectionError):
                while not line.writer.is_closing():
                    line.says("a")
                    await line.writer.drain()
                    await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        assert await line.hears() == ""
        dripping.cancel()


async def test_between_two_requests_the_same_time_counts() -> None:
    async with Served(HASTY).listening() as served:
        line = await served.call(post("one"))
        assert (await line.hears()).endswith("one")


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async with Served(HASTY).listening() as served:
        line = await served.call(post("half", length=500))
        assert (await line.hears()).startswith("HTTP/1.1 408")


def chunked(size: int, count: int) -> bytes:
    head = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    return (head + f"{size:x}\r\n{'x' * size}\r\n" * count + "0\r\n\r\n").encode()


def packed(size: int) -> bytes:
    body = gzip.compress(b"x" * size)
    return post(length=len(body), more="Content-Encoding: gzip\r\n").encode() + body


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (post("x" * 1_000), 200),
        (post("x" * 1_001), 413),
        (post("x" * 10, length=10**12), 413),
        (chunked(500, 2), 200),
        (chunked(500, 3), 413),
        (packed(1_000), 200),
        (packed(1_000_000), 413),
        (post(path="/elsewhere"), 404),
        (post(path="/health"), 405),
        ("GET /health HTTP/1.0\r\n\r\n", 200),
        ("HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n", 200),
        ("\x00\x01\x02\r\n\r\n", 400),
        ("GET /health HTTP/1.1\r\n" + "X: y\r\n" * 1000 + "\r\n", 400),
    ],
)
async def test_what_is_asked_is_answered_by_its_status(request_: str | bytes, status: int) -> None:
    async with Served(PATIENT).listening() as served:
        assert await (await served.call(request_)).status() == status


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("", 403),
        ("X-Secret: opensesam\r\n", 403),
        ("X-Secret: öpensesame\r\n", 403),
        ("X-Other: opensesame\r\n", 403),
        ("x-secret: opensesame\r\n", 200),
    ],
)
async def test_a_route_with_a_secret_is_for_those_who_bring_it(header: str, status: int) -> None:
    async with Served(PATIENT).listening() as served:
        assert await (await served.call(post(path="/private", more=header))).status() == status


async def test_without_the_secret_no_byte_of_a_body_is_waited_for() -> None:
    async with Served(PATIENT).listening() as served:
        assert await (await served.call(post(path="/private", length=500))).status() == 403


async def test_an_address_that_is_taken_is_told() -> None:
    async with Served(PATIENT).listening() as served:
        with pytest.raises(ListenError, match=rf"^127\.0\.0\.1:{served.port} cannot be listened on \(Address already"):
            async with HttpServer([]).listening("127.0.0.1", served.port, patience=0.1):
                pass


async def test_a_thousand_connections_that_say_nothing_keep_nobody_out() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 3_000 <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3_000, hard))
    async with Served(PATIENT).listening() as served:
        at_work = await served.call(post(path="/slow"))
        await served.begun.wait()
        silent = [await served.connect() for _ in range(1_000)]
        speaks = await served.call(post("hello"))
        assert await speaks.status() == 200
        dropped = [line for line in silent if line.reader.at_eof() or line.reader.exception()]
        assert len(dropped) >= 1_000 - PATIENT.connections
        served.gate.set()
        assert await at_work.status() == 200  # what is being answered is not dropped for them


async def test_when_all_are_busy_a_new_one_has_to_try_again() -> None:
    async with Served(ServerLimits(seconds=60.0, connections=2)).listening() as served:
        busy = []
        for _ in range(2):
            served.begun.clear()
            busy.append(await served.call(post(path="/slow")))
            await served.begun.wait()
        assert await (await served.connect()).hears() == ""
        served.gate.set()
        assert [await line.status() for line in busy] == [200, 200]
