"""A person who talks to the real bot, put together as `nanobot chat` does, and sees all it says."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import nanobot.app.terminal
from nanobot.channels.terminal.person import NAME, at, words
from nanobot.config import load
from nanobot.messages import Address, Attachment, OutboundMessage, Progress
from nanobot.ports import Publish
from nanobot.workspace import Home, Workspace
from tests.fakes.clock import FakeClock
from tests.fakes.openai_answers import Json
from tests.fakes.openai_server import FakeOpenAI

HERE = at("here")
ELSEWHERE = at("elsewhere")
PATIENCE = 120.0
"""Seconds; a guard against hanging."""


class Person:
    """The Channel. `said` is all the bot said, `shown` what it showed on the way."""

    name = NAME

    def __init__(self, on_notice: Callable[[], None]) -> None:
        self.said: list[OutboundMessage] = []
        self.shown: list[Progress] = []
        self._on_notice = on_notice
        self._changed = asyncio.Event()
        self._leaving = asyncio.Event()
        self.publish: asyncio.Future[Publish] = asyncio.get_running_loop().create_future()

    async def listen(self, publish: Publish) -> None:
        self.publish.set_result(publish)
        await self._leaving.wait()

    async def send(self, message: OutboundMessage) -> None:
        self.said.append(message)
        self._changed.set()

    async def show(self, progress: Progress) -> None:
        self.shown.append(progress)
        self._changed.set()
        if progress.kind == "notice":
            asyncio.get_running_loop().call_soon(self._on_notice)

    async def say(self, text: str, where: Address = HERE, *, files: Sequence[Attachment] = ()) -> str:
        """Say something, and go on; the id of what was said."""
        message = words(where, text, files=files)
        await (await self.publish)(message)
        return message.id

    async def ask(self, text: str, where: Address = HERE, *, files: Sequence[Attachment] = ()) -> OutboundMessage:
        """Say something, and wait for what comes of it."""
        asked = await self.say(text, where, files=files)
        await self.until(lambda: any(message.reply_to == asked for message in self.said))
        return next(message for message in self.said if message.reply_to == asked)

    async def until(self, seen: Callable[[], bool]) -> None:
        """Wait until this is so."""
        async with asyncio.timeout(PATIENCE):
            while not seen():
                self._changed.clear()
                await self._changed.wait()

    def notices(self) -> list[str]:
        """What it told on the way."""
        return [progress.text for progress in self.shown if progress.kind == "notice"]

    def screens(self) -> list[str]:
        """What of an answer was to be seen, at each moment."""
        seen, screens = "", []
        for progress in self.shown:
            if progress.kind == "text":
                seen += progress.text
            elif progress.kind in ("restart", "started", "step"):
                seen = ""
            screens.append(seen)
        return screens

    def leave(self) -> None:
        self._leaving.set()


@dataclass
class Desk:
    """Where the bot lives: start it with `start`, as often as it takes."""

    home: Path
    server: FakeOpenAI
    patch: pytest.MonkeyPatch
    clock: FakeClock = field(default_factory=FakeClock)

    @property
    def workspace(self) -> Workspace:
        return Workspace(Home(self.home).workspace)

    @property
    def session(self) -> Path:
        return self.workspace.sessions / HERE.channel / f"{HERE.chat}.jsonl"

    def configure(self, preset: Mapping[str, object] | None = None, **settings: Any) -> None:
        """Write the configuration: one model, the fake server, and whatever else is given (`models`: further ones).

        What was said is archived without asking it: a compact preset is not asked for summaries.
        """
        self.home.mkdir(mode=0o700, exist_ok=True)
        model = {"base_url": self.server.base_url, "model": "fake", "attempts": 1, **(preset or {})}
        memory = {"dream": {"model": "aside"}, **(settings.pop("memory", None) or {})}
        aside = {"base_url": self.server.base_url, "model": "none", "profile": "compact"}
        models = {"fake": model, "aside": aside, **settings.pop("models", {})}
        config = {"models": models, "model": "fake", "language": "en", "memory": memory, **settings}
        (self.home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Person]:
        """A life of the bot, from its start to its end. Whenever it says that it waits, the time passes."""
        async with asyncio.timeout(PATIENCE):
            person, running = self.begin()
            try:
                await person.publish
                yield person
            finally:
                person.leave()
                await running

    def begin(self) -> tuple[Person, asyncio.Task[None]]:
        """The same for whoever ends it by themselves: the person leaves, then it is awaited."""
        person = Person(lambda: self.clock.advance(20))
        running = asyncio.create_task(self._run(person))
        running.add_done_callback(lambda _: person.publish.cancel())  # if it did not get as far as that
        return person, running

    async def fail_to_start(self) -> None:
        """A life that ends before anything can be said; raises why."""
        async with asyncio.timeout(PATIENCE):
            await self._run(Person(lambda: None))

    async def _run(self, person: Person) -> None:
        if not (self.home / "config.yaml").exists():
            self.configure()
        self.patch.setattr(nanobot.app.terminal, "SystemClock", lambda _: self.clock)
        app = nanobot.app.build(load(Home(self.home), env={}), Home(self.home))
        await app.run(person, HERE)

    def lines(self) -> list[Json]:
        """What stands in the session."""
        return [json.loads(line) for line in self.session.read_text(encoding="utf-8").splitlines()]

    def messages(self) -> list[Json]:
        return [line for line in self.lines() if line["type"] == "message"]

    def said_by_the_model(self) -> list[str]:
        return [line["content"] for line in self.messages() if line["role"] == "assistant" and line["content"]]

    def put_session(self, *messages: Json) -> None:
        """Make a session as it was left behind."""
        at = {"at": "2026-03-01T09:00:00.000+00:00"}
        header = {"type": "session", "version": 1, "key": HERE.session_key, **at}
        lines = [{"type": "message", "id": f"m{n}", **at, **message} for n, message in enumerate(messages)]
        self.session.parent.mkdir(parents=True)
        self.session.write_text("".join(json.dumps(line) + "\n" for line in [header, *lines]), encoding="utf-8")

    def sent(self, number: int) -> list[Json]:
        """The messages of a request, the first is 0."""
        messages: list[Json] = self.server.requests[number].body["messages"]
        return messages
