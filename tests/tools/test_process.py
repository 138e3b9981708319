"""Commands run, end, and leave nothing behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from nanobot.tools import process
from nanobot.tools.policy import ExecPolicy
from nanobot.workspace import Workspace
from tests.tools.desk import OWNER, Desk

ALLOWED = ExecPolicy(owner="allow", timeout=30.0)
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
HURRIED = ExecPolicy(owner="allow", timeout=2.0)


@pytest.fixture
def shell(tmp_path: Path) -> Desk:
    return Desk(tmp_path, policy=ALLOWED)


@pytest.fixture
def hurried(tmp_path: Path) -> Desk:
    return Desk(tmp_path, policy=HURRIED)


def pids(desk: Desk, name: str = "pids") -> list[int]:
    """Those that a test's commands have written down."""
    return [int(line) for line in (desk.root / name).read_text().split()]


async def gone(*numbers: int) -> None:
    """Return when none of these processes runs any more."""
    async with asyncio.timeout(120):
        await asyncio.gather(*(asyncio.to_thread(wait_until_gone, number) for number in numbers))


def wait_until_gone(number: int) -> None:
    """A zombie is gone: it only waits for a parent that may be slow."""
    while True:
        state = subprocess.run(["ps", "-o", "state=", "-p", str(number)], capture_output=True, text=True, check=False)
        if state.stdout.strip()[:1] in ("", "Z"):
            return
        time.sleep(0.01)


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def test_output_errors_and_exit_code_are_reported(shell: Desk) -> None:
    assert await shell.text("exec", command="echo out; echo err >&2; exit 3") == "out\nerr\n[exit code 3]"
    assert await shell.text("exec", command="true") == "[no output]\n[exit code 0]"
    assert "[ended by signal 9]" in await shell.text("exec", command="kill -9 $$")


async def test_it_runs_in_the_workspace_with_nothing_to_read(shell: Desk) -> None:
    assert await shell.text("exec", command="pwd") == f"{shell.root}\n[exit code 0]"
    async with asyncio.timeout(120):
        assert await shell.text("exec", command="cat; echo end") == "end\n[exit code 0]"


async def test_no_secret_is_inherited(shell: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-do-not-tell")
    monkeypatch.setenv("TELEGRAM_TOKEN", "123:do-not-tell")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/do-not-tell")
    monkeypatch.setenv("LANG", "C.UTF-8")
    text = await shell.text("exec", command="env")
    assert "do-not-tell" not in text
    assert "LANG=C.UTF-8" in text
    assert f"HOME={os.environ['HOME']}" in text


def test_the_path_holds_no_folder_in_which_the_model_could_write_programs() -> None:
    assert process.clean({"PATH": ".::bin:/usr/bin"})["PATH"] == "/usr/bin"
    assert process.clean({"PATH": "."})["PATH"].startswith("/usr/local/bin")
    assert set(process.clean({"A": "1", "HOME": "/h", "LC_ALL": "C"})) >= {"HOME", "LC_ALL", "PATH", "TERM"}
    assert "A" not in process.clean({"A": "1"})


async def test_when_the_time_is_up_the_whole_group_ends(hurried: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_GRACE", 0.3)
    commands = {
        "a": "echo $$ >>a; sleep 600 & echo $! >>a; sleep 600",
        "b": "trap '' TERM; echo $$ >>b; sleep 600 & echo $! >>b; while :; do sleep 600; done",
        "c": "sh -c 'echo $$ >>c; sh -c \"echo \\$\\$ >>c; sleep 600\"'",
        "d": "echo $$ >>d; (sleep 600 >/dev/null 2>&1 & echo $! >>d); sleep 600",
    }
    async with asyncio.timeout(120):
        texts = await asyncio.gather(
            *(hurried.text("exec", command=f"echo before; {command}") for command in commands.values())
        )
    assert texts == ["before\n[ended after 2 seconds, the limit; its processes are gone]"] * 4
    for name in commands:
        assert len(pids(hurried, name)) == 2
        await gone(*pids(hurried, name))


async def test_stopping_the_turn_ends_the_whole_group(shell: Desk) -> None:
    os.mkfifo(shell.root / "ready")
    command = "sleep 600 & echo $$ $! >pids; echo >ready; sleep 600"
    running = asyncio.create_task(shell.call("exec", command=command))
    await asyncio.to_thread((shell.root / "ready").read_text)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await gone(*pids(shell))


async def test_stopping_twice_does_not_leave_a_stubborn_process(shell: Desk) -> None:
    os.mkfifo(shell.root / "ready")
    running = asyncio.create_task(
        shell.call("exec", command="trap '' TERM; echo $$ >pids; echo >ready; while :; do sleep 1; done")
    )
    await asyncio.to_thread((shell.root / "ready").read_text)
    running.cancel()
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await gone(*pids(shell))


@pytest.mark.parametrize("turns", range(12))
async def test_stopping_at_any_moment_of_the_start_leaves_nothing(shell: Desk, turns: int) -> None:
    running = asyncio.create_task(shell.call("exec", command="echo $$ >>pids; sleep 600"))
    for _ in range(turns):
        await asyncio.sleep(0)
    if turns > 6:
        await asyncio.sleep(0.001 * turns)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    if (shell.root / "pids").exists():
        await gone(*pids(shell))


async def test_what_is_left_in_the_background_ends_with_the_command(shell: Desk) -> None:
    async with asyncio.timeout(120):
        text = await shell.text("exec", command="sleep 600 & echo $! >pids; echo done")
    assert text == "done\n[exit code 0]\n[what it had left running in the background was ended, too]"
    await gone(*pids(shell))


async def test_a_daemon_that_left_the_group_and_holds_the_pipe_does_not_hold_the_tool(shell: Desk) -> None:
    daemon = "import os, time; os.setsid(); print(os.getpid(), file=open('pids', 'w')); time.sleep(600)"
    async with asyncio.timeout(120):
        text = await shell.text(
            "exec", command=f'{sys.executable} -c "{daemon}" & while [ ! -s pids ]; do sleep 0.01; done; echo done'
        )
    for number in pids(shell):
        os.kill(number, 9)
    assert text.startswith("done\n[exit code 0]")


async def test_endless_output_fills_neither_memory_nor_disk(hurried: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_KEPT_HEAD", 100_000)
    monkeypatch.setattr(process, "_KEPT_TAIL", 50_000)
    async with asyncio.timeout(120):
        text = await hurried.text("exec", command="yes")
    assert len(text) < 20_000
    assert "characters are left out" in text
    spilled = list((hurried.root / "spill").iterdir())
    assert len(spilled) == 1
    assert spilled[0].stat().st_size < 200_000
    assert "bytes of output were not kept" in spilled[0].read_text()


async def test_head_and_tail_of_a_long_output_are_shown_and_the_rest_can_be_read(shell: Desk) -> None:
    text = await shell.text("exec", command="i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done; exit 7")
    assert text.startswith("line 0\n")
    assert text.endswith("line 8999\n[exit code 7]")
    hint = next(line for line in text.split("\n") if line.startswith("[…"))
    path = hint.split("path ")[1].split(",")[0]
    start = int(hint.split("start ")[1].split(" ")[0])
    shown = text.split("\n").index(hint)
    rest = await shell.text("read_file", path=path, start=start)
    assert rest.split("\n")[1] in (f"line {shown - 1}", f"line {shown}")
    assert (shell.root / path).stat().st_mode & 0o777 == 0o600


async def test_output_is_made_readable(shell: Desk) -> None:
    painted = r"printf '\033[31mred\033[0m \033]0;title\007plain\n10%%\r50%%\r100%%\r\nbell\007 nul\000 byte\377\n'"
    assert await shell.text("exec", command=painted) == (
        "red plain\n100%\nbell\ufffd nul\ufffd byte\ufffd\n[exit code 0]"
    )


async def test_many_commands_run_side_by_side(shell: Desk) -> None:
    texts = await asyncio.gather(*(shell.text("exec", OWNER, command=f"echo {number}") for number in range(20)))
    assert texts == [f"{number}\n[exit code 0]" for number in range(20)]


async def test_no_descriptor_is_left_open(shell: Desk) -> None:
    await shell.text("exec", command="true")
    before = open_descriptors()
    for _ in range(5):
        await shell.text("exec", command="echo x")
        await shell.refusal("read_file", path="missing/x")
        await shell.refusal("write_file", path="memory", content="x")
    await asyncio.sleep(0)  # the last pipe closes in the loop's next round
    assert open_descriptors() <= before


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


WAITING = "echo at work; read word; echo still here"


@contextmanager
def left_over(records: Path, name: str, script: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A command that a process before us started, with its record, and the lines before it said `at work`."""
    (records / name).touch()
    command = ["/bin/sh", "-c", script]
    environment = process.clean(os.environ) | {process.MARK: name}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as popen:
        try:
            assert popen.stdout
            yield popen, [line.strip() for line in iter(popen.stdout.readline, "at work\n")]
        finally:
            with suppress(ProcessLookupError):
                os.killpg(popen.pid, signal.SIGKILL)


async def test_while_a_command_runs_an_empty_private_file_says_so(shell: Desk) -> None:
    state = Workspace(shell.root).state
    state.mkdir(parents=True)
    seen = await shell.text("exec", command=f"echo ${process.MARK}; ls -ln .nanobot/state")
    mark, _, line, _ = seen.split("\n")
    mode, _, _, _, size, *_, name = line.split()
    assert (mode[:10], size, name) == ("-rw-------", "0", mark)
    assert mark.startswith("command_turn-1_")
    assert not list(state.iterdir())


async def test_without_a_place_for_the_record_the_command_runs_nevertheless(shell: Desk) -> None:
    assert not Workspace(shell.root).state.exists()
    assert await shell.text("exec", command="echo done") == "done\n[exit code 0]"


@needs_proc
async def test_what_a_dead_process_left_running_is_ended_with_its_group(tmp_path: Path) -> None:
    hidden = "echo $$; echo at work; while :; do sleep 600; done"  # carries no mark
    with left_over(tmp_path, "command_t1_a", f"env -i sh -c '{hidden}' & wait") as (one, [member]):
        assert await process.end_left_over(tmp_path) == {"t1"}
        assert one.wait(20) == -signal.SIGTERM
        await gone(int(member))
    assert names(tmp_path) == []
    assert not await process.end_left_over(tmp_path)


@needs_proc
async def test_what_does_not_listen_is_made_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_GRACE", 0.1)
    stubborn = "trap '' TERM; echo at work; while :; do sleep 1; done"
    with (
        left_over(tmp_path, "command_t1_a", stubborn) as (one, _),
        left_over(tmp_path, "command_t2_b", stubborn) as (two, _),
    ):
        assert await process.end_left_over(tmp_path) == {"t1", "t2"}
        assert (one.wait(20), two.wait(20)) == (-signal.SIGKILL, -signal.SIGKILL)
    assert names(tmp_path) == []


async def test_who_carries_no_mark_or_that_of_another_workspace_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with left_over(other, "command_t1_a", WAITING) as (one, _):
        (tmp_path / "command_t1_b").touch()
        (tmp_path / "people.json").touch()
        assert not await process.end_left_over(tmp_path)
        assert one.communicate("go on")[0] == "still here\n"
    assert names(tmp_path) == ["other", "people.json"]
    assert names(other) == ["command_t1_a"]


async def test_a_command_that_starts_the_bot_anew_is_not_ended_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with left_over(tmp_path, "command_t1_a", WAITING) as (one, _):
        monkeypatch.setenv(process.MARK, "command_t1_a")
        assert not await process.end_left_over(tmp_path)
        assert one.communicate("go on")[0] == "still here\n"
    assert (tmp_path / "command_t1_a").exists()


async def test_where_processes_cannot_be_looked_at_the_record_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_PROCESSES", tmp_path / "none")
    (tmp_path / "command_t1_a").touch()
    assert not await process.end_left_over(tmp_path)
    assert names(tmp_path) == []
