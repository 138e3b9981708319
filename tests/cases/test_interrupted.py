"""The program is asked to end, or to stop, while it is at work: nothing of it stays behind."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Self

import pytest

from tests.cases.person import ELSEWHERE, PATIENCE, Desk
from tests.fakes.openai_answers import Ping, beginning, call, say
from tests.fakes.processes import Running
from tests.fakes.tmux import Tmux, needs_tmux

ROOT = Path(__file__).parents[2]
CHAT = [sys.executable, "-m", "nanobot", "chat", "--session", "here"]
SLEEP = "exec 3> alive; sleep 60 & sleep 60"
"""All its processes hold the pipe `alive` open for as long as they live."""

ENDINGS = [
    pytest.param([signal.SIGINT], 130, id="Ctrl-C"),
    pytest.param([signal.SIGINT, signal.SIGINT], 130, id="Ctrl-C twice"),
    pytest.param([signal.SIGTERM], 143, id="a polite end"),
    pytest.param([signal.SIGHUP], 129, id="the window is closed"),
]


@asynccontextmanager
async def asking(text: str) -> AsyncIterator[Running]:
    """`nanobot chat -m text`, running."""
    process = await Running.start("chat", "--session", "here", "-m", text)
    try:
        async with asyncio.timeout(PATIENCE):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@dataclass
class Command:
    """The command above, from outside."""

    pipe: FileIO

    @classmethod
    async def running(cls, desk: Desk) -> Self:
        """The command, once it runs."""
        return cls(await asyncio.to_thread(FileIO, desk.workspace.root / "alive"))

    async def gone(self) -> None:
        """Wait until none of its processes is left."""
        with self.pipe:
            assert await asyncio.to_thread(self.pipe.readall) == b""


def prepare(desk: Desk) -> None:
    """A workspace in which that command may run, and a model that wants it."""
    desk.configure(tools={"exec": {"owner": "allow"}})
    desk.workspace.root.mkdir()
    os.mkfifo(desk.workspace.root / "alive")
    desk.server.will(call(("exec", {"command": SLEEP})))


async def goes_on(desk: Desk, *, told: bool) -> None:
    """The conversation is legal, and says that the tool was interrupted; so does the bot if it was `told` to end."""
    asked = len(desk.server.requests)
    desk.server.will(say("Here I am."))
    async with desk.start() as person:
        assert (await person.ask("next")).text == "Here I am."
    assert person.said[-1].kind == "answer"
    assert [message for message in person.said if "interrupted while running exec" in message.text] == person.said[:-1]
    assert len(person.said) == 2 or not told
    assert len(desk.server.requests) == asked + 1
    assert "Interrupted" in next(str(message["content"]) for message in desk.sent(-1) if message["role"] == "tool")


@pytest.mark.parametrize(("signals", "code"), ENDINGS)
async def test_a_signal_during_a_tool_ends_its_processes_and_asks_the_model_nothing_more(
    desk: Desk, signals: list[signal.Signals], code: int
) -> None:
    prepare(desk)
    async with asking("sleep") as process:
        command = await Command.running(desk)
        for number in signals:
            process.send_signal(number)
        out, err = await process.communicate()
        await command.gone()
    assert (process.returncode, out) == (code, b"")
    assert b"Traceback" not in err
    assert b"destroyed" not in err
    assert len(desk.server.requests) == 1
    await goes_on(desk, told=code != 130)


async def test_a_signal_during_an_answer_keeps_no_half_as_a_whole(desk: Desk) -> None:
    desk.configure()
    desk.server.will(beginning("Half an ans", Ping()))
    async with asking("talk") as process:
        received = await desk.server.received()
        process.send_signal(signal.SIGINT)
        out, _ = await process.communicate()
        await received.gone.wait()
    assert (process.returncode, out) == (130, b"")
    assert [line.get("incomplete") for line in desk.messages() if line["role"] == "assistant"] in ([], ["interrupted"])
    assert desk.lines()[-1]["type"] == "ended"


@needs_tmux
async def test_ctrl_c_in_a_conversation_gives_the_prompt_back_and_leaves_no_process(desk: Desk) -> None:
    prepare(desk)
    desk.server.will(say("Here I am."))
    with Tmux(CHAT, ROOT, {"NANOBOT_HOME": str(desk.home), "LC_ALL": "C.UTF-8"}) as pane:
        await asyncio.to_thread(pane.wait_for, r"^>$")
        pane.say("sleep")
        command = await Command.running(desk)
        pane.press("C-c")
        await command.gone()
        await asyncio.to_thread(pane.wait_for, r"Stopped\.\n\n>$")
        assert len(desk.server.requests) == 1
        pane.say("next")
        await asyncio.to_thread(pane.wait_for, r"^Here I am\.")
        pane.press("C-d")
        screen = await asyncio.to_thread(pane.wait_for, r"^\[exit 0\]\nicanon\necho")
    assert "Traceback" not in screen
    assert "Interrupted" in json.dumps(desk.sent(1))


async def test_stop_ends_what_runs_there_and_nothing_elsewhere(desk: Desk) -> None:
    prepare(desk)
    desk.server.will(beginning("I am", Ping()), say("Both."))
    async with desk.start() as person:
        await person.say("sleep")
        command = await Command.running(desk)
        await person.say("talk", ELSEWHERE)
        await person.until(lambda: person.screens()[-1:] == ["I am"])
        await person.say("while you are at it")
        stopped = await person.ask("/stop")
        await command.gone()
        await person.say("next")
        await person.until(lambda: person.said[-1].text == "Both.")
        assert not desk.server.requests[1].gone.is_set()
    assert "Kept 1 message" in stopped.text
    users = [line["content"] for line in desk.messages() if line["role"] == "user"]
    assert users == ["sleep", "while you are at it", "next"]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
async def test_a_command_that_outlived_its_killed_process_is_ended_at_the_next_start(desk: Desk) -> None:
    prepare(desk)
    desk.server.will(say("Here I am."))
    async with asking("sleep") as process:
        command = await Command.running(desk)
        process.kill()
        await process.wait()
    async with asking("next") as process:
        out, err = await process.communicate()
        await command.gone()
    assert out == b"Here I am.\n"
    told = err.decode()
    assert "interrupted while running exec" in told
    assert "A command that I had started before I was cut off was still running; I have ended it." in told
    async with asking("and now?") as process:
        _, err = await process.communicate()
    assert b"still running" not in err
