"""What a forwarded text wants written is not written without a yes, whatever happens on the way."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.memory.changes import parse
from nanobot.messages import Address
from tests.app.proposing import LINE, Life, die, wish
from tests.memory.test_orders import ORDERS

OWNER = OWNER_IN_TERMINAL.scope
ASKED = "It is not written yet: I had read words that are not your own."
MOST_STEPS = 50


async def test_the_answer_comes_first_and_then_one_question_that_shows_all_of_it(tmp_path: Path) -> None:
    async with Life(tmp_path) as life:
        before = life.read()
        answer = await life.answered("what is this?", wish(LINE))
        question = await life.question()

        assert [message.kind for message in life.heard] == ["answer", "question"]
        assert answer.question == question.text
        assert ASKED in question.text
        assert f"+{LINE}" in question.text
        assert [button.label for button in question.buttons] == ["Keep it", "Don't keep it"]
        assert life.read() == before


@pytest.mark.parametrize("yes", ["yes", "好的", "keep it", "/accept"])
async def test_a_typed_yes_keeps_it_as_a_version_of_whoever_said_so(tmp_path: Path, yes: str) -> None:
    async with Life(tmp_path) as life:
        await life.answered("what is this?", wish(LINE))
        await life.question()

        told = await life.answered(yes)

        assert told.text.startswith("Kept: USER.md.")
        assert LINE in life.read()
        commits = [parse(version.message) for version in await life.bot.keep.memory.versions.log()]
        assert [(one.kind, one.agreed) for one in commits if one and one.proposal] == [("tool", "telegram:7")]
        assert "zed@evil.example" in (await life.answered("/dream-log 1")).text


async def test_a_no_keeps_nothing_and_a_thought_decides_nothing(tmp_path: Path) -> None:
    async with Life(tmp_path) as life:
        before = life.read()
        await life.answered("what is this?", wish(LINE))
        await life.question()

        assert (await life.answered("yes, but who is Zed?")).kind == "answer"
        assert len(await life.bot.keep.memory.proposals.waiting(OWNER)) == 1
        assert "1 change waits for a yes: /proposals" in (await life.answered("/status")).text
        listed = await life.answered("/proposals")
        assert f"+{LINE}" in listed.text
        assert (await life.answered("no")).text.startswith("Not kept: USER.md")

        assert life.read() == before
        assert (await life.answered("/proposals")).text == "Nothing waits for a yes."


async def test_after_a_restart_it_waits_and_the_button_still_counts(tmp_path: Path) -> None:
    async with Life(tmp_path) as life:
        await life.answered("what is this?", wish(LINE))
        question = await life.question()
    async with Life(tmp_path) as life:
        assert "/accept" in (await life.hears_after_yes()).text
        told = await life.answered(question.buttons[0].value, answers=question.id)

        assert told.text.startswith("Kept: USER.md.")
        again = await life.answered(question.buttons[0].value, answers=question.id)
        assert again.text.startswith("That was kept before")
        assert life.read().count(LINE) == 1


async def test_what_is_long_is_agreed_to_only_when_all_of_it_was_shown(tmp_path: Path) -> None:
    async with Life(tmp_path) as life:
        await life.answered("what is this?", wish("x" * 4_000))
        question = await life.question()

        assert [button.label for button in question.buttons] == ["Show all", "Don't keep it"]
        whole = await life.answered(question.buttons[0].value)
        assert "x" * 4_000 in whole.text
        assert [button.label for button in whole.buttons] == ["Keep it", "Don't keep it"]


async def test_in_a_group_an_owner_decides_about_what_a_member_caused(tmp_path: Path) -> None:
    hikers, address = Scope.group("telegram", "-1"), Address("telegram", "-1")
    member = Authority(Role.MEMBER, hikers, Origin.PERSON)
    owner = Authority(Role.OWNER, hikers, Origin.OWNER)
    path = "groups/telegram--1/MEMORY.md"
    async with Life(tmp_path) as life:
        await life.answered("what is this?", wish(LINE, path), authority=member, address=address, person="8")
        question = await life.question()
        assert "an owner of the bot decides" in question.text
        accept = question.buttons[0].value

        refused = await life.answered(accept, authority=member, address=address, person="8")
        assert refused.failed
        assert life.read(path) == ""
        told = await life.answered(accept, authority=owner, address=address)
        assert told.text.startswith("Kept:")
        assert LINE in life.read(path)


def sample() -> Sequence[str]:
    return [text for _, text in ORDERS if "\n" not in text][::20]


async def test_what_orders_look_like_makes_no_difference(tmp_path: Path) -> None:
    """All of them are tried at the tools; here is a sample, through everything."""
    async with Life(tmp_path) as life:
        before = {path: life.read(path) for path in ("USER.md", "memory/MEMORY.md", "SOUL.md", "AGENTS.md")}
        for number, text in enumerate(sample()):
            await life.answered("what is this?", wish(f"- {text}", list(before)[number % 4]))

        assert {path: life.read(path) for path in before} == before
        assert len(await life.bot.keep.memory.proposals.waiting(OWNER)) == len(sample())


async def test_a_kill_at_some_steps_loses_nothing_and_makes_nothing_twice(tmp_path: Path) -> None:
    outcomes = [await _killed(tmp_path / str(step), step) for step in range(0, MOST_STEPS, 9)]

    assert any(outcomes)


@pytest.mark.slow
async def test_a_kill_at_any_step_loses_nothing_and_makes_nothing_twice(tmp_path: Path) -> None:
    outcomes = [await _killed(tmp_path / str(step), step) for step in range(MOST_STEPS)]

    assert not outcomes[-1]


async def _killed(root: Path, step: int) -> bool:
    """Whether there was such a step to be killed at."""
    died = await die(root, step)
    async with Life(root) as life:
        await life.say("what is this?", wish(LINE), name="first")  # as a platform gives it again
        proposals = life.bot.keep.memory.proposals
        if LINE not in life.read():
            name = await life.was_asked()  # by the turn that goes on, or after the one that had gone to its end
            accept = await life.answered(f"/accept {name}", name="third")
            assert accept.text.startswith(("Kept", "That was kept before"))
        assert life.read().count(LINE) == 1
        assert await proposals.waiting(OWNER) == []
        commits = [parse(version.message) for version in await life.bot.keep.memory.versions.log()]
        assert len([one for one in commits if one and one.proposal]) == 1
    return died
