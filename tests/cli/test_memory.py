"""`nanobot memory` and `nanobot dream` from the shell, alone and beside a running gateway."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.cli import main
from nanobot.sessions.store import SessionManager
from nanobot.store.lock import WorkspaceLock
from nanobot.tools.process import MARK
from nanobot.transcript import Message
from nanobot.workspace import Workspace
from tests.fakes.gateway import NANOBOT, NOBODY, ROOT, GatewayProcess, configure, nanobot
from tests.fakes.openai_answers import Answer, fail, nothing_new, say
from tests.fakes.openai_server import FakeOpenAI


class Shell:
    """The commands, run in this process."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.workspace = Workspace(home / "workspace")
        self.workspace.memory.mkdir(parents=True)
        self._capsys = capsys

    def says(self, *words: str, exit_code: int = 0) -> str:
        assert main(list(words)) == exit_code
        shown = self._capsys.readouterr()
        return shown.err if exit_code and "--json" not in words else shown.out

    def printed(self, *words: str) -> str:
        main(list(words))
        return self._capsys.readouterr().out

    def data(self, *words: str, exit_code: int = 0) -> dict[str, object]:
        found = json.loads(self.says(*words, "--json", exit_code=exit_code))
        assert isinstance(found, dict)
        return found

    def versions(self, *words: str) -> list[dict[str, object]]:
        found = self.data("memory", "log", *words)["versions"]
        assert isinstance(found, list)
        return found


@pytest.fixture
def shell(private_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    return Shell(private_home, capsys)


def test_a_hand_edit_is_listed_explained_undone_and_put_back(shell: Shell) -> None:
    shell.says("memory", "log")
    edited = "# Memory\n\n- the boat is blue\n"
    before = shell.workspace.memory_file.read_text(encoding="utf-8")
    shell.workspace.memory_file.write_text(edited, encoding="utf-8")

    [hand, base] = shell.versions()
    assert (hand["kind"], hand["files"], base["kind"]) == ("hand", ["memory/MEMORY.md"], "base")
    assert "written by hand" in shell.says("memory", "why", "blue", "boat")
    assert shell.data("memory", "why", "boat")["line"] == "- the boat is blue"

    receipt = shell.data("memory", "undo", str(hand["id"])[:8])
    assert shell.workspace.memory_file.read_text(encoding="utf-8").strip() == before.strip()
    told = shell.says("memory", "restore", str(receipt["version"]))
    assert "nanobot memory restore" in told
    assert shell.workspace.memory_file.read_text(encoding="utf-8") == edited
    assert len(shell.versions("2")) == 2
    told = shell.says("dream", "log", str(hand["id"])[:7])
    assert "+ the boat is blue" in told
    assert "nanobot dream restore" in told


def test_what_is_remembered_and_a_note_are_shown(shell: Shell) -> None:
    (shell.workspace.memory / "boat.md").write_text("---\nsummary: the boat\n---\nIt is blue.\n", encoding="utf-8")

    assert "1 · boat: the boat" in shell.says("memory", "show")
    assert "It is blue." in shell.says("memory", "show", "--all")
    assert "It is blue." in shell.says("memory", "show", "boat")
    assert shell.data("memory", "show", "boat")["summary"] == "the boat"
    assert [note["name"] for note in shell.data("memory", "show")["notes"]] == ["boat"]  # type: ignore[attr-defined]
    assert shell.data("memory", "show", "car", exit_code=1) == {"error": "note", "detail": "car"}


def test_every_scope_can_be_asked_about_and_one_that_is_not_there_is_named(shell: Shell) -> None:
    his = shell.workspace.memory_of("person:telegram-7")
    his.parent.mkdir(parents=True)
    his.write_text("- Bob sails\n", encoding="utf-8")

    assert "Bob sails" in shell.says("memory", "why", "sails", "--scope", "person:telegram-7")
    assert "I remember nothing like" in shell.says("memory", "why", "sails", exit_code=1)
    assert "owner, person:telegram-7" in shell.says("memory", "log", "--scope", "person:telegram-8", exit_code=1)


def test_a_number_that_is_none_and_a_missing_workspace_are_said(shell: Shell, tmp_path: Path) -> None:
    assert "no change with the number" in shell.says("memory", "undo", "beef", exit_code=1)
    assert shell.data("memory", "restore", "beef", exit_code=1)["error"] == "unknown"
    assert "There is no workspace" in shell.says("memory", "log", "--workspace", str(tmp_path / "no"), exit_code=1)


def test_another_process_at_work_is_named(shell: Shell) -> None:
    with WorkspaceLock(shell.workspace):
        assert "in use by process" in shell.says("memory", "undo", "abcd", exit_code=1)


@pytest.fixture
async def model(private_home: Path) -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        configure(private_home, server.base_url, telegram=NOBODY)
        yield server


async def test_beside_a_gateway_it_is_the_gateway_that_does_it(model: FakeOpenAI, private_home: Path) -> None:
    memory = Workspace(private_home / "workspace").memory_file
    async with GatewayProcess(private_home) as gateway:
        assert (await nanobot(private_home, "chat", "-m", "/remember my dog is called Pixel")).code == 0
        assert "Pixel" in memory.read_text(encoding="utf-8")

        why = await nanobot(private_home, "memory", "why", "Pixel", "--json")
        log = json.loads((await nanobot(private_home, "memory", "log", "--json")).out)["versions"]
        done = await nanobot(private_home, "memory", "undo", log[0]["id"][:7])
        dreamt = await nanobot(private_home, "dream")

        assert [said["how"] for said in json.loads(why.out)["said"]] == ["command"]
        assert [version["kind"] for version in log] == ["remember", "base"]
        assert (done.code, done.err) == (0, "")
        assert "Pixel" not in memory.read_text(encoding="utf-8")
        assert "Nothing was said since" in dreamt.out
        assert await gateway.stop() == 0
    assert "Traceback" not in gateway.log()


def test_what_only_reads_works_beside_an_open_conversation_and_changes_nothing(shell: Shell) -> None:
    shell.says("memory", "log")
    shell.workspace.memory_file.write_text("# Memory\n\n- the boat is blue\n", encoding="utf-8")
    shell.says("memory", "log")
    noted = shell.workspace.memory_file.read_text(encoding="utf-8") + "- the car is red\n"
    shell.workspace.memory_file.write_text(noted, encoding="utf-8")
    (shell.workspace.memory / "boat.md").write_text("---\nsummary: the boat\n---\nIt is blue.\n", encoding="utf-8")
    heads = _heads(shell.workspace)

    with WorkspaceLock(shell.workspace):
        assert "the car is red" in shell.says("memory", "show")
        assert "1 · boat: the boat" in shell.says("memory", "show")
        assert "written by hand" in shell.says("memory", "why", "blue", "boat")
        assert "the boat is blue" in shell.says("memory", "log")
        assert "the boat is blue" in shell.says("dream", "log")
        assert "nanobot memory restore" in shell.says("memory", "restore")
        shell.says("status", exit_code=1)
    assert _heads(shell.workspace) == heads
    assert shell.workspace.memory_file.read_text(encoding="utf-8") == noted


def test_what_writes_beside_an_open_conversation_says_what_to_type_there(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("sys.argv", ["/usr/bin/nanobot", "chat"])
        lock = WorkspaceLock(shell.workspace).__enter__()
    try:
        assert "Type it there: /dream-undo abcd (or" in shell.says("memory", "undo", "abcd", exit_code=1)
        assert "Type it there: /dream (or" in shell.says("dream", exit_code=1)
        assert "Type it there: /forget blue boat (or" in shell.says("memory", "forget", "blue", "boat", exit_code=1)
        assert "Type it there" not in shell.says("memory", "forget", "boat", "--scope", "owner", exit_code=1)
    finally:
        lock.__exit__(None, None, None)


def test_without_git_the_program_starts_all_the_same(private_home: Path, tmp_path: Path) -> None:
    Workspace(private_home / "workspace").memory.mkdir(parents=True)
    env = {"PATH": str(tmp_path), "NANOBOT_HOME": str(private_home), "LC_ALL": "C"}
    # a process of its own: one that was forked has imported what needs git before
    told = subprocess.run([*NANOBOT, "status"], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert "no git on this machine" in told.stdout


UNSUMMARISED: dict[str, tuple[Answer, str]] = {
    "a key that is refused": (fail(401, "bad key"), "the model cannot be used"),
    "a server that is out of order": (fail(500), "the model is overloaded or out of order"),
    "no summary": (say("I'm sorry, I can't help with that."), "the model gave no usable summary"),
}


@pytest.mark.parametrize(("answer", "reason"), UNSUMMARISED.values(), ids=UNSUMMARISED)
async def test_what_could_not_be_summarised_is_no_success_and_waits_until_it_is(
    model: FakeOpenAI, shell: Shell, answer: Answer, reason: str
) -> None:
    model.aside = lambda _: answer
    sessions = SessionManager(shell.workspace)
    said = Message(role="user", content="I like tea", id="m", turn="t", at="2026-11-30T09:00:00+01:00", scope="owner")
    await sessions.append(await sessions.load("cli:default"), said)

    failed = await asyncio.to_thread(shell.says, "dream", exit_code=1)
    assert "could be summarised" in failed
    assert reason in failed
    assert "Nothing is lost" in failed
    assert "Nothing was said" not in failed
    waits = "1 conversation waits to be summarised"
    for command in ("status", "doctor"):
        printed = await asyncio.to_thread(shell.printed, command)
        assert waits in printed
        assert reason in printed

    model.aside = nothing_new
    await asyncio.to_thread(shell.says, "dream")
    assert waits not in await asyncio.to_thread(shell.printed, "status")
    assert waits not in await asyncio.to_thread(shell.printed, "doctor")


def _heads(workspace: Workspace) -> list[tuple[str, str]]:
    return sorted((path.name, path.read_text()) for path in (workspace.versions / "refs" / "heads").rglob("*"))


@pytest.mark.skipif(sys.platform != "linux", reason="a command is known by its mark in /proc")
@pytest.mark.parametrize("words", [("memory", "show"), ("dream",)])
def test_a_command_that_a_killed_process_left_is_ended_and_told(
    shell: Shell, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    shell.workspace.state.mkdir(parents=True)
    mark = "command_t1_a"
    (shell.workspace.state / mark).touch()
    with subprocess.Popen(
        ["/bin/sh", "-c", "echo begun; read word; echo on"],
        env={**os.environ, MARK: mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as left:
        assert left.stdout
        left.stdout.readline()
        main(list(words))
        assert left.wait(20) == -signal.SIGTERM
    assert "A command that I had started before I was cut off was still running; I have ended it." in (
        capsys.readouterr().err
    )


def test_on_a_full_disk_reading_works_and_what_would_write_says_that_it_is_full(shell: Shell) -> None:
    shell.workspace.memory_file.write_text("# Memory\n\n- the boat is blue\n", encoding="utf-8")
    shell.says("memory", "log")
    full = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); "
    begin = full + "from nanobot.cli import main; sys.exit(main(sys.argv[1:]))"

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([sys.executable, "-c", begin, *words], capture_output=True, text=True, check=False)

    shown, listed, refused, checked = (
        run("memory", "show"),
        run("memory", "log"),
        run("memory", "undo", "abcd"),
        run("doctor"),
    )

    assert (shown.returncode, listed.returncode) == (0, 0), shown.stderr + listed.stderr
    assert "the boat is blue" in shown.stdout
    assert refused.returncode == 1
    assert "is full" in refused.stderr
    assert "supports locks" not in refused.stderr
    assert "is full" in checked.stdout + checked.stderr
