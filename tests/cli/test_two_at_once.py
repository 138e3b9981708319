"""Several terminals and commands at once, with a gateway and without: real processes, real signals."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from nanobot.workspace import Home, Workspace
from tests.cli.test_chat import squeezed
from tests.fakes.gateway import NANOBOT, NOBODY, ROOT, GatewayProcess, configure, nanobot
from tests.fakes.openai_answers import Hang, beginning, call, say
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.processes import Running
from tests.fakes.tmux import Tmux, needs_tmux


class Until:
    """Nothing until something happens."""

    def __init__(self, event: asyncio.Event) -> None:
        self._event = event

    async def play(self, request: web.Request, response: web.StreamResponse) -> None:
        await self._event.wait()


@pytest.fixture
async def model(private_home: Path) -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        configure(private_home, server.base_url)
        yield server


def chat_in_tmux(home: Path, session: str = "default") -> Tmux:
    env = {"NANOBOT_HOME": str(home), "LC_ALL": "C.UTF-8"}
    return Tmux([*NANOBOT, "chat", "--session", session], ROOT, env)


async def sees(pane: Tmux, pattern: str) -> str:
    return await asyncio.to_thread(pane.wait_for, pattern)


def holder(home: Path) -> int:
    """The process that has the workspace."""
    return int(json.loads(Workspace(Home(home).workspace).lock.read_text())["pid"])


@needs_tmux
async def test_beside_an_open_chat_other_commands_just_work(model: FakeOpenAI, private_home: Path) -> None:
    model.otherwise = lambda body: say(f"You said {body['messages'][-1]['content'].split()[-1]}.")
    with chat_in_tmux(private_home, "one") as one, chat_in_tmux(private_home, "two") as two:
        for pane, word in ((one, "apple"), (two, "pear")):
            await sees(pane, r"^Talking with fake(.|\n)*^>$")
            pane.say(word)
        await sees(one, r"^You said apple\.(.|\n)*fake\n\n>$")
        await sees(two, r"^You said pear\.(.|\n)*fake\n\n>$")
        asked = await nanobot(private_home, "chat", "-m", "plum")
        assert (asked.code, asked.out, asked.err) == (0, "You said plum.\n", "")
        assert (await nanobot(private_home, "recall", "apple")).code == 0
        forgotten = await nanobot(private_home, "memory", "forget", "--yes", "pear")
        assert (forgotten.code, forgotten.err) == (0, "")
        status = await nanobot(private_home, "status", "--json")
        assert (status.code, json.loads(status.out)["running"]) == (1, False)
        assert "pear" not in one.screen()
        two.say("fig")
        await sees(two, r"^You said fig\.")
    assert "pear" not in Workspace(Home(private_home).workspace).sessions.joinpath("cli", "two.jsonl").read_text()


@needs_tmux
async def test_who_joined_sees_all_that_they_agree_to(model: FakeOpenAI, private_home: Path) -> None:
    command = "touch " + " ".join(f"file{number}" for number in range(600)) + " && echo last"
    model.will(call(("exec", {"command": command})), say("Well then."))
    with chat_in_tmux(private_home, "one") as one:
        await sees(one, r"^>$")
        with chat_in_tmux(private_home, "two") as two:
            await sees(two, r"^>$")
            assert "one" in command_of(holder(private_home))
            two.say("go")
            await sees(two, r"1\. Show all\n  2\. No(.|\n)*^>$")
            assert "file300" not in squeezed(two.screen())
            two.say("1")
            await sees(two, r"file300(.|\n)*1\. Once\n(.|\n)*^>$")
            assert squeezed(command) in squeezed(two.screen())
            two.say("3")
            await sees(two, r"Well then\.")
            assert "file" not in one.screen()
    assert not list(Workspace(Home(private_home).workspace).root.rglob("file300"))


@needs_tmux
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
async def test_when_the_first_process_dies_the_second_takes_over_its_own_turn(
    model: FakeOpenAI, private_home: Path, end: signal.Signals
) -> None:
    configure(private_home, model.base_url, gateway={"drain": "0s"})
    model.will(beginning("Half a sent", Hang()), say("Here I am."))
    model.otherwise = lambda _: say("Still here.")
    with chat_in_tmux(private_home, "one") as one:
        await sees(one, r"^>$")
        first = holder(private_home)
        with chat_in_tmux(private_home, "two") as two:
            await sees(two, r"^>$")
            two.say("talk")
            await sees(two, r"Half a sent")
            os.kill(first, end)
            screen = await sees(two, r"^Here I am\.(.|\n)*fake\n\n>$")
            assert screen.count("Here I am.") == 1
            assert holder(private_home) != first
            two.say("and now?")
            await sees(two, r"^Still here\.")
    said = Workspace(Home(private_home).workspace).sessions.joinpath("cli", "two.jsonl").read_text()
    assert said.count('"content":"talk"') == 1


@needs_tmux
async def test_who_leaves_first_lets_the_other_be_answered(model: FakeOpenAI, private_home: Path) -> None:
    model.will(say("It took long, " * 20 + "but here it is.", pause=0.02))
    model.otherwise = lambda _: say("Still here.")
    with chat_in_tmux(private_home, "one") as one, chat_in_tmux(private_home, "two") as two:
        await sees(one, r"^>$")
        await sees(two, r"^>$")
        first, other = (one, two) if "one" in command_of(holder(private_home)) else (two, one)
        other.say("take your time")
        await model.received(1)
        first.press("C-d")
        await sees(first, r"^\[exit 0\]")
        await sees(other, r"but here it is\.(.|\n)*fake\n\n>$")
        other.say("and now?")
        await sees(other, r"^Still here\.")
        assert len(model.requests) == 2


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


@needs_tmux
async def test_a_gateway_that_restarts_is_waited_for_and_no_line_is_lost(model: FakeOpenAI, private_home: Path) -> None:
    configure(private_home, model.base_url, telegram=NOBODY)
    model.otherwise = lambda body: say(f"You said {body['messages'][-1]['content'].split()[-1]}.")
    async with GatewayProcess(private_home) as gateway:
        with chat_in_tmux(private_home) as pane:
            await sees(pane, r"^>$")
            assert await gateway.stop() == 0
            await sees(pane, r"I wait for it")
            pane.say("apple")
            async with GatewayProcess(private_home):
                screen = await sees(pane, r"You said apple\.(.|\n)*fake\n\n>$")
                assert screen.count("You said apple.") == 1
                assert "It is back" in screen
                pane.press("C-d")
                await sees(pane, r"^\[exit 0\]")


async def test_what_a_signal_cut_short_is_told_at_the_next_start(model: FakeOpenAI, private_home: Path) -> None:
    model.will(beginning("Half a sent", Hang()), say("Here I am."))
    asked = await Running.start("chat", "-m", "how are you?", env={"NANOBOT_HOME": str(private_home)})
    await model.received(1)
    asked.send_signal(signal.SIGHUP)
    await asked.communicate()
    assert asked.returncode == 129
    again = await nanobot(private_home, "chat", "-m", "hello?")
    assert again.out == "Here I am.\n"
    assert "interrupted before I had answered" in again.err
    assert "how are you?" in again.err


@needs_tmux
async def test_what_was_typed_during_an_answer_outlives_a_kill(model: FakeOpenAI, private_home: Path) -> None:
    model.will(beginning("Half a sent", Hang()))
    log = Workspace(Home(private_home).workspace).sessions / "cli" / "default.jsonl"
    with chat_in_tmux(private_home) as pane:
        await sees(pane, r"^>$")
        pane.say("how are you?")
        await sees(pane, r"Half a sent")
        pane.say("and the weather?")
        pane.press("Escape")
        await sees(pane, r"Kept 1 message")
        assert '"type":"waiting"' in log.read_text()
        os.kill(holder(private_home), signal.SIGKILL)
    with chat_in_tmux(private_home) as pane:
        screen = await sees(pane, r"interrupted before I had answered(.|\n)*^>$")
        assert 'answered "and the weather?"' in " ".join(screen.split())


@needs_tmux
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP])
async def test_who_is_asked_to_end_by_a_signal_waits_for_no_summary(
    model: FakeOpenAI, private_home: Path, end: signal.Signals
) -> None:
    model.will(say("Well."), beginning("So", Hang()))
    with chat_in_tmux(private_home) as pane:
        await sees(pane, r"^>$")
        pane.say("I like pears")
        await sees(pane, r"^Well\.(.|\n)*fake\n\n>$")
        os.kill(holder(private_home), end)
        screen = await sees(pane, r"^\[exit")
    assert "writing down" not in screen
    assert len(model.requests) == 1


@needs_tmux
async def test_a_gateway_gets_the_workspace_of_an_open_chat_which_goes_on_there(
    model: FakeOpenAI, private_home: Path
) -> None:
    configure(private_home, model.base_url, telegram=NOBODY)
    model.otherwise = lambda body: say(f"You said {body['messages'][-1]['content'].split()[-1]}.")
    with chat_in_tmux(private_home, "one") as one, chat_in_tmux(private_home, "two") as two:
        for pane, word in ((one, "apple"), (two, "pear")):
            await sees(pane, r"^>$")
            pane.say(word)
            await sees(pane, rf"^You said {word}\.(.|\n)*fake\n\n>$")
        chat = holder(private_home)
        one.type("half a li")
        async with GatewayProcess(private_home) as gateway:
            assert holder(private_home) == gateway.pid != chat
            assert f"Asking process {chat} (" in gateway.said
            assert "It hands the workspace over and goes on with me." in gateway.said
            for pane, word in ((one, "ne"), (two, "plum")):
                await sees(pane, r"A gateway runs now; this conversation goes on there\.(.|\n)*^>")
                pane.say(word)
            screen = await sees(one, r"^You said line\.(.|\n)*fake\n\n>$|^You said line\.")
            assert screen.count("You said apple.") == 1
            await sees(two, r"^You said plum\.(.|\n)*fake\n\n>$")


@needs_tmux
async def test_a_turn_that_runs_is_finished_first_and_what_is_typed_meanwhile_is_answered_by_the_gateway(
    model: FakeOpenAI, private_home: Path
) -> None:
    configure(private_home, model.base_url, telegram=NOBODY)
    goes_on = asyncio.Event()
    model.will(beginning("It takes ", Until(goes_on), *say("long.").parts))
    model.otherwise = lambda _: say("Later.")
    with chat_in_tmux(private_home) as pane:
        await sees(pane, r"^>$")
        pane.say("take your time")
        await model.received(1)
        gateway = await Running.start("gateway", env={"NANOBOT_HOME": str(private_home)}, together=True)
        try:
            await sees(pane, r"A gateway is starting\. I finish this first")
            pane.say("and later?")
            await sees(pane, r"^> and later\?")
            goes_on.set()
            screen = await sees(pane, r"It takes long\.(.|\n)*A gateway runs now(.|\n)*^Later\.(.|\n)*fake\n\n>$")
            assert screen.count("Later.") == 1
        finally:
            gateway.kill()
            await gateway.communicate()
    lines = Workspace(Home(private_home).workspace).sessions.joinpath("cli", "default.jsonl").read_text().splitlines()
    said = [line["content"] for line in map(json.loads, lines) if line.get("role") == "user"]
    assert said == ["take your time", "and later?"]


@needs_tmux
async def test_a_question_that_waits_for_a_yes_is_asked_again_by_the_gateway(
    model: FakeOpenAI, private_home: Path
) -> None:
    configure(private_home, model.base_url, telegram=NOBODY)
    model.will(*[call(("exec", {"command": "touch asked"}))] * 2, say("Done."))
    with chat_in_tmux(private_home) as pane:
        await sees(pane, r"^>$")
        pane.say("go")
        await sees(pane, r"touch asked(.|\n)*3\. No(.|\n)*^>$")
        async with GatewayProcess(private_home):
            await sees(pane, r"A gateway runs now(.|\n)*touch asked(.|\n)*3\. No(.|\n)*^>$")
            pane.say("1")
            await sees(pane, r"^Done\.(.|\n)*^>$")
    assert list(Workspace(Home(private_home).workspace).root.rglob("asked"))


@needs_tmux
async def test_a_chat_that_does_not_react_keeps_the_workspace(
    model: FakeOpenAI, private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(private_home, model.base_url, telegram=NOBODY)
    with chat_in_tmux(private_home) as pane:
        await sees(pane, r"^>$")
        chat = holder(private_home)
        os.kill(chat, signal.SIGSTOP)
        try:
            ended = await nanobot(private_home, "gateway")
        finally:
            os.kill(chat, signal.SIGCONT)
        assert ended.code == 1
        assert f"is in use by process {chat} (" in ended.err
        pane.press("C-d")
        await sees(pane, r"^\[exit 0\]")


@needs_tmux
async def test_a_chat_that_was_killed_alone_is_told_so_when_it_joins_a_gateway(
    model: FakeOpenAI, private_home: Path
) -> None:
    configure(private_home, model.base_url, telegram=NOBODY)
    model.will(beginning("Half a sent", Hang()))
    with chat_in_tmux(private_home) as pane:
        await sees(pane, r"^>$")
        pane.say("talk to me")
        await sees(pane, r"Half a sent")
        os.kill(holder(private_home), signal.SIGKILL)
    async with GatewayProcess(private_home):
        with chat_in_tmux(private_home, "other") as other:
            await sees(other, r"^>$")
            other.say("/resume default")
            screen = await sees(other, r"We go on with cli:default(.|\n)*talk to me(.|\n)*^>$")
            await sees(other, r"interrupted")
            assert screen.count("We go on with") == 1
        with chat_in_tmux(private_home) as pane:
            assert "interrupted" not in await sees(pane, r"^>$"), "once"


@needs_tmux
async def test_beside_a_gateway_one_terminal_goes_on_with_another_conversation_and_the_others_stay(
    model: FakeOpenAI, private_home: Path
) -> None:
    configure(private_home, model.base_url, telegram=NOBODY)
    model.otherwise = lambda body: say(f"You said {body['messages'][-1]['content'].split()[-1]}.")
    async with GatewayProcess(private_home):
        with chat_in_tmux(private_home, "work") as work, chat_in_tmux(private_home, "home") as other:
            for pane, word in ((work, "plum"), (other, "fig")):
                await sees(pane, r"^>$")
                pane.say(word)
                await sees(pane, rf"^You said {word}\.(.|\n)*fake\n\n>$")
            other.say("/resume")
            await sees(other, r"1\. cli:work · just now · plum(.|\n)*^>$")
            other.say("1")
            await sees(other, r"We go on with cli:work\.(.|\n)*I said last: You said plum\.(.|\n)*^>$")
            other.say("apple")
            for pane in (work, other):
                await sees(pane, r"^You said apple\.(.|\n)*fake\n\n>$")
            other.say("/resume home")
            await sees(other, r"We go on with cli:home\.(.|\n)*^>$")
            work.say("pear")
            assert "We go on" not in await sees(work, r"^You said pear\.(.|\n)*fake\n\n>$")
            assert "pear" not in other.screen()
