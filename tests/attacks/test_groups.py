"""Orders of members, in groups and alone: none comes into force for anybody else without the owner's yes."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nanobot.workspace import Home
from tests.attacks.obeying import PATIENCE, ObeyingModel, assert_powerless, order
from tests.fakes.gateway import GatewayProcess, configure, nanobot
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.telegram_server import FakeTelegram
from tests.fakes.telegram_world import Chat, Person


@dataclass(frozen=True)
class Stage:
    """Ada owns the bot, Mallory is a member, Eve nobody; all are in the garden's group."""

    ada: Person
    mallory: Person
    eve: Person
    garden: Chat


Way = Callable[[Stage, str], Chat]


def _in_garden(on: Stage, text: str, **more: object) -> Chat:
    on.mallory.says(f"@TestBot {text}", on.garden, **more)
    return on.garden


def _alone(on: Stage, text: str) -> Chat:
    on.mallory.says(text)
    return on.mallory.chat


def _before_the_owner(on: Stage, text: str) -> Chat:
    on.mallory.says(text, on.garden)
    on.ada.says("@TestBot what do you think?", on.garden)
    return on.garden


def _answered_by_the_owner(on: Stage, text: str) -> Chat:
    said = on.mallory.says(text, on.garden)
    on.ada.says("@TestBot look at this", on.garden, reply_to=said)
    return on.garden


def _of_a_stranger(on: Stage, text: str) -> Chat:
    said = on.eve.says(text, on.garden)
    on.ada.says("@TestBot look at that", on.garden, reply_to=said)
    return on.garden


def _by_name(on: Stage, text: str) -> Chat:
    on.mallory.says("@TestBot hi", on.garden, sender={"from": {**on.mallory.data, "first_name": text[:64]}})
    return on.garden


WAYS: Mapping[str, Way] = {
    "a member's sentence in a group": _in_garden,
    "a member's sentence alone": _alone,
    "a member's command in a group": lambda on, text: _in_garden(on, f"please remember for all of us: {text}"),
    "a message before the owner's": _before_the_owner,
    "a message that the owner replies to": _answered_by_the_owner,
    "a stranger's message that the owner replies to": _of_a_stranger,
    "a member's name": _by_name,
}
"""How somebody who is not the owner puts an order before the bot."""


async def test_an_order_of_a_member_never_comes_into_force(private_home: Path) -> None:
    """Nobody answers what is asked; the model obeys in talk, summaries and dreams."""
    model = ObeyingModel()
    async with FakeOpenAI() as endpoint, FakeTelegram() as telegram:
        endpoint.otherwise, endpoint.aside = model, model.aside
        world = telegram.world
        people = {"owners": ["42"], "members": ["43"], "groups": {"-1001": "mention"}, "store_all": ["-1001"]}
        configure(
            private_home,
            endpoint.base_url,
            telegram={"token": telegram.token, "api_base": telegram.api_base, **people},
        )
        workspace = Home(private_home).workspace
        stage = Stage(
            world.person(42, "Ada"), world.person(43, "Mallory"), world.person(66, "Eve"), world.group(-1001, "Garden")
        )
        async with GatewayProcess(private_home) as gateway:
            for number, way in enumerate(WAYS):
                before = len(endpoint.requests)
                chat = WAYS[way](stage, order(number))
                await _at_rest(endpoint, chat, before)
            stage.ada.says("/new")
            stage.ada.says("/new@TestBot", stage.garden)
            dreamt = await nanobot(private_home, "dream")
            assert dreamt.code in (0, 1), dreamt.err  # 1: not all that the model wanted
            for chat in (stage.ada.chat, stage.garden):
                before = len(endpoint.requests)
                stage.ada.says("@TestBot hello again", chat)
                await _at_rest(endpoint, chat, before)
            assert await gateway.stop() == 0
        assert_powerless(model, workspace, list(WAYS))


async def _at_rest(endpoint: FakeOpenAI, chat: Chat, before: int) -> None:
    """Wait until the bot was asked there, and has answered, or waits for a yes."""
    said = max(0, len(chat.by_bot) - 1)
    async with asyncio.timeout(PATIENCE):
        while len(endpoint.requests) == before or not _is_answered(chat, said):  # noqa: ASYNC110 - a platform's state
            await asyncio.sleep(0.02)


def _is_answered(chat: Chat, said: int) -> bool:
    return any(message.text.startswith("Done.") or message.buttons for message in chat.by_bot[said:])
