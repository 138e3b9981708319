"""A strict Telegram Bot API on loopback, with the people who write to the bot.

    async with FakeTelegram() as telegram:            # point the bot at telegram.api_base
        ada = telegram.world.person(42, "Ada")
        ada.says("hello")
        await telegram.called("sendMessage")          # the first call of this method, made and carried out
        telegram.will("sendMessage", flood(17), cut(does=True))
        telegram.world.chat(42).shown

Everything is in one event loop; from another thread go through `loop.call_soon_threadsafe`.
By itself: `python -m tests.fakes.telegram_server --port 8081`, where everything said to the bot is typed as
`<person id> <text>` and everything it says is printed.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.fakes.file_server import trickle
from tests.fakes.telegram_checks import RefusalError, parsed
from tests.fakes.telegram_faults import CONFLICT, Fault, Faults
from tests.fakes.telegram_methods import Methods, Upload
from tests.fakes.telegram_webhook import WebhookCaller
from tests.fakes.telegram_world import Json, World

TOKEN = "123456:AAExampleTokenForTestsOnly_0123456789ab"


@dataclass
class Call:
    """A request as it arrived; `status` is what was answered, None if nothing was."""

    method: str
    told: Mapping[str, Any]
    at: float
    status: int | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def chat(self) -> int:
        return int(self.told.get("chat_id", 0))


class FakeTelegram:
    """The server; an asynchronous context manager, or `start` and `stop`.

    `trouble`, if set, is asked for each request (method, parameters) whether it goes wrong, after the faults of
    `will`; `watch` is told each call as it arrives. `longest_poll` bounds the seconds that getUpdates waits.
    """

    def __init__(self, *, token: str = TOKEN, username: str = "TestBot", port: int = 0) -> None:
        self.token = token
        self.world = World(username)
        self.calls: list[Call] = []
        self.trouble: Callable[[str, Mapping[str, Any]], Fault | None] = lambda *_: None
        self.longest_poll = 50.0
        self.watch: Callable[[Call], None] = lambda _: None
        self.webhook = WebhookCaller(self.world)
        self._faults = Faults()
        self._methods = Methods(self.world)
        self._port = port
        self._polling: asyncio.Event | None = None
        self._changed = asyncio.Condition()

    @property
    def api_base(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def will(self, method: str, *faults: Fault) -> None:
        """Let the next calls of a method go wrong; "*" is any but getUpdates."""
        self._faults.will(method, *faults)

    def made(self, *methods: str) -> list[Call]:
        """The calls of these methods so far, all if none is named."""
        names = {method.lower() for method in methods}
        return [call for call in self.calls if not names or call.method in names]

    async def called(self, method: str, count: int = 1) -> Call:
        """Wait until a method was called so often and the last one was answered, or will not be."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.made(method)) >= count)
        call = self.made(method)[count - 1]
        await call.done.wait()
        return call

    async def read(self) -> None:
        """Wait until the bot has confirmed every update."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self.world.updates)

    async def start(self) -> None:
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/bot{token}/{method}", self._api)
        app.router.add_get("/file/bot{token}/{path:.+}", self._file)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        await self.webhook.stop()
        await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _api(self, request: web.Request) -> web.StreamResponse:
        told = {**{name: parsed(value) for name, value in request.query.items()}, **await _form(request)}
        call = Call(request.match_info["method"].lower(), told, time.monotonic())
        await self._note(call)
        try:
            if request.match_info["token"] != self.token:
                return _refused(call, RefusalError(401, "Unauthorized"))
            fault = self._faults.next(call.method) or self.trouble(call.method, told)
            if fault is not None:
                return await self._misbehave(request, call, fault)
            return await self._answer(call)
        finally:
            call.done.set()
            async with self._changed:
                self._changed.notify_all()

    async def _note(self, call: Call) -> None:
        async with self._changed:
            self.calls.append(call)
            self.watch(call)
            self._changed.notify_all()

    async def _answer(self, call: Call) -> web.Response:
        try:
            result = await self._result(call)
        except RefusalError as refusal:
            return _refused(call, refusal)
        call.status = 200
        return web.json_response({"ok": True, "result": result})

    async def _result(self, call: Call) -> Any:
        if call.method == "getupdates":
            return await self._updates(call)
        if call.method == "setwebhook":
            return self.webhook.set(call.told)
        if call.method == "deletewebhook":
            return await self.webhook.delete()
        if call.method == "getwebhookinfo":
            return self.webhook.info
        return self._methods.find(call.method)(call.told)

    async def _updates(self, call: Call) -> list[Json]:
        """Long polling. A later request ends an earlier one, as Telegram does it."""
        if self.webhook.info["url"]:
            raise RefusalError(
                409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook first"
            )
        if self._polling is not None:
            self._polling.set()
        mine = self._polling = asyncio.Event()
        try:
            self.world.confirm(int(call.told.get("offset", 0)))
            async with self._changed:
                self._changed.notify_all()
            if not self.world.updates:
                await self._wait(mine, min(float(call.told.get("timeout", 0)), self.longest_poll))
            if mine.is_set():
                assert CONFLICT.refusal is not None
                raise CONFLICT.refusal
            return self.world.updates[: int(call.told.get("limit", 100))]
        finally:
            if self._polling is mine:
                self._polling = None

    async def _wait(self, other: asyncio.Event, seconds: float) -> None:
        self.world.arrived.clear()
        waits = [asyncio.ensure_future(event.wait()) for event in (self.world.arrived, other)]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _misbehave(self, request: web.Request, call: Call, fault: Fault) -> web.StreamResponse:
        if fault.how == "slow":
            await asyncio.sleep(fault.seconds)
        good = await self._answer(call) if fault.does else None
        call.status = None
        if fault.how == "slow" and good is not None:
            return good
        if fault.how == "hang":
            call.done.set()
            await asyncio.Event().wait()
        if fault.how == "cut":
            if request.transport is not None:
                request.transport.abort()
            raise web.HTTPInternalServerError
        if fault.refusal is not None:
            return _refused(call, fault.refusal)
        call.status = fault.html
        return web.Response(status=fault.html, text="<html><h1>Bad Gateway</h1></html>", content_type="text/html")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        call = Call("file", {"path": request.match_info["path"]}, time.monotonic())
        await self._note(call)
        try:
            fault = self._faults.next("file")
            if fault is not None and fault.how == "trickle":
                call.done.set()
                return await trickle(request)
            if fault is not None:
                return await self._misbehave(request, call, fault)
            for path, content in self.world.files.values():
                if path == request.match_info["path"] and request.match_info["token"] == self.token:
                    return web.Response(body=content)
            raise web.HTTPNotFound
        finally:
            call.done.set()


def _refused(call: Call, refusal: RefusalError) -> web.Response:
    call.status = refusal.code
    return web.json_response(refusal.body, status=refusal.code)


async def _form(request: web.Request) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name, value in (await request.post()).items():
        if isinstance(value, web.FileField):
            told[name] = Upload(value.filename, value.content_type, value.file.read())
        elif isinstance(value, str):
            told[name] = value if name in ("text", "caption") else parsed(value)
    return told


async def _converse(port: int) -> None:
    async with FakeTelegram(port=port) as telegram:
        print(f"api_base: {telegram.api_base}\ntoken: {telegram.token}", flush=True)
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
        telegram.watch = _print
        async for line in reader:
            who, _, text = line.decode().strip().partition(" ")
            if who.isdecimal() and text:
                telegram.world.person(int(who), f"Person {who}").says(text)


def _print(call: Call) -> None:
    if call.method != "getupdates":
        print(call.method, dict(call.told), flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--port", type=int, default=8081)
    with suppress(KeyboardInterrupt):
        asyncio.run(_converse(options.parse_args().port))
