"""The gateway is killed while it reads on Discord what was said while it was away."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from tests.fakes.discord_server import FakeDiscord
from tests.fakes.discord_world import Room
from tests.fakes.gateway import PATIENCE, GatewayProcess, configure
from tests.fakes.openai_answers import Answer, Json, say
from tests.fakes.openai_server import FakeOpenAI

MISSED = 4
"""Messages in each room."""

SETTLED = 0.5
"""Seconds in which what comes twice would come."""


def answer(body: Json) -> Answer:
    """To all that was asked since the last answer."""
    asked: list[str] = []
    for message in body["messages"]:
        found = re.findall(r"question \d+", str(message["content"]))
        asked = [] if message["role"] == "assistant" else [*asked, *found]
    return say(" ".join(f"This is my answer to {question}!" for question in asked) or "Nothing was asked.")


class Town:
    """Ada's own chat, in which the bot was; Ben's, a channel and an archived thread, in which it never was."""

    def __init__(self, discord: FakeDiscord) -> None:
        self.discord = discord
        self.ada, self.ben = discord.person("Ada"), discord.person("Ben")
        self.home = discord.guild("Home")
        general = discord.channel(self.home, "general")
        self.rooms = [discord.dm(self.ada), discord.dm(self.ben), general]

    def talk(self) -> None:
        """While nobody is there."""
        thread = self.discord.thread(self.rooms[2], "a thread")
        self.rooms.append(thread)
        for number in range(1, MISSED + 1):
            for nth, room in enumerate(self.rooms):
                who = self.ben if nth == 1 else self.ada
                self.discord.says(who, room, f"{self.discord.mention if nth > 1 else ''} question {10 * nth + number}")
        thread.archived, thread.archived_at = True, self.discord.world.now()

    def answered(self, *rooms: Room) -> Sequence[int]:
        """The questions that were answered, in the order of the answers."""
        said = [message["content"] for room in rooms or self.rooms for message in self.discord.sent(room)]
        return [int(number) for text in said for number in re.findall(r"answer to question (\d+)", text)]

    def asked_for(self) -> int:
        """How often it has asked for what was said."""
        return len([call for call in self.discord.calls if call.method == "GET" and call.path.endswith("/messages")])

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110  the fakes have no common event
                await asyncio.sleep(0.005)


@pytest.fixture
async def town(private_home: Path) -> AsyncIterator[Town]:
    """The bot was there once, and knows Ada's own chat."""
    async with FakeOpenAI() as model, FakeDiscord() as discord:
        model.otherwise = answer
        town = Town(discord)
        people = {"owners": [town.ada.id], "members": [town.ben.id], "groups": {town.home.id: "mention"}}
        configure(
            private_home, model.base_url, discord={"token": discord.token, "api_base": discord.api_base, **people}
        )
        async with GatewayProcess(private_home) as gateway:
            await gateway.says("^discord: up as")
            discord.says(town.ada, town.rooms[0], "question 0")
            await town.until(lambda: bool(town.answered()))
            await gateway.stop()
        yield town
        assert model.illegal == []


async def killed_and_started_again(home: Path, town: Town, when: Callable[[], bool]) -> None:
    """Nothing of what was said meanwhile is lost, and nothing is answered twice."""
    town.talk()
    async with GatewayProcess(home) as gateway:
        await town.until(when)
        gateway.signal(signal.SIGKILL)
        await gateway.ended()
    async with GatewayProcess(home) as gateway:
        await town.until(lambda: len(town.answered()) > MISSED * len(town.rooms))
        await asyncio.sleep(SETTLED)
        await gateway.stop()
    for nth, room in enumerate(town.rooms):
        numbers = [10 * nth + number for number in range(1, MISSED + 1)]
        assert list(town.answered(room)) == ([0, *numbers] if nth == 0 else numbers)


async def test_killed_while_it_reads_what_it_missed_all_is_answered_once(private_home: Path, town: Town) -> None:
    await killed_and_started_again(private_home, town, lambda: len(town.answered()) > 3)


@pytest.mark.slow
@pytest.mark.parametrize("asked_for", range(4))
async def test_killed_as_soon_as_it_asks_for_more_all_is_answered_once(
    private_home: Path, town: Town, asked_for: int
) -> None:
    before = town.asked_for()
    await killed_and_started_again(private_home, town, lambda: town.asked_for() > before + asked_for)


@pytest.mark.slow
@pytest.mark.parametrize("answered", range(1, 16, 2))
async def test_killed_at_any_answer_to_what_it_missed_all_is_answered_once(
    private_home: Path, town: Town, answered: int
) -> None:
    await killed_and_started_again(private_home, town, lambda: len(town.answered()) > answered)
