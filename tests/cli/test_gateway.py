"""`nanobot gateway` and what joins it: real processes, a real socket, a model on loopback."""

import asyncio
import json
import os
import signal
import stat
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path

import aiohttp
import pytest

from nanobot.cli import main
from nanobot.store.lock import WorkspaceLock
from nanobot.workspace import Home, Workspace
from tests.fakes.gateway import NANOBOT, NOBODY, ROOT, GatewayProcess, configure, nanobot
from tests.fakes.openai_answers import Hang, beginning, call, say
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.processes import Running
from tests.fakes.tmux import Tmux, needs_tmux


@pytest.fixture
async def model(private_home: Path) -> AsyncIterator[FakeOpenAI]:
    """A model, and a configuration that names it and a Telegram that is down."""
    async with FakeOpenAI() as server:
        configure(private_home, server.base_url, telegram=NOBODY)
        yield server


def state_of(home: Path) -> Workspace:
    return Workspace(Home(home).workspace)


def chat_in_tmux(home: Path, session: str = "default") -> Tmux:
    env = {"NANOBOT_HOME": str(home), "LC_ALL": "C.UTF-8"}
    return Tmux([*NANOBOT, "chat", "--session", session], ROOT, env)


async def test_without_a_channel_it_says_what_to_write(private_home: Path) -> None:
    done = await nanobot(private_home, "gateway")
    assert (done.code, done.out) == (2, "")
    assert "@BotFather" in done.err
    assert str(private_home / "config.yaml") in done.err


def test_without_a_gateway_status_says_so_in_the_readers_language(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for language, words in (("C.UTF-8", "`nanobot gateway` starts one"), ("zh_CN.UTF-8", "没有网关在运行")):
        monkeypatch.setenv("LANG", language)
        assert main(["status"]) == 1
        said = capsys.readouterr()
        assert words in said.err
        assert said.out == ""
    assert main(["status", "--quiet"]) == 1
    assert capsys.readouterr() == ("", "")
    assert main(["status", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["running"] is False
    assert "没有网关在运行" in told["error"]


async def test_a_question_is_answered_by_the_gateway_and_it_is_asked_how_it_is(
    model: FakeOpenAI, private_home: Path
) -> None:
    model.will(say("Hello **Ada**."))
    async with GatewayProcess(private_home) as gateway:
        asked = await nanobot(private_home, "chat", "-m", "I am Ada")
        assert (asked.code, asked.out, asked.err) == (0, "Hello **Ada**.\n", "")
        assert stat.S_IMODE(state_of(private_home).socket.stat().st_mode) == 0o600

        await gateway.says("^telegram: down")
        told = await nanobot(private_home, "status", "--json")
        state = json.loads(told.out)
        assert told.code == 1  # Telegram is down
        assert state["pid"] == gateway.pid
        assert state["backlog"]["waiting_out"] == {}
        assert [channel["state"] for channel in state["channels"]] == ["trouble"]
        assert state["memory"][0].startswith("Dream: I have not gone through what was said yet.")

        asked = await nanobot(private_home, "chat", "-m", "/status")
        assert f"process {gateway.pid}" in asked.out
        assert "telegram: down" in asked.out
        assert await gateway.stop() == 0
    assert not state_of(private_home).socket.exists()


async def test_who_joins_in_another_language_is_told_everything_in_it(model: FakeOpenAI, private_home: Path) -> None:
    configure(private_home, model.base_url, telegram=NOBODY, language="auto")
    async with GatewayProcess(private_home):
        for language, sentence in (("zh_CN.UTF-8", "我不认识命令"), ("C.UTF-8", "I do not know the command")):
            asked = await nanobot(private_home, "chat", "-m", "/nothing", env={"LANG": language, "LC_ALL": ""})
            assert sentence in asked.out + asked.err


async def test_health_is_for_machines_and_holds_no_secrets(model: FakeOpenAI, private_home: Path) -> None:
    async with GatewayProcess(private_home) as gateway, aiohttp.ClientSession() as client:
        await gateway.says("^telegram: down")
        async with client.get(gateway.health) as answer:
            figures = await answer.json()
            assert answer.status == 503
            assert NOBODY["token"] not in await answer.text()
    assert figures["status"] == "trouble"
    assert figures["pid"] == gateway.pid
    assert figures["channels"]["telegram"]["state"] == "trouble"
    assert figures["spool"]["waiting_in"] == 0
    assert NOBODY["token"] not in gateway.log() + gateway.said


async def test_a_second_gateway_is_told_about_the_first(model: FakeOpenAI, private_home: Path) -> None:
    async with GatewayProcess(private_home) as gateway:
        second = await nanobot(private_home, "gateway")
        assert second.code == 1
        assert f"process {gateway.pid} " in second.err
        assert f"kill {gateway.pid}" in second.err


async def test_what_a_killed_gateway_left_behind_is_no_gateway_and_does_not_hinder_the_next(
    model: FakeOpenAI, private_home: Path
) -> None:
    model.otherwise = lambda _: say("Alone.")
    async with GatewayProcess(private_home) as gateway:
        gateway.signal(signal.SIGKILL)
        await gateway.ended()
    assert state_of(private_home).socket.is_socket()
    assert (await nanobot(private_home, "status")).code == 1
    assert (await nanobot(private_home, "chat", "-m", "hello")).out == "Alone.\n"

    async with GatewayProcess(private_home) as gateway:
        assert (await nanobot(private_home, "chat", "-m", "hello")).out == "Alone.\n"
        assert await gateway.stop() == 0


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
async def test_a_command_that_outlived_its_killed_gateway_is_ended_by_the_next(
    model: FakeOpenAI, private_home: Path
) -> None:
    configure(private_home, model.base_url, telegram=NOBODY, tools={"exec": {"owner": "allow"}})
    root = Workspace(Home(private_home).workspace).root
    root.mkdir()
    os.mkfifo(root / "alive")
    model.will(call(("exec", {"command": "exec 3> alive; sleep 600"})), say("It may have run."), say("Fine."))
    told = "A command that I had started before I was cut off was still running; I have ended it."
    async with GatewayProcess(private_home) as gateway:
        asked = await Running.start("chat", "-m", "sleep", env={"NANOBOT_HOME": str(private_home)})
        with await asyncio.to_thread((root / "alive").open) as alive:
            gateway.signal(signal.SIGKILL)
            await gateway.ended()
            async with GatewayProcess(private_home) as gateway:
                assert await asyncio.to_thread(alive.read) == ""
                assert told in gateway.said
                await asked.communicate()
                session = root / "sessions" / "cli" / "default.jsonl"
                while "It may have run." not in session.read_text():  # noqa: ASYNC110  nobody tells of it
                    await asyncio.sleep(0.01)
                later = await nanobot(private_home, "chat", "-m", "and now?")
                assert later.out == "Fine.\n"
                assert later.err.startswith("It may have run.\n")  # it waited for a terminal
                assert later.err.endswith(f"\n\n[{told}]\n")


async def test_a_workspace_with_a_very_long_path_has_its_socket_elsewhere(
    model: FakeOpenAI, private_home: Path, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path / ("deep" * 30) / "workspace")
    configure(private_home, model.base_url, telegram=NOBODY, workspace=str(workspace.root))
    model.will(say("Hello."))
    async with GatewayProcess(private_home) as gateway:
        place = Path(workspace.socket_elsewhere.read_text())
        assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
        assert (await nanobot(private_home, "chat", "-m", "hello")).out == "Hello.\n"
        assert await gateway.stop() == 0
    assert not place.parent.exists()


async def test_told_to_end_it_lets_a_turn_finish_and_begins_no_other(model: FakeOpenAI, private_home: Path) -> None:
    model.will(say("This takes" + " a while" * 20, pause=0.05), say("The next one."))
    async with GatewayProcess(private_home) as gateway:
        first = asyncio.create_task(nanobot(private_home, "chat", "--session", "a", "-m", "talk"))
        await model.received(1)
        gateway.signal()
        await gateway.says("^Stopping")
        late = await nanobot(private_home, "chat", "--session", "b", "-m", "too late")
        assert (late.code, late.out) == (1, "")
        assert "being stopped" in late.err
        assert (await first).out == "This takes" + " a while" * 20 + "\n"
        assert await gateway.ended() == 0
    assert len(model.requests) == 1


async def test_a_turn_that_does_not_finish_in_time_is_finished_by_the_next_gateway(
    model: FakeOpenAI, private_home: Path
) -> None:
    configure(private_home, model.base_url, telegram=NOBODY, gateway={"health": "127.0.0.1:0", "drain": "0s"})
    model.will(beginning("Half a sent", Hang()), say("A whole sentence."))
    async with GatewayProcess(private_home) as gateway:
        asked = asyncio.create_task(nanobot(private_home, "chat", "-m", "talk"))
        await model.received(1)
        assert await gateway.stop() == 0
        left = await asked
        assert (left.code, left.out) == (1, "")
        assert "answered when it runs again" in left.err
    async with GatewayProcess(private_home) as gateway:
        await model.received(2)
        with chat_in_tmux(private_home) as pane:
            await asyncio.to_thread(pane.wait_for, r"A whole sentence\.")


async def test_a_second_signal_ends_it_at_once(model: FakeOpenAI, private_home: Path) -> None:
    model.will(beginning("Half a sent", Hang()))
    async with GatewayProcess(private_home) as gateway:
        asked = asyncio.create_task(nanobot(private_home, "chat", "-m", "talk"))
        await model.received(1)
        gateway.signal(signal.SIGINT)
        await gateway.says("^Stopping")
        gateway.signal(signal.SIGINT)
        assert await gateway.ended() == 130
        assert (await asked).code == 1


async def test_an_interrupted_question_stops_its_turn_in_the_gateway(model: FakeOpenAI, private_home: Path) -> None:
    model.will(beginning("Half a sent", Hang()), say("Here I am."))
    async with GatewayProcess(private_home):
        asked = await Running.start("chat", "-m", "talk")
        request = await model.received(1)
        asked.send_signal(signal.SIGINT)
        async with asyncio.timeout(120):
            await request.gone.wait()
            out, _ = await asked.communicate()
        assert (asked.returncode, out) == (130, b"")
        again = await nanobot(private_home, "chat", "-m", "hello?")
        assert (again.out, again.err) == ("Here I am.\n", "")


@needs_tmux
async def test_two_terminals_talk_at_once_and_leave_when_the_gateway_has_ended(
    model: FakeOpenAI, private_home: Path
) -> None:
    model.otherwise = lambda body: say(f"You said {body['messages'][-1]['content'].split()[-1]}.")
    async with GatewayProcess(private_home) as gateway:
        with chat_in_tmux(private_home, "one") as one, chat_in_tmux(private_home, "two") as two:
            for pane, word in ((one, "apple"), (two, "pear")):
                await asyncio.to_thread(pane.wait_for, r"^Talking with fake(.|\n)*^>$")
                pane.say(word)
            await asyncio.to_thread(one.wait_for, r"^You said apple\.(.|\n)*fake\n\n>$")
            await asyncio.to_thread(two.wait_for, r"^You said pear\.(.|\n)*fake\n\n>$")
            assert "pear" not in one.screen()
            assert await gateway.stop() == 0
            for pane in (one, two):
                await asyncio.to_thread(pane.wait_for, r"The gateway has ended")
                pane.press("C-d")
                screen = await asyncio.to_thread(pane.wait_for, r"^\[exit 0\]\nicanon\necho")
                assert "Traceback" not in screen


@needs_tmux
@pytest.mark.parametrize("has_gateway", [True, False])
async def test_what_is_said_in_one_terminal_is_seen_in_the_other(
    model: FakeOpenAI, private_home: Path, has_gateway: bool
) -> None:
    model.otherwise = lambda body: say(f"You said {body['messages'][-1]['content'].split()[-1]}.")
    async with GatewayProcess(private_home) if has_gateway else nullcontext():
        with chat_in_tmux(private_home) as one:
            await asyncio.to_thread(one.wait_for, r"^>$")
            with chat_in_tmux(private_home) as two:
                await asyncio.to_thread(two.wait_for, r"^>$")
                for here, there, word in ((one, two, "apple"), (two, one, "pear")):
                    here.say(word)
                    said, answer = f"In another terminal: {word}", rf"You said {word}\."
                    await asyncio.to_thread(there.wait_for, rf"^{said}(.|\n)*^{answer}")
                    await asyncio.to_thread(here.wait_for, rf"^{answer}")
                    assert said not in here.screen()
                asked = await nanobot(private_home, "chat", "-m", "plum")
                assert asked.out == "You said plum.\n"
                for pane in (one, two):
                    await asyncio.to_thread(pane.wait_for, r"^In another terminal: plum(.|\n)*^You said plum\.")


@needs_tmux
async def test_what_nobody_was_there_to_see_is_shown_to_who_comes_next(model: FakeOpenAI, private_home: Path) -> None:
    model.will(say("It took long, " * 30 + "but here it is.", pause=0.03))
    async with GatewayProcess(private_home):
        with chat_in_tmux(private_home) as pane:
            await asyncio.to_thread(pane.wait_for, "^>$")
            pane.say("take your time")
            await model.received(1)
            pane.press("C-d")
            await asyncio.to_thread(pane.wait_for, r"^\[exit 0\]")
        with chat_in_tmux(private_home) as pane:
            await asyncio.to_thread(pane.wait_for, r"but here it is\.")


@needs_tmux
async def test_a_script_neither_joins_nor_disturbs_the_turn_of_a_terminal(
    model: FakeOpenAI, private_home: Path
) -> None:
    model.will(
        call(("exec", {"command": "echo hello"})),
        say("I ran it."),
        say("For the script."),
    )
    async with GatewayProcess(private_home):
        with chat_in_tmux(private_home) as pane:
            await asyncio.to_thread(pane.wait_for, "^>$")
            pane.say("run something")
            await asyncio.to_thread(pane.wait_for, r"  1\. ")
            script = asyncio.create_task(nanobot(private_home, "chat", "-m", "what time is it?"))
            await asyncio.sleep(0.5)
            pane.say("1")
            await asyncio.to_thread(pane.wait_for, r"I ran it\.")
            done = await script
            assert (done.code, done.out, done.err) == (0, "For the script.\n", "")


async def test_a_gateway_that_does_not_answer_yet_is_named(model: FakeOpenAI, private_home: Path) -> None:
    with WorkspaceLock(state_of(private_home), serves=True):
        done = await nanobot(private_home, "chat", "-m", "hello")
    assert (done.code, done.out) == (1, "")
    assert "does not answer" in done.err
    assert f"kill {os.getpid()}" in done.err


async def test_a_gateway_of_another_version_is_told_apart(model: FakeOpenAI, private_home: Path) -> None:
    workspace = state_of(private_home)
    workspace.state.mkdir(parents=True, mode=0o700)

    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'{"nanobot": "99.0", "pid": 7}\n')
        await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(other, workspace.socket):
        done = await nanobot(private_home, "chat", "-m", "hello")
    assert done.code == 1
    assert "99.0" in done.err
    assert "Restart the gateway" in done.err
