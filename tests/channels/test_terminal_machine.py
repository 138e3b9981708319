"""What a person at the terminal does on their own machine: commands, the clipboard, and where they stand."""

import asyncio
import base64
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nanobot.channels.terminal.machine import (
    MOST_CARRIED,
    Machine,
    PrintedText,
    RunningCommand,
    last_code,
    to_clipboard,
)
from nanobot.channels.terminal.oneshot import OneShot
from nanobot.channels.terminal.person import at, with_place
from nanobot.channels.terminal.terminal import Terminal
from nanobot.cli import main
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Publish
from tests.fakes.talker import english

CLIPBOARDS = ("SSH_CONNECTION", "WAYLAND_DISPLAY", "DISPLAY", "WSL_DISTRO_NAME")


def tool(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o700)


async def test_a_command_has_the_persons_environment_and_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "my value")
    monkeypatch.setenv("SHELL", "/bin/sh")
    shown: list[str] = []
    running = RunningCommand("pwd; echo $MINE; printf 'a\\033[31mb\\rc' >&2; exit 4", tmp_path, shown.append)
    async with asyncio.timeout(120):
        code = await running.run()
    assert "".join(shown) == f"{tmp_path}\nmy value\nab\nc"
    quote = running.quote(code)
    assert (quote.how, quote.text) == ("command", f"{tmp_path}\nmy value\nab\nc\n[exit code 4]")


async def test_of_a_long_output_the_ends_go_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    running = RunningCommand("echo first; seq 100000; echo last", tmp_path, lambda _: None)
    async with asyncio.timeout(120):
        text = running.quote(await running.run()).text
    assert text.startswith("first\n1\n")
    assert text.endswith("last\n[exit code 0]")
    assert "characters are left out here" in text
    assert len(text) < MOST_CARRIED + 200


async def test_a_command_that_does_not_heed_ctrl_c_is_ended_by_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    begun = asyncio.Event()
    running = RunningCommand("trap '' INT; echo begun; sleep 600", tmp_path, lambda _: begun.set())
    async with asyncio.timeout(120):
        task = asyncio.create_task(running.run())
        await begun.wait()
        running.interrupt()
        running.interrupt()
        assert await task == -9


async def test_who_leaves_leaves_no_command_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    said: asyncio.Queue[str] = asyncio.Queue()
    running = RunningCommand("echo $$; sleep 600", tmp_path, said.put_nowait)
    async with asyncio.timeout(120):
        task = asyncio.create_task(running.run())
        group = int(await said.get())
        task.cancel()
        await asyncio.wait([task])
    assert not _lives(group)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("no code, `only this`", None),
        ("```py\nx = 1\n```\nand\n```sh\nls\n\npwd\n```\nend", "ls\n\npwd"),
        ("- a list\n\n  ```\n  in it\n  ```\n", "in it"),
    ],
)
def test_the_last_block_of_code(text: str, code: str | None) -> None:
    assert last_code(text) == code


async def test_a_tool_of_the_system_takes_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CLIPBOARDS:
        monkeypatch.delenv(name, raising=False)
    tool(tmp_path / "bin", "xclip", f"/bin/cat > '{tmp_path}/clip'")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("DISPLAY", ":0")
    assert await to_clipboard("你好\n", None) == "tool"
    assert (tmp_path / "clip").read_text(encoding="utf-8") == "你好\n"


async def test_without_one_the_terminal_is_asked_to_take_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CLIPBOARDS:
        monkeypatch.delenv(name, raising=False)
    tool(tmp_path / "bin", "pbcopy", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    written: list[str] = []
    assert await to_clipboard("text", written.append) == "sequence"
    assert written == [f"\x1b]52;c;{base64.b64encode(b'text').decode()}\x07"]
    assert await to_clipboard("x" * 100_000, written.append) is None
    assert await to_clipboard("text", None) is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/export", "/export {here}"),
        ("/export  my talk.md ", "/export {here}/my talk.md"),
        ("/export /tmp/x.md", "/export /tmp/x.md"),
        ("/EXPORT sub/x.md", "/export {here}/sub/x.md"),
        ("/export --over /tmp/x.md", "/export --over /tmp/x.md"),
        ("/export  --over my talk.md", "/export --over {here}/my talk.md"),
        ("/export --over", "/export --over {here}"),
        ("/export --overt x.md", "/export --overt x.md"),
        ("/export ~nobody-of-this-name/x.md", "/export {here}/~nobody-of-this-name/x.md"),
        ("/exports", "/exports"),
        ("tell me of /export x", "tell me of /export x"),
    ],
)
def test_a_path_is_meant_where_the_person_stands(typed: str, meant: str, tmp_path: Path) -> None:
    assert with_place(typed, tmp_path) == meant.format(here=tmp_path)


async def test_only_the_terminal_that_asked_goes_on_elsewhere(tmp_path: Path) -> None:
    moved: list[Address] = []

    async def on_move(address: Address) -> None:
        moved.append(address)

    terminal = Terminal(at("test"), tmp_path / "history", [], "", english, machine=Machine(folder=tmp_path))
    terminal.on_move = on_move
    said: list[str] = []

    async def publish(message: object) -> None:
        said.append(message.id)  # type: ignore[attr-defined]

    await _take(terminal, "/resume work", publish)
    for reply_to, expected in (("somebody else's", "test"), (said[0], "work")):
        notice = OutboundMessage(
            id="n", address=at("test"), text="", kind="notice", reply_to=reply_to, goes_to="cli:work"
        )
        await terminal.send(notice)
        assert terminal.address == at(expected)
    assert moved == [at("work")]


async def _take(terminal: Terminal, text: str, publish: Publish) -> None:
    await terminal._take(text, publish)


def test_who_stands_in_a_folder_that_was_deleted_stands_at_home(
    private_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert Machine().folder == tmp_path  # the HOME of tests
    OneShot(at("test"), "what time is it?", english)
    assert with_place("/export", Machine().folder) == f"/export {tmp_path}"
    monkeypatch.setattr("sys.stdin", None)
    assert main(["chat", "--here", "-m", "hello"]) == 2
    assert "The folder you stand in was deleted" in capsys.readouterr().err


PRINTED = (
    b"plain\r\n\x1b[1;31mred\x1b[0m \x1b]0;a title\x07t\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\r\n"
    b"10%\r50%\r\x1b[K\nend \xe4\xbd\xa0\xe5\xa5\xbd\xf0\x9f\x8c\xb1 \x1b(B\x1bM\x1b[\n12 \x1bPq#0\x1b\\ok"
    b"\x1b]open\nlast\r"
)
ONE_LOOK = "plain\nred tlink\n10%\n50%\nend 你好🌱 \n12 ok\nlast\n"


@given(st.lists(st.integers(0, len(PRINTED)), max_size=30))
@example(list(range(len(PRINTED))))
def test_in_whatever_pieces_output_comes_nothing_of_an_escape_sequence_is_shown(cuts: list[int]) -> None:
    printed = PrintedText()
    ends = [0, *sorted(cuts), len(PRINTED)]
    pieces = [printed.feed(PRINTED[start:end]) for start, end in pairwise(ends)]
    assert "".join(pieces) + printed.end() == ONE_LOOK


async def test_what_a_command_prints_in_pieces_has_no_rests_of_escapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    shown: list[str] = []
    script = "printf 'a\\033'; sleep 0.1; printf '[31'; sleep 0.1; printf 'mred\\r'; sleep 0.1; printf '\\nb'"
    running = RunningCommand(script, tmp_path, shown.append)
    async with asyncio.timeout(120):
        await running.run()
    assert "".join(shown) == "ared\nb"
