"""The conversation in a terminal: what is typed, and what happens then."""

import asyncio
import os
import stat
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.channels.terminal.person import at
from nanobot.channels.terminal.prompt import PasteReader
from nanobot.channels.terminal.terminal import Terminal
from nanobot.messages import Address, OutboundMessage
from tests.fakes.talker import LONG, Talker, english

COMMANDS = [("help", "what I can do"), ("model", "show the model")]
LEAVE = "\x04"
CTRL_C = "\x03"


@pytest.fixture
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        yield keys


def terminal(tmp_path: Path, greeting: str = "") -> Terminal:
    return Terminal(at("test"), tmp_path / "home" / "history", COMMANDS, greeting, english)


async def talk(tmp_path: Path, greeting: str = "") -> Talker:
    """Talk until the person leaves; what they do must have been typed before."""
    bot = Talker()
    async with asyncio.timeout(120):
        await bot.run(terminal(tmp_path, greeting))
    return bot


async def said(keyboard: PipeInput, tmp_path: Path, keys: str) -> list[str]:
    keyboard.send_text(keys)
    return [message.text for message in (await talk(tmp_path)).heard]


async def hears_one(keyboard: PipeInput, tmp_path: Path) -> Talker:
    """A bot that has heard what the keyboard holds, and was left only then."""
    bot = Talker()
    async with asyncio.timeout(120):
        talking = asyncio.create_task(bot.run(terminal(tmp_path)))
        await bot.has_heard.wait()
        keyboard.send_text(LEAVE)
        await talking
    return bot


async def test_what_is_typed_is_published_in_the_owners_name(keyboard: PipeInput, tmp_path: Path) -> None:
    keyboard.send_text("Hello there\r" + LEAVE)
    [message] = (await talk(tmp_path)).heard
    assert message.text == "Hello there"
    assert message.address == Address("cli", "test")
    assert message.authority == OWNER_IN_TERMINAL
    assert message.sender.id == "local"
    assert message.id.startswith("cli:test:")


async def test_alt_enter_begins_a_new_line_and_enter_sends(keyboard: PipeInput, tmp_path: Path) -> None:
    assert await said(keyboard, tmp_path, "one\x1b\rtwo\r" + LEAVE) == ["one\ntwo"]


async def test_a_pasted_text_of_many_lines_is_one_message(keyboard: PipeInput, tmp_path: Path) -> None:
    paste = "\x1b[200~def f():\r\n    pass\n\nf()\x1b[201~"
    assert await said(keyboard, tmp_path, f"{paste}\r{LEAVE}") == ["def f():\n    pass\n\nf()"]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("one\rtwo\r\rthree\r", "one\ntwo\n\nthree"),
        ("one\ntwo\n", "one\ntwo"),
        ("one\r\n\ttwo\r\n", "one\n\ttwo"),
        ("你好\r再见\r", "你好\n再见"),
        ("a line\r" * 600, "\n".join(["a line"] * 600)),
    ],
)
async def test_lines_that_come_at_once_without_marks_are_one_message(
    keyboard: PipeInput, tmp_path: Path, block: str, message: str
) -> None:
    keyboard.send_text(block)
    bot = await hears_one(keyboard, tmp_path)
    assert [heard.text for heard in bot.heard] == [message]


async def test_a_file_that_a_pasted_text_names_stays_at_home(keyboard: PipeInput, tmp_path: Path) -> None:
    secret, meant = tmp_path / "diary.txt", tmp_path / "meant.txt"
    for file in (secret, meant):
        file.write_text(f"text of {file.name}", encoding="utf-8")
    keyboard.send_text(f"look \x1b[200~at @{secret}\r\nnow\x1b[201~ and @{meant}\r")
    bot = await hears_one(keyboard, tmp_path)
    [heard] = bot.heard
    assert heard.text == f"look at @{secret}\nnow and @{meant}"
    assert [quote.text for quote in heard.quotes] == ["text of meant.txt"]


@pytest.mark.parametrize(
    "pasted",
    [
        "look:\x1b[201~rm -rf x\r\x03\x04",
        "look:\x1b[201~rm -rf x\r\x1b[200~\x03\x04",
        "look:\x1b[201~\r" + "x" * 5_000,
    ],
)
async def test_the_mark_of_an_end_within_a_paste_ends_nothing(keyboard: PipeInput, tmp_path: Path, pasted: str) -> None:
    [text] = await said(keyboard, tmp_path, f"\x1b[200~{pasted}\x1b[201~\r{LEAVE}")
    assert text.startswith("look:")
    assert text == pasted.replace("\x1b[201~", "").replace("\x1b[200~", "").replace("\r", "\n")


async def test_what_was_forgotten_does_not_come_back_with_the_arrow_in_an_open_terminal(
    keyboard: PipeInput, tmp_path: Path
) -> None:
    path = tmp_path / "home" / "history"
    keyboard.send_text("my secret garden\r")
    bot, shown = Talker(), terminal(tmp_path)
    async with asyncio.timeout(120):
        talking = asyncio.create_task(bot.run(shown))
        await bot.has_heard.wait()
        other = path.with_name("other")
        other.write_text("\n# 2026-11-30 09:00:00\n+kept\n", encoding="utf-8")
        other.replace(path)  # as forgetting writes it
        await shown.send(OutboundMessage(id="1", address=at("test"), text="Forgotten.", kind="notice"))
        keyboard.send_text("\x1b[A\r" + LEAVE)
        await talking
    assert [heard.text for heard in bot.heard][1:] == ["kept"]


async def test_an_empty_line_says_nothing(keyboard: PipeInput, tmp_path: Path) -> None:
    assert await said(keyboard, tmp_path, "\r \r\x15\x04") == []


@pytest.mark.parametrize("word", ["exit", "quit", "Exit ", "/quit", "退出"])
async def test_a_word_of_farewell_leaves(keyboard: PipeInput, tmp_path: Path, word: str) -> None:
    assert await said(keyboard, tmp_path, f"{word}\r") == []


async def test_a_call_for_help_is_the_command(keyboard: PipeInput, tmp_path: Path) -> None:
    assert await said(keyboard, tmp_path, f"help\r?\r帮助\rhelp me\r{LEAVE}") == ["/help"] * 3 + ["help me"]


async def test_bytes_that_the_console_could_not_decode_become_valid_text(keyboard: PipeInput, tmp_path: Path) -> None:
    keyboard.send_bytes("café ".encode() + b"\xff\r" + LEAVE.encode())
    assert [message.text for message in (await talk(tmp_path)).heard] == ["café \ufffd"]


async def test_what_was_typed_comes_back_with_the_arrow_and_is_private(keyboard: PipeInput, tmp_path: Path) -> None:
    await said(keyboard, tmp_path, "first time\r" + LEAVE)
    assert await said(keyboard, tmp_path, "\x1b[A\r" + LEAVE) == ["first time"]
    file = tmp_path / "home" / "history"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


async def test_a_home_that_cannot_be_written_costs_only_the_history(keyboard: PipeInput, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    assert await said(keyboard, tmp_path, "hello\r" + LEAVE) == ["hello"]


async def test_two_times_ctrl_c_at_an_idle_prompt_leave(
    keyboard: PipeInput, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await said(keyboard, tmp_path, CTRL_C + CTRL_C) == []
    assert "once more" in capsys.readouterr().out


async def test_ctrl_c_drops_what_was_typed_and_typing_takes_the_warning_back(
    keyboard: PipeInput, tmp_path: Path
) -> None:
    keys = f"draft{CTRL_C}another draft{CTRL_C}hello\r{LEAVE}"
    assert await said(keyboard, tmp_path, keys) == ["hello"]


async def test_ctrl_c_stops_a_turn_and_a_second_one_leaves(keyboard: PipeInput, tmp_path: Path) -> None:
    assert await said(keyboard, tmp_path, f"wait\r{CTRL_C}{CTRL_C}") == ["wait", "/stop"]


async def test_one_can_say_more_while_the_bot_answers(keyboard: PipeInput, tmp_path: Path) -> None:
    assert await said(keyboard, tmp_path, f"wait\rand more\r{LEAVE}") == ["wait", "and more"]


async def test_an_answer_is_printed_once_with_what_it_cost(
    keyboard: PipeInput, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bot, terminal = Talker(), Terminal(at("test"), tmp_path / "history", COMMANDS, "Welcome.", english)
    keyboard.send_text("tell\r")
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(bot.run(terminal))
        shown = ""
        while "56 written" not in shown:
            await asyncio.sleep(0.01)
            shown += capsys.readouterr().out
        keyboard.send_text(LEAVE)
        await running
    assert shown.startswith("\nWelcome.\n/help lists the commands; exit or Ctrl-D leaves.\n\nA tale\n")
    assert shown.count("Once upon a time") == 1
    assert "• two" in shown
    assert "The end 👋 你好." in shown


async def test_a_message_of_another_conversation_says_where_it_belongs(
    keyboard: PipeInput, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal(at("test"), tmp_path / "history", COMMANDS, "", english)
    await terminal.send(OutboundMessage(id="1", address=at("work"), text=LONG, kind="notice"))
    assert capsys.readouterr().out.startswith("\nIn the conversation cli:work:\n\nA tale\n")


KEYS = "a\x1b[A\x1b[200~one\r\ntwo @x.txt\x1b[201~\x1b[D你\x1b[1;5Cé\x1bb"
EVENTS = [
    "a",
    Keys.Up,
    (Keys.BracketedPaste, "one\r\ntwo @x.txt"),
    Keys.Left,
    "你",
    Keys.ControlRight,
    "é",
    Keys.Escape,
    "b",
]


def pressed(pieces: Sequence[bytes]) -> list[object]:
    """The keys that a program sees when these bytes arrive one piece after the other."""
    seen: list[object] = []
    parser = Vt100Parser(lambda key: seen.append((key.key, key.data) if key.key is Keys.BracketedPaste else key.key))
    reading, writing = os.pipe()
    try:
        reader = PasteReader(reading)
        for piece in pieces:
            os.write(writing, piece)
            parser.feed(reader.read())
    finally:
        os.close(reading)
        os.close(writing)
    return seen


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, len(KEYS.encode()) - 1), max_size=8, unique=True))
@example(list(range(1, len(KEYS.encode()))))
def test_in_whatever_pieces_keys_and_a_paste_arrive_they_are_the_same(cuts: list[int]) -> None:
    data = KEYS.encode()
    ends = [0, *sorted(cuts), len(data)]
    assert pressed([data[start:end] for start, end in pairwise(ends)]) == EVENTS


def test_a_paste_after_one_whose_end_came_in_two_pieces_is_a_paste() -> None:
    seen = pressed([b"\x1b[200~one\x1b[20", b"1~", b"x", b"\x1b[200~two\rrm\x1b[201~"])
    assert seen == [(Keys.BracketedPaste, "one"), "x", (Keys.BracketedPaste, "two\rrm")]


def test_escape_alone_is_the_key_and_what_is_typed_later_is_not_swallowed() -> None:
    assert pressed([b"\x1b", b"\x1b"])[:1] == [Keys.Escape]
    seen: list[object] = []
    parser = Vt100Parser(lambda key: seen.append(key.key))
    parser.feed("\x1b")
    parser.flush()
    parser.feed("b")
    assert seen == [Keys.Escape, "b"]


@pytest.mark.parametrize("is_open", [True, False], ids=["in the same terminal", "in the next one"])
async def test_a_pasted_line_that_the_arrow_keys_bring_back_names_no_file(
    keyboard: PipeInput, tmp_path: Path, *, is_open: bool
) -> None:
    diary, meant = tmp_path / "diary.txt", tmp_path / "meant.txt"
    for file in (diary, meant):
        file.write_text(f"text of {file.name}", encoding="utf-8")
    bot, shown = Talker(), terminal(tmp_path)
    keyboard.send_text(f"see \x1b[200~@{diary}\nand\x1b[201~ and @{meant}\r")
    async with asyncio.timeout(120):
        talking = asyncio.create_task(bot.run(shown))
        await bot.has_heard.wait()
        bot.has_heard.clear()
        if not is_open:
            keyboard.send_text(LEAVE)
            await talking
            shown = terminal(tmp_path)
            talking = asyncio.create_task(bot.run(shown))
        line = shown._prompt._session.default_buffer
        while line.text == "":  # what was typed before is read meanwhile
            keyboard.send_text("\x1b[A")
            await asyncio.sleep(0.01)
        keyboard.send_text("!\r")
        await bot.has_heard.wait()
        keyboard.send_text(LEAVE)
        await talking
    first, again = bot.heard
    assert again.text == f"{first.text}!" == f"see @{diary}\nand and @{meant}!"
    assert [[quote.text for quote in message.quotes] for message in (first, again)] == [["text of meant.txt"]] * 2
