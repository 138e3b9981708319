"""Other bots: not heard, unless they are let in and call by name; and never for ever."""

import logging

import pytest

from nanobot.channels.discord.messages import MOST_ANSWERS, WINDOW, LoopGuard
from tests.channels.discord.scene import Scene
from tests.fakes.clock import FakeClock


@pytest.mark.parametrize("let_in", [False, True])
async def test_a_bot_is_heard_only_if_let_in_and_only_when_it_names_us(scene: Scene, let_in: bool) -> None:
    scene.listening = "open"
    robot = scene.discord.person("Robo", bot=True)
    hook = scene.discord.person("Hook", webhook=True)
    scene.bots = (robot.id,) if let_in else ()
    mention = scene.discord.mention

    async with scene.running():
        ours = scene.discord.world.say(scene.general, scene.discord.bot, f"{mention} I speak to myself")
        scene.discord.says(robot, scene.general, "status ok")
        scene.discord.says(robot, scene.general, "thanks", reply_to=ours)
        named = scene.discord.says(robot, scene.general, f"{mention} please help")
        scene.discord.edits(scene.general, named, f"{mention} please help me")
        scene.discord.says(hook, scene.general, f"{mention} hi")
        scene.discord.says(scene.ben, scene.general, f"{mention} hi")
        await scene.nothing_but(2 if let_in else 1, scene.general)

    assert [message.text for message in scene.heard] == [*(["please help"] if let_in else []), "hi", "the last word"]
    if let_in:
        assert scene.heard[0].id.endswith(":bot")


async def test_a_webhook_can_be_let_in(scene: Scene) -> None:
    hook = scene.discord.person("Hook", webhook=True)
    scene.bots = (hook.id,)

    async with scene.running():
        scene.discord.says(hook, scene.general, f"{scene.discord.mention} the build is red")
        assert (await scene.hears()).text == "the build is red"


async def test_a_bot_alone_with_us_is_not_heard(scene: Scene) -> None:
    robot = scene.discord.person("Robo", bot=True)
    scene.bots = (robot.id,)

    async with scene.running():
        scene.discord.says(robot, scene.discord.dm(robot), f"{scene.discord.mention} psst")
        await scene.nothing_but(0)

    assert scene.notices == []


async def test_two_bots_that_answer_each_other_fall_silent(scene: Scene) -> None:
    robot = scene.discord.person("Robo", bot=True)
    scene.bots = (robot.id,)

    async with scene.running():
        for number in range(MOST_ANSWERS * 3):
            scene.discord.says(robot, scene.general, f"{scene.discord.mention} and you? {number}")
        await scene.nothing_but(MOST_ANSWERS, scene.general)


def test_silence_lasts_until_the_bots_are_quiet_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    guard = LoopGuard(clock)

    with caplog.at_level(logging.WARNING):
        answered = 0
        for _ in range(6000):  # ten minutes of a peer that always answers
            answered += guard.lets("1")
            clock.advance(0.1)
        assert answered == MOST_ANSWERS
        assert guard.lets("2")
        clock.advance(WINDOW)
        assert guard.lets("1")

    assert len(caplog.records) == 1


def test_a_slow_talk_goes_on() -> None:
    clock = FakeClock()
    guard = LoopGuard(clock)

    for _ in range(100):
        assert guard.lets("1")
        clock.advance(WINDOW / MOST_ANSWERS + 1)
