"""From a chat platform through the real gateway to the answer."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.workspace import Home, Workspace
from tests.fakes.discord_server import FakeDiscord
from tests.fakes.gateway import GatewayProcess, configure, nanobot
from tests.fakes.openai_answers import Hang, Pause, beginning, say
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.telegram_server import FakeTelegram

CODE = r"\b[A-Z0-9]{4}-?[A-Z0-9]{4}\b"


@pytest.fixture
async def model() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        server.otherwise = lambda body: say(f"You said {body['messages'][-1]['content'].split()[-1]}.")
        yield server


async def test_a_stranger_on_telegram_becomes_the_owner_and_is_answered(model: FakeOpenAI, private_home: Path) -> None:
    async with FakeTelegram() as telegram:
        configure(private_home, model.base_url, telegram={"token": telegram.token, "api_base": telegram.api_base})
        ada = telegram.world.person(42, "Ada")
        async with GatewayProcess(private_home) as gateway:
            await gateway.says("^telegram: up as @TestBot, polling")
            await gateway.says("^Nobody owns this bot yet")
            ada.says("hello")
            await telegram.called("sendMessage")
            code = re.search(CODE, telegram.world.chat(42).shown[-1])
            assert code
            approved = await nanobot(private_home, "pair", "approve", code[0])
            assert approved.code == 0
            assert "telegram:42" in approved.out
            await telegram.called("sendMessage", 2)

            ada.says("apple")
            await telegram.called("sendMessage", 3)
            assert await gateway.stop() == 0
        assert telegram.world.chat(42).shown[-1] == "You said apple."
        assert telegram.token not in gateway.log() + gateway.said


@pytest.mark.slow
async def test_what_a_killed_gateway_showed_growing_is_gone_after_the_next_start_also_when_the_turn_is_stopped(
    model: FakeOpenAI, private_home: Path
) -> None:
    async with FakeTelegram() as telegram:
        says = {"token": telegram.token, "api_base": telegram.api_base, "owners": ["42"]}
        configure(private_home, model.base_url, telegram=says)
        more = beginning(" then stops", Hang()).parts
        model.otherwise = lambda body: beginning("Half of a sentence that goes on and", Pause(1.5), *more)
        ada = telegram.world.person(42, "Ada")
        async with GatewayProcess(private_home):
            asked = ada.says("go")
            await telegram.called("editMessageText")  # so the next process knows of what was sent
        [half] = ada.chat.by_bot
        async with GatewayProcess(private_home) as gateway:
            await telegram.called("sendMessage", 2)
            assert half.is_deleted
            await telegram.called("editMessageText", 2)
            ada.says("/stop")
            await telegram.called("sendMessage", 3)
            assert await gateway.stop() == 0
        anew = ada.chat.by_bot[0]
        assert anew.text.startswith("Half of a sentence")
        assert "I stopped here" in anew.text
        assert anew.data["reply_to_message"]["message_id"] == asked.id


async def test_an_owner_on_discord_is_answered(model: FakeOpenAI, private_home: Path) -> None:
    async with FakeDiscord() as discord:
        ada = discord.person("Ada")
        says = {"token": discord.token, "api_base": discord.api_base, "owners": [ada.id]}
        configure(private_home, model.base_url, discord=says)
        async with GatewayProcess(private_home) as gateway:
            await gateway.says("^discord: up as @")
            private = discord.dm(ada)
            discord.says(ada, private, "pear")
            await discord.until(lambda: any("You said pear." in line for line in discord.shown(private)))
            assert await gateway.stop() == 0
        assert discord.token not in gateway.log() + gateway.said


async def test_a_refused_token_stays_red_while_the_other_channel_goes_on(model: FakeOpenAI, private_home: Path) -> None:
    async with FakeTelegram() as telegram, FakeDiscord() as discord:
        ada = discord.person("Ada")
        configure(
            private_home,
            model.base_url,
            telegram={"token": "1:AAwrong", "api_base": telegram.api_base},
            discord={"token": discord.token, "api_base": discord.api_base, "owners": [ada.id]},
        )
        async with GatewayProcess(private_home) as gateway:
            await gateway.says("^telegram: refused")
            await gateway.says("^discord: up")
            asked = len(telegram.calls)
            private = discord.dm(ada)
            discord.says(ada, private, "pear")
            await discord.until(lambda: any("You said pear." in line for line in discord.shown(private)))
            told = await nanobot(private_home, "status")
            assert told.code == 1
            assert "telegram: refused" in told.out
            assert "Telegram does not know this token. @BotFather" in told.out
            assert "developers/applications" not in told.out
            looked = await nanobot(private_home, "doctor")
            assert "[problem] Telegram: Telegram does not know this token" in looked.out
            assert "[ok] Discord: " in looked.out
            assert "[problem] Gateway: telegram: refused." in looked.out
            assert "discord: up" in told.out
            assert len(telegram.calls) == asked + 1  # what doctor asked
            assert await gateway.stop() == 0


async def test_a_gateway_whose_only_token_is_refused_asks_nobody_to_write_to_it(
    model: FakeOpenAI, private_home: Path
) -> None:
    async with FakeTelegram() as telegram:
        configure(private_home, model.base_url, telegram={"token": "1:AAwrong", "api_base": telegram.api_base})
        async with GatewayProcess(private_home) as gateway:
            await gateway.says("^No chat platform is left.")
            assert await gateway.stop() == 0
        assert "Write to it" not in gateway.said
        assert ".;" not in gateway.log()


async def test_a_channel_that_is_down_at_the_start_comes_up_by_itself(model: FakeOpenAI, private_home: Path) -> None:
    telegram = FakeTelegram()
    await telegram.start()
    await telegram.stop()
    configure(private_home, model.base_url, telegram={"token": telegram.token, "api_base": telegram.api_base})
    async with GatewayProcess(private_home) as gateway:
        await gateway.says("^telegram: down")
        await telegram.start()
        try:
            await gateway.says("^telegram: up")
        finally:
            await telegram.stop()


async def test_what_was_written_while_the_gateway_was_away_is_answered(model: FakeOpenAI, private_home: Path) -> None:
    async with FakeTelegram() as telegram:
        says = {"token": telegram.token, "api_base": telegram.api_base, "owners": ["42"]}
        configure(private_home, model.base_url, telegram=says)
        telegram.world.person(42, "Ada").says("plum")
        async with GatewayProcess(private_home) as gateway:
            await telegram.called("sendMessage")
            assert await gateway.stop() == 0
        assert telegram.world.chat(42).shown == ["plum", "You said plum."]


DYING = """
import asyncio, os, sys
from pathlib import Path
from nanobot.bus.spool import Spool
from nanobot.schedule.scheduler import SystemClock
from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.messages import Address, InboundMessage, Sender

async def die():
    message = InboundMessage(id="telegram:42:1", address=Address("telegram", "42"), sender=Sender("42"),
                             authority=OWNER_IN_TERMINAL, text="a poisonous message")
    async with Spool(Path(sys.argv[1]), SystemClock()) as spool:
        await spool.publish(message)
        await spool.begin(message)
        os._exit(9)

asyncio.run(die())
"""


async def test_a_message_that_kept_killing_the_process_is_set_aside_and_its_chat_is_told(
    model: FakeOpenAI, private_home: Path
) -> None:
    async with FakeTelegram() as telegram:
        says = {"token": telegram.token, "api_base": telegram.api_base, "owners": ["42"]}
        configure(private_home, model.base_url, telegram=says)
        ada = telegram.world.person(42, "Ada")
        for _ in range(10):
            spool = Workspace(Home(private_home).workspace).spool
            dying = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING, str(spool))
            await dying.wait()
        async with GatewayProcess(private_home) as gateway:
            await telegram.called("sendMessage")
            assert "a poisonous message" in telegram.world.chat(42).shown[-1]
            told = await nanobot(private_home, "status")
            assert "I set a message in telegram:42 aside" in told.out
            ada.says("plum")
            await telegram.called("sendMessage", 2)
            assert await gateway.stop() == 0
        assert telegram.world.chat(42).shown[-1] == "You said plum."
    assert len(model.requests) == 1
