"""A question from a script: the answer on stdout, everything else on stderr."""

import asyncio
import io
import os
import select
import sys
from collections.abc import Iterator

import pytest

from nanobot.channels.terminal import oneshot
from nanobot.channels.terminal.oneshot import OneShot, OneShotOnScreen
from nanobot.channels.terminal.person import at
from nanobot.messages import Button, InboundMessage, OutboundMessage
from tests.fakes.talker import CHOICES, Talker, english

HERE = at("test")


class Closed(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError


async def ask(text: str) -> tuple[bool, Talker]:
    bot, channel = Talker(), OneShot(HERE, text, english)
    async with asyncio.timeout(120):
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
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
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


class Keyboard:
    """A pseudoterminal whose other end a person types at."""

    def __init__(self) -> None:
        self._person, self._terminal = os.openpty()
        self.name = os.ttyname(self._terminal)

    def type(self, keys: str) -> None:
        """Type a line or more; return when it can be read."""
        os.write(self._person, keys.encode())
        assert select.select([self._terminal], [], [], 30)[0]

    def hang_up(self) -> None:
        os.close(self._person)
        os.close(self._terminal)


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keyboard]:
    keyboard = Keyboard()
    monkeypatch.setattr(oneshot, "_KEYBOARD", keyboard.name)
    yield keyboard
    keyboard.hang_up()


def may_i(number: int) -> OutboundMessage:
    return OutboundMessage(id=f"{number}", address=HERE, text=f"May I do {number}?", kind="question", buttons=CHOICES)


class Looker:
    """Somebody who asked one thing and looks on; `said` is what they answered to which question."""

    def __init__(self) -> None:
        self.channel = OneShotOnScreen(HERE, "do it", english)
        self.said: asyncio.Queue[tuple[str | None, str]] = asyncio.Queue()

    async def publish(self, message: InboundMessage) -> None:
        self.said.put_nowait((message.answers, message.text))

    async def end(self) -> None:
        asked = self.channel._asked.id
        await self.channel.send(
            OutboundMessage(id="end", address=HERE, text="Done.", kind="answer", reply_to=asked, turn="t")
        )


async def test_what_was_typed_before_a_question_stood_there_is_no_answer_to_it(keyboard: Keyboard) -> None:
    looker = Looker()
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        tasks.create_task(looker.channel.listen(looker.publish))
        assert await looker.said.get() == (None, "do it")
        for number in (1, 2):
            keyboard.type("1\n1\n")  # before the first, and between the two
            await looker.channel.send(may_i(number))
            keyboard.type("3\n")
            assert await looker.said.get() == (str(number), "no")
        await looker.end()


async def test_a_question_that_waits_behind_another_is_shown_when_that_is_answered(
    keyboard: Keyboard, capsys: pytest.CaptureFixture[str]
) -> None:
    looker = Looker()
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        tasks.create_task(looker.channel.listen(looker.publish))
        await looker.said.get()
        await looker.channel.send(may_i(1))
        await looker.channel.send(may_i(2))
        assert "do 2?" not in capsys.readouterr().out
        keyboard.type("1\n1\n")  # the second line cannot be meant for what was not shown
        assert await looker.said.get() == ("1", "once")
        assert "do 2?" in capsys.readouterr().out
        keyboard.type("3\n")
        assert await looker.said.get() == ("2", "no")
        await looker.end()


class Screen(io.StringIO):
    """Standard output; `again` is set when the question was printed for the second time."""

    def __init__(self) -> None:
        super().__init__()
        self.again = asyncio.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.getvalue().count("do 1?") == 2:
            self.again.set()
        return written


async def test_what_is_no_choice_is_asked_again_and_who_ends_the_input_refuses(
    keyboard: Keyboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    looker = Looker()
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        tasks.create_task(looker.channel.listen(looker.publish))
        await looker.said.get()
        await looker.channel.send(may_i(1))
        keyboard.type("perhaps\n")
        await screen.again.wait()
        keyboard.type("\x04")  # Ctrl-D
        assert await looker.said.get() == ("1", "no")
        await looker.end()
