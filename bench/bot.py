"""The whole bot as `app.build` wires it, with a model that answers at once in the place of an endpoint."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from nanobot import app
from nanobot.app import context
from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.config import load
from nanobot.ids import new_id
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress, Sender
from nanobot.ports import LLM, ModelInfo, Publish, Reply, Request, Stream
from nanobot.transcript import ToolCall, Usage
from nanobot.workspace import Home

ANSWER = (
    "That sounds good. I would begin with the smaller of the two, look how far it gets you by the end of the week, "
    "and keep the other for later; tell me on Friday how it went, and we shall see what is left to do."
)
LOOK = "Look into the file."
"""What makes the model use a tool first."""

_CONFIG = """
model: instant
models:
  instant: {base_url: "http://127.0.0.1:9/v1", api_key: none, model: instant-1}
agent: {while_busy: queue}
"""
_GREETED = Address("cli", "greeted")

Script = Callable[["Talker"], Awaitable[None]]


class InstantLLM:
    """Says the same each time, and how many tokens it read; asked to look, it reads a file before."""

    def __init__(self, info: ModelInfo) -> None:
        self.info = info

    def warm(self) -> None: ...

    async def aclose(self) -> None: ...

    async def complete(self, request: Request, stream: Stream) -> Reply:
        read = sum(len(message.content or "") + len(message.context or "") for message in request.messages)
        usage = Usage(input=read // 4, output=len(ANSWER) // 4)
        last = request.messages[-1]
        if last.role == "user" and last.content == LOOK:
            return Reply("", (ToolCall("call_1", "read_file", '{"path": "SOUL.md"}'),), usage=usage, model="instant-1")
        text = f"{last.content}\n\n{ANSWER}"
        stream.text(text)
        return Reply(text, usage=usage, model="instant-1")


class Talker:
    """A channel whose people say what a script tells them."""

    name = "bench"

    def __init__(self, script: Script) -> None:
        self._script = script
        self._publish: Publish
        self._waiting: dict[str, asyncio.Future[OutboundMessage]] = {}

    async def listen(self, publish: Publish) -> None:
        self._publish = publish
        await self._script(self)

    async def send(self, message: OutboundMessage) -> None:
        if message.reply_to is None or message.kind != "answer":
            raise RuntimeError(f"the bot said: {message.text}")
        self._waiting.pop(message.reply_to).set_result(message)

    async def show(self, progress: Progress) -> None: ...

    async def say(self, session: str, text: str) -> asyncio.Future[OutboundMessage]:
        """Say something; what is returned holds the answer when it has come."""
        message = InboundMessage(
            id=new_id(),
            address=Address("cli", session),
            sender=Sender("local", "Ada"),
            authority=OWNER_IN_TERMINAL,
            text=text,
        )
        answer = self._waiting[message.id] = asyncio.get_running_loop().create_future()
        await self._publish(message)
        return answer

    async def ask(self, session: str, text: str = "What would you do first?") -> float:
        """Say something and wait for the answer; returns how long it took, in milliseconds."""
        began = time.perf_counter()
        await (await self.say(session, text))
        return (time.perf_counter() - began) * 1000


@contextmanager
def house() -> Iterator[Home]:
    """A home in a temporary folder (see TMPDIR), with a workspace as the first start leaves it."""
    with tempfile.TemporaryDirectory(prefix="nanobot-bench-") as folder:
        home = Home(Path(folder))
        home.config.write_text(_CONFIG, encoding="utf-8")
        converse(home, _nothing)
        yield home


def converse(home: Home, script: Script, *, durable: bool = True) -> None:
    """Start the bot, let people talk to it, and end it; `durable` says whether it waits for the disk."""
    config = load(home, env={"NANOBOT_SESSIONS__FSYNC": str(durable).lower()})
    with patch("nanobot.app.context._model", _instant):
        asyncio.run(app.build(config, home).run(Talker(script), _GREETED))


def _instant(*preset: object, make: Callable[..., LLM] = context._model) -> LLM:
    return InstantLLM(make(*preset).info)


async def _nothing(_: Talker) -> None: ...
