"""A bot without a model: the word that is said to it names what it does.

As a program (`python -m tests.fakes.talker HISTORY [FOLDER]`) it talks in the terminal.
"""

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

from nanobot.channels.terminal.machine import Machine
from nanobot.channels.terminal.person import at
from nanobot.channels.terminal.terminal import Terminal
from nanobot.i18n import Language
from nanobot.ids import new_id
from nanobot.messages import Button, InboundMessage, OutboundMessage, Progress, ProgressKind, Stats
from nanobot.ports import Channel

LONG = (
    "# A tale\n\nOnce upon a *time*\n\n- one\n- two\n\n```py\nx = [1]\n\ny = 2\n```\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end 👋 你好."
)
CHOICES = (Button("Once", "once"), Button("For this session", "session"), Button("No", "no"))


class Talker:
    """Serves one channel; `heard` is what was published."""

    def __init__(self) -> None:
        self.heard: list[InboundMessage] = []
        self.has_heard = asyncio.Event()
        self.is_waiting = asyncio.Event()
        self._turn: asyncio.Task[None] | None = None
        self._chosen: asyncio.Future[str] | None = None

    async def run(self, channel: Channel) -> None:
        self._channel = channel
        async with asyncio.TaskGroup() as self._tasks:
            await channel.listen(self._publish)
            if self._turn:
                self._turn.cancel()  # as the app does, when the person leaves

    async def stop(self) -> None:
        """End the running turn."""
        if self._turn:
            self._turn.cancel()
            await asyncio.wait([self._turn])

    async def _publish(self, message: InboundMessage) -> None:
        self.heard.append(message)
        self.has_heard.set()
        if message.answers is not None and self._chosen:
            self._chosen.set_result(message.text)
        elif message.text == "/stop":
            await self.stop()
            await self._note(message, "Stopped.")
        elif message.text.startswith("/resume "):
            await self._note(message, "We go on.", goes_to=f"cli:{message.text.split()[1]}")
        elif message.text.startswith("/"):
            await self._note(message, f"You called {message.text}.")
        elif self._turn is None or self._turn.done():
            self._turn = self._tasks.create_task(_Turn(message, self._channel, self._ask, self.is_waiting).run())

    async def _ask(self, message: InboundMessage) -> str:
        self._chosen = asyncio.get_running_loop().create_future()
        question = OutboundMessage(
            id=new_id(), address=message.address, text="May I run `ls`?", kind="question", buttons=CHOICES
        )
        await self._channel.send(question)
        return await self._chosen

    async def _note(self, message: InboundMessage, text: str, goes_to: str = "") -> None:
        notice = OutboundMessage(id=new_id(), address=message.address, text=text, kind="notice", reply_to=message.id)
        await self._channel.send(replace(notice, goes_to=goes_to))


class _Turn:
    def __init__(
        self,
        message: InboundMessage,
        channel: Channel,
        ask: Callable[[InboundMessage], Awaitable[str]],
        is_waiting: asyncio.Event,
    ) -> None:
        self._message = message
        self._channel = channel
        self._ask = ask
        self._is_waiting = is_waiting
        self._id = new_id()

    async def run(self) -> None:
        acts: Mapping[str, Callable[[], Awaitable[None]]] = {
            "tell": self._tell,
            "wait": self._wait,
            "ask": self._ask_first,
            "look": self._look,
            "list": self._list,
            "stumble": self._stumble,
            "fail": self._fail,
        }
        await self._show("started")
        try:
            await acts.get(self._message.text, self._echo)()
        finally:
            await self._show("ended")

    async def _tell(self) -> None:
        await self._stream(LONG)
        await self._answer(LONG)

    async def _wait(self) -> None:
        await self._stream("Let me think.\n\nHalf a thou")
        self._is_waiting.set()
        await asyncio.Event().wait()

    async def _ask_first(self) -> None:
        await self._answer(f"You chose {await self._ask(self._message)}.")

    async def _look(self) -> None:
        await self._stream("I look.")
        await self._show("step")
        await self._show("tool", "read notes.md")
        await self._stream("Found it.")
        await self._answer("Found it.")

    async def _list(self) -> None:
        await self._show("tool", "run ls")
        await self._show("output", "\n".join(f"file {number}" for number in range(30)))
        await self._answer("Thirty files.")

    async def _stumble(self) -> None:
        await self._stream("A false start.\n\nAnd")
        await self._show("restart")
        await self._stream("A good start.")
        await self._answer("A good start.")

    async def _fail(self) -> None:
        await self._say("The key is wrong.", kind="notice", failed=True)

    async def _echo(self) -> None:
        along = "".join(f" [{quote.how} {Path(quote.by).name}: {quote.text}]" for quote in self._message.quotes)
        await self._answer(f"You said {len(self._message.text.splitlines())} line(s): {self._message.text}{along}")

    async def _stream(self, text: str) -> None:
        for start in range(0, len(text), 7):
            await self._show("text", text[start : start + 7])
        await asyncio.sleep(0)

    async def _show(self, kind: ProgressKind, text: str = "") -> None:
        await self._channel.show(Progress(address=self._message.address, turn=self._id, kind=kind, text=text))

    async def _answer(self, text: str) -> None:
        await self._show("step")
        await self._say(text, kind="answer")

    async def _say(self, text: str, *, kind: str, failed: bool = False) -> None:
        await self._channel.send(
            OutboundMessage(
                id=new_id(),
                address=self._message.address,
                text=text,
                kind="answer" if kind == "answer" else "notice",
                turn=self._id,
                reply_to=self._message.id,
                stats=Stats(1234, 56, 1.25, "fake") if kind == "answer" else None,
                failed=failed,
            )
        )


def english() -> Language:
    return "en"


def main() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # as the command line does
    machine = Machine(folder=Path(sys.argv[2])) if len(sys.argv) > 2 else None
    commands = [("help", "what I can do"), ("export", "write it down")]
    terminal = Terminal(at("test"), Path(sys.argv[1]), commands, "Hello from a fake.", english, machine=machine)
    asyncio.run(Talker().run(terminal))


if __name__ == "__main__":
    main()
