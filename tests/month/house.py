"""The bot of the month: the program's own parts on real files, with a clock and a model that the test owns."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Self

import pytest

from nanobot.app import bot, memory
from nanobot.app.bot import Bot, build_bot
from nanobot.app.context import AppContext, build_people
from nanobot.app.forgetting import go_on
from nanobot.app.memory import when_to_dream
from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin
from nanobot.bus.spool import Spool
from nanobot.channels.access import Contact, PeoplePolicy
from nanobot.config import load
from nanobot.core.agent import Models
from nanobot.ids import new_id
from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage, Quote
from nanobot.ops.logs import log_to
from nanobot.ports import LLM, Caller, Delivery, ToolResult, ToolSpec
from nanobot.schedule.scheduler import next_time
from nanobot.sessions.media import MediaFolder
from nanobot.store.lock import WorkspaceLock
from nanobot.store.state import StoredSessionModels
from nanobot.store.template import prepare, template_folder
from nanobot.tools.builtin import builtin_tools
from nanobot.workspace import Home, Workspace
from tests.fakes.clock import FakeClock
from tests.month.cast import CONFIG, Place
from tests.month.story import RULE

PATIENCE = 120.0
"""Seconds before a test gives up; a guard against hanging, not a measure."""

CHANNELS = ("cli", "telegram", "discord")

_CHANGE = re.compile(r"^- `([0-9a-f]{7})` ", re.MULTILINE)


class Browse:
    """A tool that reads the one page of the web."""

    spec = ToolSpec("browse", "Read a web page.", {"type": "object", "properties": {"url": {"type": "string"}}})

    def __init__(self, page: str) -> None:
        self._page = page

    def describe(self, arguments: object, language: object) -> str:
        return "read a page"

    async def run(self, arguments: object, caller: Caller) -> ToolResult:
        return ToolResult(self._page, Origin.WEB)


class House:
    """`async with` it; inside, everything runs. What it said is in `heard`, by the message that it answers."""

    def __init__(self, home: Home, model: LLM, clock: FakeClock, page: str, patch: pytest.MonkeyPatch) -> None:
        self.home, self.model, self.clock = home, model, clock
        home.root.mkdir(mode=0o700, exist_ok=True)
        preset = {"base_url": "http://127.0.0.1:9", "api_key": "none", "model": "month"}
        home.config.write_text(json.dumps({**CONFIG, "models": {"month": preset}}), encoding="utf-8")
        self.config = load(home, env={})
        self.workspace = Workspace(self.config.workspace)
        self.said = 0
        self.patience = PATIENCE
        self._dreamt: datetime | None = None
        self._answers: dict[str, asyncio.Future[OutboundMessage]] = {}
        self._here: dict[Address, Place] = {}  # who spoke last
        patch.setattr(memory, "build_models", lambda config, home, workspace, clock: self._models())
        patch.setattr(bot, "builtin_tools", lambda *a, **k: [*builtin_tools(*a, **k), Browse(page)])

    async def __aenter__(self) -> Self:
        self._closing = AsyncExitStack()
        await self._closing.__aenter__()
        log_to(self.home.log, "debug", "text", str)
        self._closing.enter_context(WorkspaceLock(self.workspace))
        prepare(self.workspace, template_folder())
        self.spool = await self._closing.enter_async_context(Spool(self.workspace.spool, self.clock))
        self.people = build_people(self.config, self.workspace, self.clock)
        self.bot: Bot = build_bot(
            AppContext(self.config, self.home, self.workspace, self.clock, self.spool, self.people), "en"
        )
        await go_on(self.bot.forgetting, self.spool, self.workspace)
        self.door = PeoplePolicy(self.people, self.spool.send, self.clock)
        self.media = MediaFolder(self.workspace)
        tasks = await self._closing.enter_async_context(_Tasks())
        tasks.add(self.bot.dispatcher.run())
        tasks.add(self.bot.keep.memories.run())
        self.bot.keep.archive.background.start("history", self.bot.keep.memory.state.begin)
        self.bot.keep.archive.begin()
        tasks.add(self.bot.keep.archive.background.run())
        for channel in CHANNELS:
            tasks.add(self._deliver(channel))
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._closing.aclose()

    async def restart(self) -> None:
        """The program ends, and begins again."""
        await self.__aexit__()
        await self.__aenter__()

    async def say(
        self, place: Place, text: str, quotes: Sequence[Quote] = (), file: str = "", answers: str | None = None
    ) -> OutboundMessage | None:
        """Somebody says something, with a text file perhaps, or presses a button; None if they are not heard."""
        self.said += 1
        name = f"{place.address.session_key}:{self.said}"
        authority = await self._admitted(place, name, text)
        if authority is None:
            return None
        files = [await self._sent(authority, file)] if file else []
        answer: asyncio.Future[OutboundMessage] = asyncio.get_running_loop().create_future()
        self._answers[name] = answer
        self._here[place.address] = place
        await self.spool.publish(
            InboundMessage(
                id=name,
                address=place.address,
                sender=place.sender,
                authority=authority,
                text=text,
                quotes=quotes,
                files=files,
                answers=answers,
            )
        )
        async with asyncio.timeout(self.patience):
            return await answer

    async def ask(self, place: Place, text: str) -> str:
        """Say something that is answered; its text."""
        answer = await self.say(place, text)
        assert answer, f"{text!r} was not heard"
        return answer.text

    async def change_with(self, place: Place, line: str) -> str:
        """The number of the change that did something with a line, looked up as a person does."""
        for row in re.split(r"\n(?=- `)", await self.ask(place, "/dream-log 50")):
            if line.rstrip(".") in row and (match := _CHANGE.match(row)):
                return match[1]
        raise AssertionError(f"no change tells of {line!r}")

    async def passes(self, seconds: float) -> None:
        """So much time goes by without a word: the program does what it does by itself.

        The jobs of the schedule are begun here: its timers go by the machine's clock.
        """
        self.clock.advance(seconds)
        self.bot.keep.archive.begin()
        now, when = self.clock.now(), when_to_dream(self.config)
        if when and next_time(when, self._dreamt, now, UTC) <= now:
            self._dreamt = now
            await self.bot.keep.dream_triggers.on_schedule()
        async with asyncio.timeout(self.patience):
            await self.bot.keep.archive.background.idle()

    async def _admitted(self, place: Place, name: str, text: str) -> Authority | None:
        if place.address.channel == "cli":
            return OWNER_IN_TERMINAL
        admission = await self.door.admit(
            Contact(
                id=name,
                address=place.address,
                sender=place.sender,
                groups=[place.group] if place.group else [],
                meant="mention" if place.group else "none",
                text=text,
            )
        )
        return admission.authority if admission else None

    async def _sent(self, authority: Authority, text: str) -> Attachment:
        async def content() -> AsyncIterator[bytes]:
            yield text.encode()

        return await self.media.save(authority.scope, "list.txt", "text/plain", content())

    async def _deliver(self, channel: str) -> None:
        """As a platform does that always works; the bot's tools get a yes for the owner's own rule alone."""
        while True:
            item = await self.spool.outgoing(channel)
            if not isinstance(item, Delivery):
                continue
            message = item.message
            await self.spool.attempting(message.id)
            await self.spool.arrived(message.id, new_id())
            await self.spool.delivered(message.id)
            if message.kind == "question" and message.reply_to is None:
                await self._choose(message, "once" if RULE in message.text else "no")
            if (answer := self._answers.pop(message.reply_to or "", None)) and not answer.cancelled():
                answer.set_result(message)

    async def _choose(self, question: OutboundMessage, choice: str) -> None:
        place, name = self._here[question.address], f"{question.id}:chosen"
        if authority := await self._admitted(place, name, choice):
            await self.spool.publish(
                InboundMessage(
                    id=name,
                    address=place.address,
                    sender=place.sender,
                    authority=authority,
                    text=choice,
                    answers=question.id,
                )
            )

    def _models(self) -> Models:
        return Models({"month": lambda: self.model}, "month", StoredSessionModels(self.workspace))


class _Tasks:
    """Runs them while it is open; one that fails, fails the test."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        return self

    def add(self, work: Coroutine[object, object, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        for task in self._tasks:
            if not task.cancelled() and (failure := task.exception()):
                raise failure
