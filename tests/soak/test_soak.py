"""Fifty people on both platforms talk for ten minutes, while everything that can go wrong does now and then.

`make soak`; SOAK_SECONDS=60 makes it shorter.
"""

import asyncio
import os
import random
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nanobot.i18n import say as sentence
from tests.fakes import telegram_faults as faults
from tests.fakes.discord_rest import Fault
from tests.fakes.discord_server import FakeDiscord
from tests.fakes.gateway import GatewayProcess, configure
from tests.fakes.openai_answers import Answer, Json, fail, say
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.telegram_server import FakeTelegram

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
CHATS = 25  # on each platform
LIVES = 4
"""How many processes: each but the last is killed."""

MISHAPS = 0.05
"""The share of requests that go wrong."""

PATIENCE = 120.0
"""Seconds in which a message must be answered, come what may."""

REPEAT = sentence("telegram.repeat", "en")


def answer(body: Json, chance: random.Random) -> Answer:
    """Repeats the name of the question: "answer 12-7"; longer ones are shown growing; now and then none comes."""
    if chance.random() < MISHAPS:
        return fail(503, "try again", retry_after="1")
    asked = re.findall(r"question (\d+-\d+)", str(body["messages"][-1]["content"]))
    text = f"answer {asked[-1]}. " + "Some more words. " * chance.choice([0, 0, 5, 30])
    return say(text.strip(), size=40, pause=chance.choice([0, 0.02, 0.1]))


def trouble(chance: random.Random) -> Callable[..., faults.Fault | None]:
    """What Telegram does to a request."""

    def decide(method: str, told: object) -> faults.Fault | None:
        if chance.random() >= MISHAPS or method in ("getme", "setmycommands", "deletewebhook"):
            return None
        if method == "getupdates":
            return chance.choice([faults.cut(does=False), faults.html(502), faults.slow(2)])
        return chance.choice(
            [faults.flood(chance.randint(1, 4)), faults.fails(does=False), faults.fails(does=True), faults.html(502),
             faults.cut(does=True), faults.cut(does=False), faults.slow(3)]
        )  # fmt: skip

    return decide


def mishap(chance: random.Random) -> Fault:
    """What Discord does to the next request that is about a message."""
    flood = {"message": "You are being rate limited.", "retry_after": 2.0, "global": False}
    return chance.choice(
        [
            Fault("*", "/messages", 1, 429, flood, {"Retry-After": "2"}),
            Fault("*", "/messages", 1, 502),
            Fault("POST", "/messages", 1, 502, accepted=True),
            Fault("POST", "/messages", 1, 0, accepted=True),
            Fault("*", "/messages", 1, 0),
        ]
    )


@dataclass
class Talk:
    """One person's conversation: questions one after the other, sometimes two at once."""

    number: int
    ask: Callable[[str], object]
    shown: Callable[[], Sequence[str]]
    asked: int = 0
    slowest: float = 0.0

    async def go_on(self, until: float) -> None:
        chance = random.Random(self.number)
        while time.monotonic() < until:
            for _ in range(chance.choice([1, 1, 1, 2])):
                self.ask(f"question {self.number}-{self.asked}")
                self.asked += 1
            began = time.monotonic()
            try:
                async with asyncio.timeout(PATIENCE):
                    while not self.is_answered(self.asked - 1):  # noqa: ASYNC110  the fakes have no common event
                        await asyncio.sleep(0.1)
            except TimeoutError:
                return  # `problems` tells what is missing
            self.slowest = max(self.slowest, time.monotonic() - began)
            await asyncio.sleep(chance.uniform(0.5, 8))

    def is_answered(self, question: int) -> bool:
        return any(f"answer {self.number}-{question}." in text for text in self.shown())

    def problems(self) -> list[str]:
        """What is wrong with what the person sees."""
        found = [int(number) for text in self.shown() for number in re.findall(rf"answer {self.number}-(\d+)\.", text)]
        marked = sum(REPEAT in text for text in self.shown())
        wrong = []
        if len(found) - len(set(found)) > marked:
            wrong.append(f"chat {self.number}: {found} holds repeats, {marked} of them marked")
        if sorted(found) != found:
            wrong.append(f"chat {self.number}: {found} is out of order")
        if missing := set(range(self.asked)) - set(found):
            wrong.append(f"chat {self.number}: questions {sorted(missing)} have no answer")
        return wrong


@dataclass
class Soak:
    """Both platforms and the model."""

    home: Path
    telegram: FakeTelegram
    discord: FakeDiscord
    chance: random.Random
    talks: list[Talk] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def settle(self, model_url: str) -> None:
        """Fifty people, all of whom may talk."""
        people = [self.telegram.world.person(100 + number, f"T{number}") for number in range(CHATS)]
        others = [self.discord.person(f"D{number}") for number in range(CHATS)]
        ids, other_ids = [person.id for person in people], [int(other.id) for other in others]
        for number, person in enumerate(people):
            chat = person.chat
            self.talks.append(Talk(number, person.says, lambda chat=chat: [one.text for one in chat.by_bot]))  # type: ignore[misc]  # a default binds the loop's variable
        for number, other in enumerate(others, CHATS):
            room = self.discord.dm(other)
            self.talks.append(
                Talk(
                    number,
                    lambda text, other=other, room=room: self.discord.says(other, room, text),  # type: ignore[misc]  # as above
                    lambda room=room: [one["content"] for one in self.discord.sent(room)],  # type: ignore[misc]  # as above
                )
            )
        configure(
            self.home,
            model_url,
            models={"fake": {"base_url": model_url, "api_key": "key", "model": "fake", "attempts": 6}},
            agent={"while_busy": "queue", "parallel_sessions": 16},
            telegram={"token": self.telegram.token, "api_base": self.telegram.api_base, "owners": ids},
            discord={"token": self.discord.token, "api_base": self.discord.api_base, "owners": other_ids},
        )

    async def misbehave(self) -> None:
        """From when each chat is known: what others say on Discord meanwhile is lost, as documented."""
        while not all(talk.is_answered(0) for talk in self.talks):  # noqa: ASYNC110  the fakes have no common event
            await asyncio.sleep(0.1)
        while True:
            await asyncio.sleep(self.chance.uniform(1, 4))
            if self.chance.random() < 0.1:
                await self.discord.gateway.cut(resumable=self.chance.random() < 0.5)
            elif not self.discord.rest.faults or self.discord.rest.faults[-1].times <= 0:
                self.discord.fail(mishap(self.chance))

    async def watch(self, gateway: GatewayProcess) -> None:
        while True:
            await asyncio.sleep(SECONDS / LIVES / 20)
            self.memory.append(resident(gateway.pid))

    async def run(self) -> None:
        end = time.monotonic() + SECONDS
        talking: list[asyncio.Task[None]] = []
        async with asyncio.TaskGroup() as tasks:
            bothering = tasks.create_task(self.misbehave())
            for life in range(LIVES):
                async with GatewayProcess(self.home) as gateway:  # leaving kills it
                    if (
                        not talking
                    ):  # what is said on Discord before the bot ever saw the chat is lost: that is promised
                        await gateway.says("^discord: up as")
                        talking = [tasks.create_task(talk.go_on(end)) for talk in self.talks]
                    self.memory.clear()
                    watching = asyncio.create_task(self.watch(gateway))
                    if life < LIVES - 1:
                        await asyncio.sleep(SECONDS / LIVES)
                    else:
                        await asyncio.wait(talking)
                        bothering.cancel()
                        await asyncio.sleep(2)  # what comes twice would come now
                    watching.cancel()


def resident(pid: int) -> int:
    """Kilobytes in memory."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0])


@asynccontextmanager
async def soak(home: Path) -> AsyncIterator[Soak]:
    chance = random.Random(20261130)
    async with AsyncExitStack() as stack:
        model: FakeOpenAI = await stack.enter_async_context(FakeOpenAI())
        model.otherwise = lambda body: answer(body, chance)
        telegram: FakeTelegram = await stack.enter_async_context(FakeTelegram())
        telegram.trouble = trouble(chance)
        discord: FakeDiscord = await stack.enter_async_context(FakeDiscord())
        soak = Soak(home, telegram, discord, chance)
        soak.settle(model.base_url)
        yield soak
        assert model.illegal == []


@pytest.mark.slow
async def test_ten_minutes_of_mishaps_lose_nothing_and_say_nothing_twice(
    private_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with soak(private_home) as all_of_it:
        await all_of_it.run()

    talks: Sequence[Talk] = all_of_it.talks
    memory = all_of_it.memory
    figures: dict[str, Any] = {
        "seconds": SECONDS,
        "chats": len(talks),
        "questions": sum(talk.asked for talk in talks),
        "slowest answer": f"{max(talk.slowest for talk in talks):.1f} s",
        "processes": LIVES,
        "requests of the bot": len(all_of_it.telegram.calls) + len(all_of_it.discord.calls),
        "marked as a possible repeat": sum(REPEAT in text for talk in talks for text in talk.shown()),
        "memory of the last process": f"{memory[2] / 1024:.0f} to {memory[-1] / 1024:.0f} MB",
    }
    with capsys.disabled():
        print("\n\n" + "\n".join(f"| {name} | {value} |" for name, value in figures.items()))
    assert [problem for talk in talks for problem in talk.problems()] == []
    assert memory[-1] < 1.2 * memory[2] + 8 * 1024
