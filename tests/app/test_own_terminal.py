"""The terminal whose process serves the others: what it sees, and that nobody waits for its screen."""

import asyncio
from pathlib import Path

import nanobot.app
from nanobot import __version__
from nanobot.channels.socket.client import JoinedTerminal
from nanobot.channels.terminal.person import at, words
from nanobot.config import load
from nanobot.messages import InboundMessage, OutboundMessage, Progress
from nanobot.ops.socket import connected
from nanobot.ports import Publish
from nanobot.workspace import Home, Workspace


class Typist:
    """A channel where a person types; while `screen` is held, as by a command of theirs, nothing can be shown."""

    name = "cli"

    def __init__(self) -> None:
        self.screen = asyncio.Lock()
        self.shown: asyncio.Queue[OutboundMessage] = asyncio.Queue()
        self.typed: asyncio.Queue[InboundMessage | None] = asyncio.Queue()
        self.listens = asyncio.Event()

    async def listen(self, publish: Publish) -> None:
        self.listens.set()
        while message := await self.typed.get():
            await publish(message)

    async def send(self, message: OutboundMessage) -> None:
        async with self.screen:
            self.shown.put_nowait(message)

    async def show(self, progress: Progress) -> None:
        async with self.screen:
            pass

    async def reply_to(self, message: InboundMessage) -> OutboundMessage:
        while (shown := await self.shown.get()).reply_to != message.id:
            pass
        return shown


async def test_the_first_terminal_moves_to_where_another_is_and_keeps_nobody_waiting(
    private_home: Path,
) -> None:
    home = Home(private_home)
    app = nanobot.app.build(config := load(home, env={}), home)
    first, second = Typist(), Typist()
    async with asyncio.timeout(120):
        serving = asyncio.create_task(app.run(first, at("default")))
        await first.listens.wait()
        while not Workspace(config.workspace).socket.exists():  # noqa: ASYNC110 - another task makes it
            await asyncio.sleep(0)
        wire = await connected(Workspace(config.workspace), __version__, "attach", ["other"])
        joined = asyncio.create_task((await JoinedTerminal.join(wire)).run(second, at("other")))
        async with first.screen:  # a command of the person has it
            first.typed.put_nowait(words(at("default"), "/help"))
            for _ in range(2):
                second.typed.put_nowait(asked := words(at("other"), "/status"))
                assert (await second.reply_to(asked)).text
        await app.move(at("other"))
        first.typed.put_nowait(asked := words(at("other"), "/help"))
        assert [bool((await each.reply_to(asked)).text) for each in (first, second)] == [True, True]
        second.typed.put_nowait(None)
        await joined
        await wire.aclose()
        first.typed.put_nowait(None)
        await serving
