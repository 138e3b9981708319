"""A server on loopback that speaks the OpenAI chat-completions protocol and misbehaves on request.

In a test (`base_url` is where a client is pointed at; the answers stand in openai_answers.py):

    async with FakeOpenAI() as server:
        server.will(say("Hello"), call(("read_file", {"path": "a.md"})), fail(429, retry_after="7"))
        ...
        server.requests[0].body["messages"]

Answers are given in the order of `will`; when none is left `otherwise` decides, at first a 500.
What the bot asks for itself (summaries, dreams) is answered by `aside`, and recorded in `asides` only, so that a
script for a conversation stays as it is; with `aside = None` it is a request like any other.
Each request is recorded before it is answered. Strict (the default), the server refuses an illegal
history with 400 and notes why in `illegal`, as picky endpoints do.

At a terminal: `python -m tests.fakes.openai_server --port 8000 --echo`, or `--script FILE` with one
JSON object a line: {"say": "text"}, {"call": {"name": …, "arguments": {…}}}, {"fail": 429,
"message": …, "retry_after": "7"}, {"html": 200}, {"hang": "first words"}, {"cut": "first words"}.
"""

import argparse
import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from aiohttp import web

from tests.fakes.legality import what_is_illegal
from tests.fakes.openai_answers import Answer, Json, echo, fail, is_for_itself, noted, nothing_new, read_script


@dataclass
class Received:
    """A request as it arrived.

    `port` is the client's end of the connection; `gone` is set if the client leaves before the answer is complete.
    """

    body: Json
    raw: bytes
    headers: Mapping[str, str]
    at: float
    port: int
    gone: asyncio.Event = field(default_factory=asyncio.Event)


class FakeOpenAI:
    """The server; an asynchronous context manager."""

    def __init__(self, *, strict: bool = True, port: int = 0) -> None:
        self.requests: list[Received] = []
        self.asides: list[Received] = []
        self.aside: Callable[[Json], Answer] | None = nothing_new
        self.illegal: list[str] = []
        self.otherwise: Callable[[Json], Answer] = lambda _: fail(500, "nothing left in the script")
        self.base_url = ""
        self._strict = strict
        self._port = port
        self._script: deque[Answer] = deque()
        self._arrived = asyncio.Condition()

    def will(self, *answers: Answer) -> None:
        """Add answers to the script."""
        self._script.extend(answers)

    def drop(self) -> int:
        """Forget what is left in the script; how many answers that were."""
        left = len(self._script)
        self._script.clear()
        return left

    def judge(self, received: Received) -> Answer | None:
        """The refusal of a request; for servers with a mind of their own (personalities.py)."""
        return None

    def put(self, body: Json, answer: Answer) -> Answer:
        """The answer as this server would word it."""
        return answer

    async def received(self, count: int = 1) -> Received:
        """Wait for the request with this number, the first is 1."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**28)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._models)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "fake-model", "object": "model"}]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        received = Received(json.loads(raw), raw, request.headers.copy(), time.monotonic(), _port(request))
        is_aside = self.aside is not None and is_for_itself(received.body)
        async with self._arrived:
            (self.asides if is_aside else self.requests).append(received)
            self._arrived.notify_all()
        if self._strict and (reason := what_is_illegal(received.body)):
            self.illegal.append(reason)
            return await _send(request, fail(400, reason, type="invalid_request_error"))
        if refusal := self.judge(received):
            return await _send(request, refusal)
        if is_aside and self.aside:
            answer = self.aside(received.body)
        else:
            answer = self._script.popleft() if self._script else self.otherwise(received.body)
        answer = self.put(received.body, answer)
        try:
            if answer.whole is not None and not received.body.get("stream"):
                return web.json_response(answer.whole)
            return await _send(request, answer)
        except (asyncio.CancelledError, ConnectionError):
            received.gone.set()
            raise


def _port(request: web.Request) -> int:
    return int(request.transport.get_extra_info("peername")[1]) if request.transport else 0


async def _send(request: web.Request, answer: Answer) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    response.content_type = answer.content_type
    await response.prepare(request)
    for part in answer.parts:
        await part.play(request, response)
    return response


async def serve(port: int, script: list[Answer], *, repeat: bool) -> None:
    """Answer until cancelled: the script, then an echo if `repeat`, in summaries as well."""
    async with FakeOpenAI(port=port) as server:
        server.will(*script)
        if repeat:
            server.otherwise, server.aside = echo, noted
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible endpoint that says what it is told.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--echo", action="store_true", help="say what was said, once the script is used up")
    options = parser.parse_args()
    script = read_script(options.script.read_text(encoding="utf-8").splitlines()) if options.script else []
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(options.port, script, repeat=options.echo))


if __name__ == "__main__":
    main()
