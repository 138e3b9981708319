"""The gateway is killed while a file trickles, or while nobody transcribes what was spoken."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
from aiohttp import web

from nanobot.channels.telegram.updates import MOST_DEATHS
from nanobot.i18n import say as sentence
from tests.fakes.gateway import PATIENCE, GatewayProcess, configure
from tests.fakes.openai_answers import Answer, Json, say
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.telegram_faults import trickle
from tests.fakes.telegram_server import FakeTelegram
from tests.fakes.telegram_world import Person

BEHIND = 2
"""Messages that the one who sends the file says behind it; the questions 1, 2, …"""

OTHERS = range(100, 118)
"""The questions of the others, one of each; also their ids."""

SETTLED = 0.5
"""Seconds in which what comes twice would come."""


def answer(body: Json) -> Answer:
    """To all that was asked since the last answer."""
    asked: list[str] = []
    for message in body["messages"]:
        asked = (
            [] if message["role"] == "assistant" else [*asked, *re.findall(r"question \d+", str(message["content"]))]
        )
    return say(" ".join(f"This is my answer to {question}!" for question in asked) or "Nothing was asked.")


class Listener:
    """A server that turns speech into text, if it answers at all."""

    def __init__(self) -> None:
        self.url = ""
        self.is_deaf = True
        self.asked = 0

    async def listen(self, request: web.Request) -> web.Response:
        await request.read()
        self.asked += 1
        if self.is_deaf:
            await asyncio.Event().wait()
        return web.json_response({"text": "question 0"})


class Town:
    """Ada, who sends something that takes long, and others who talk meanwhile."""

    def __init__(self, telegram: FakeTelegram, listener: Listener) -> None:
        self.telegram, self.listener = telegram, listener
        self.ada = telegram.world.person(42, "Ada")
        self.others = [telegram.world.person(number, f"Person {number}") for number in OTHERS]

    def talk(self, what: str) -> None:
        world = self.telegram.world
        if what == "file":
            self.telegram.will("file", trickle())
            self.ada.sends(document=world.document(b"the file", "slow.txt"), caption="question 0")
        else:
            self.ada.sends(voice=world.voice())
        for number in range(1, BEHIND + 1):
            self.ada.says(f"question {number}")
        for person in self.others:
            person.says(f"question {person.id}")

    def waits_for(self, what: str) -> bool:
        return bool(self.telegram.made("file") if what == "file" else self.listener.asked)

    def answered(self, *people: Person) -> Sequence[int]:
        """The questions of people that were answered, in the order of the answers.

        What says of itself that it may be a repeat counts if it is none: the request had not arrived before the kill.
        """
        found: list[int] = []
        for said in (said for person in people for said in person.chat.by_bot):
            numbers = [int(number) for number in re.findall(r"answer to question (\d+)", said.text)]
            is_marked = sentence("telegram.repeat", "en") in said.text
            found += [number for number in numbers if not (is_marked and number in found)]
        return found

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110  the fakes have no common event
                await asyncio.sleep(0.02)

    async def all_is_answered_once(self) -> None:
        everybody = (self.ada, *self.others)
        await self.until(lambda: len(self.answered(*everybody)) > BEHIND + len(OTHERS))
        await asyncio.sleep(SETTLED)
        assert list(self.answered(*everybody)) == [*range(BEHIND + 1), *OTHERS]


@pytest.fixture
async def town(private_home: Path) -> AsyncIterator[Town]:
    listener = Listener()
    app = web.Application()
    app.router.add_post("/v1/audio/transcriptions", listener.listen)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    listener.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    async with FakeOpenAI() as model, FakeTelegram() as telegram:
        model.otherwise = answer
        place = {"token": telegram.token, "api_base": telegram.api_base, "owners": [42, *OTHERS]}
        ears = {"base_url": listener.url, "model": "ears", "api_key": "key-of-the-ears"}
        configure(private_home, model.base_url, telegram=place, transcription=ears)
        yield Town(telegram, listener)
        assert model.illegal == []
    await runner.cleanup()


async def killed(home: Path, town: Town, when: Callable[[], bool]) -> None:
    """A life of the gateway that ends with kill -9."""
    async with GatewayProcess(home) as gateway:
        await town.until(when)
        gateway.signal(signal.SIGKILL)
        await gateway.ended()


async def test_killed_while_a_file_trickles_all_is_answered_once(private_home: Path, town: Town) -> None:
    town.talk("file")
    await killed(private_home, town, lambda: len(town.answered(*town.others)) == len(OTHERS))

    async with GatewayProcess(private_home) as gateway:
        await town.all_is_answered_once()
        await gateway.stop()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["file", "speech"])
@pytest.mark.parametrize("moment", range(0, 2 * len(OTHERS), 6))
async def test_killed_at_any_time_meanwhile_all_is_answered_once(
    private_home: Path, town: Town, what: str, moment: int
) -> None:
    """The moment is first when Telegram may forget so many, then when so many others were answered."""
    town.talk(what)

    def is_time() -> bool:
        forgotten, answered = len(town.telegram.world.confirmed), len(town.answered(*town.others))
        return town.waits_for(what) and forgotten >= min(moment, len(OTHERS)) and answered >= moment - len(OTHERS)

    await killed(private_home, town, is_time)
    town.listener.is_deaf = False

    async with GatewayProcess(private_home) as gateway:
        await town.all_is_answered_once()
        await gateway.stop()


@pytest.mark.slow
async def test_what_ends_the_gateway_three_times_is_set_aside(private_home: Path, town: Town) -> None:
    town.telegram.will("file", *[trickle()] * MOST_DEATHS)
    town.ada.sends(document=town.telegram.world.document(b"x", "deadly.bin"), caption="question 0")
    for deaths in range(1, MOST_DEATHS + 1):
        await killed(private_home, town, lambda deaths=deaths: len(town.telegram.made("file")) == deaths)  # type: ignore[misc]
    for number in range(1, BEHIND + 1):
        town.ada.says(f"question {number}")

    async with GatewayProcess(private_home) as gateway:
        await town.until(lambda: len(town.answered(town.ada)) > BEHIND)
        await gateway.stop()

    assert list(town.answered(town.ada)) == list(range(BEHIND + 1))
    assert len(town.telegram.made("file")) == MOST_DEATHS
    assert sentence("telegram.words_only", "en") in [message.text for message in town.ada.chat.by_bot]
