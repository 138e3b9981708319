"""A question from a script: the answer on stdout, everything else on stderr."""

import asyncio
import io
import sys

import pytest

from nanobot.channels.terminal.oneshot import OneShot
from nanobot.channels.terminal.person import at
from nanobot.messages import Button, InboundMessage, OutboundMessage
from tests.fakes.talker import CHOICES, Talker, english

HERE = at("test")


class Closed(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError


async def ask(text: str) -> tuple[bool, Talker]:
    bot, channel = Talker(), OneShot(HERE, text, english)
    async with asyncio.timeout(30):
        await bot.run(channel)
    return channel.report(), bot


async def test_only_the_answer_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    answered, _ = await ask("look")
    assert answered
    assert capsys.readouterr() == ("Found it.\n", "read notes.md\n")


async def test_the_answer_is_not_rendered_for_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    await ask("tell")
    assert capsys.readouterr().out.startswith("# A tale\n\nOnce upon a *time*\n")


async def test_nothing_in_an_answer_drives_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    await ask("\x1b[31mred")
    assert capsys.readouterr().out == "You said 1 line(s): [31mred\n"


async def test_a_failure_is_told_on_stderr_and_is_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    answered, _ = await ask("fail")
    assert not answered
    assert capsys.readouterr() == ("", "The key is wrong.\n")


async def test_a_slash_command_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    answered, _ = await ask("/status")
    assert answered
    assert capsys.readouterr().out == "You called /status.\n"


async def test_a_question_is_answered_with_no_because_nobody_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    answered, bot = await ask("ask")
    assert answered
    assert bot.heard[-1].text == "no"
    out, err = capsys.readouterr()
    assert out == "You chose no.\n"
    assert "May I run `ls`?" in err


async def test_a_list_to_choose_from_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    channel = OneShot(HERE, "/model", english)

    async def publish(message: InboundMessage) -> None:
        buttons = [Button("big", "/model big")]
        await channel.send(
            OutboundMessage(
                id="1", address=HERE, text="Model small.", kind="question", reply_to=message.id, buttons=buttons
            )
        )

    await channel.listen(publish)
    assert channel.report()
    assert capsys.readouterr().out == "Model small.\n- big: /model big\n"


async def test_what_came_before_the_question_is_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    channel = OneShot(HERE, "look", english)
    await channel.send(OutboundMessage(id="1", address=HERE, text="I was interrupted.", kind="notice"))
    await channel.send(OutboundMessage(id="2", address=HERE, text="May I?", kind="question", buttons=CHOICES))
    await Talker().run(channel)
    assert channel.report()
    assert capsys.readouterr().err.startswith("I was interrupted.\nMay I?\n")


async def test_a_turn_that_ends_without_an_answer_does_not_hang(capsys: pytest.CaptureFixture[str]) -> None:
    bot, channel = Talker(), OneShot(HERE, "wait", english)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        tasks.create_task(bot.run(channel))
        await bot.is_waiting.wait()
        await bot.stop()
    assert not channel.report()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("stderr", [Closed(), None])
async def test_a_closed_stderr_does_not_matter(
    stderr: Closed | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", stderr)
    answered, _ = await ask("look")
    assert answered
    assert capsys.readouterr().out == "Found it.\n"
