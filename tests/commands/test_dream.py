"""/dream: run now, and say what changed."""

from datetime import timedelta
from pathlib import Path

import pytest

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.commands.memory import dream_command, dream_lines
from nanobot.core.commands import CommandAnswer, CommandCall
from nanobot.errors import LLMError
from nanobot.i18n import Language
from nanobot.memory.episodes.consolidator import Archiving
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from tests.fakes.dreamers import keen
from tests.memory.dream.bedroom import MEMORY, OWNER, Bedroom, Line

BOB = Scope.person("telegram", "7")


@pytest.fixture
async def bedroom(tmp_path: Path) -> Bedroom:
    return await Bedroom(tmp_path / "workspace").began()


async def nothing(session: str) -> Archiving:
    """There is nothing to archive."""
    return Archiving(is_whole=True)


async def ask(bedroom: Bedroom, scope: Scope = OWNER, language: Language = "en") -> tuple[CommandAnswer, list[str]]:
    sent: list[str] = []

    async def send(message: OutboundMessage) -> None:
        sent.append(message.text)

    role, origin = (Role.OWNER, Origin.OWNER) if scope.is_owner else (Role.MEMBER, Origin.PERSON)
    message = InboundMessage(
        id="x",
        address=Address("telegram", "1"),
        sender=Sender("1"),
        authority=Authority(role, scope, origin),
        text="/dream",
    )
    return await dream_command(bedroom.dream, send, nothing).handler(CommandCall(message, "", language)), sent


async def test_it_says_what_it_reads_and_then_what_changed(bedroom: Bedroom) -> None:
    await bedroom.happened("my dog is called Pixel", facts=["the dog is called Pixel"])
    bedroom.answers(keen)

    answer, sent = await ask(bedroom)

    assert "new in MEMORY.md: the dog is called Pixel" in answer.text
    assert not answer.failed
    assert sent == ["I am going through what was said lately …"]
    assert "Pixel" in bedroom.read(MEMORY)


async def test_with_nothing_new_it_answers_at_once(bedroom: Bedroom) -> None:
    answer, sent = await ask(bedroom, language="zh")

    assert "没有新的对话" in answer.text
    assert sent == []


async def test_what_failed_is_said_in_plain_words(bedroom: Bedroom) -> None:
    await bedroom.happened("hello")
    bedroom.answers(LLMError("quota"))

    answer, _ = await ask(bedroom)

    assert answer.failed
    assert "nothing is lost" in answer.text


async def test_each_person_hears_about_their_own_memory_only(bedroom: Bedroom) -> None:
    await bedroom.happened("my dog is called Pixel", facts=["the dog is called Pixel"])
    line = Line("my cat is called Mia", origin=Origin.PERSON)
    await bedroom.happened(line, facts=["the cat is called Mia"], scope=BOB, session="telegram:7")
    bedroom.answers(keen)

    answer, _ = await ask(bedroom, BOB)

    assert "Mia" in answer.text
    assert "Pixel" not in answer.text


async def lines(bedroom: Bedroom, scope: Scope, language: Language = "en") -> list[str]:
    role, origin = (Role.OWNER, Origin.OWNER) if scope.is_owner else (Role.MEMBER, Origin.PERSON)
    authority = Authority(role, scope, origin)
    address = Address("telegram", "1")
    message = InboundMessage(id="x", address=address, sender=Sender("1"), authority=authority, text="/status")
    due = bedroom.clock.now().replace(hour=23, minute=30)
    told = dream_lines(bedroom.dream, lambda after: max(due, after or due))
    return list(await told(CommandCall(message, "", language)))


async def test_how_dream_is_doing_stands_in_one_line(bedroom: Bedroom) -> None:
    [line] = await lines(bedroom, OWNER)
    assert line.startswith("Dream: I have not gone through what was said yet. Next time: ")
    await bedroom.happened("my dog is called Pixel", facts=["the dog is called Pixel"])
    bedroom.answers(keen)
    await ask(bedroom)

    [line] = await lines(bedroom, OWNER)

    assert "It changed what I remember. Next time: " in line
    [line] = await lines(bedroom, OWNER, "zh")
    assert line.startswith("记忆整理：上次是 ")


async def test_when_it_failed_the_next_time_is_not_before_the_wait_is_over(bedroom: Bedroom) -> None:
    await bedroom.happened("hello")
    bedroom.answers(LLMError("quota", retry_after=3 * 86400.0))
    await ask(bedroom)

    line, trouble = await lines(bedroom, OWNER)

    assert f"Next time: {bedroom.clock.now() + timedelta(days=3):%Y-%m-%d}" in line
    assert trouble.startswith("Dream did not work the last time: the model gave no answer (quota)")


async def test_a_member_hears_of_their_own_memory_only(bedroom: Bedroom) -> None:
    await bedroom.happened("my dog is called Pixel", facts=["the dog is called Pixel"])
    assert await lines(bedroom, BOB) == []
    bedroom.answers(keen)
    await ask(bedroom)
    assert await lines(bedroom, BOB) == []

    await bedroom.happened(Line("my cat is called Mia", origin=Origin.PERSON), scope=BOB, session="telegram:7")

    [line] = await lines(bedroom, BOB)
    assert line.startswith("Dream: 1 piece of what was said is still to be gone through. Next time: ")
