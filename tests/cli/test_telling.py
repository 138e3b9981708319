"""What commands print: broken between words on a terminal, untouched in a pipe."""

import io

import pytest

from nanobot.cli.telling import tell


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(text: str, monkeypatch: pytest.MonkeyPatch, *, columns: int = 20) -> list[str]:
    terminal = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", terminal)
        patch.setenv("COLUMNS", str(columns))
        tell(text)
    return terminal.getvalue().split("\n")[:-1]


def test_on_a_terminal_no_word_is_torn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown("what stands in MEMORY.md today", monkeypatch) == ["what stands in", "MEMORY.md today"]
    assert shown("- short\n\n- also", monkeypatch) == ["- short", "", "- also"]


def test_chinese_is_as_wide_as_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [len(row) for row in shown("记住的内容都还在可以撤回" * 2, monkeypatch)] == [10, 10, 4]


def test_no_row_begins_with_a_chinese_comma(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown("文件在 MEMORY.md 里吗，可以（编辑）", monkeypatch) == ["文件在 MEMORY.md 里", "吗，可以（编辑）"]
    assert shown("一二三四五六七八九十，好", monkeypatch) == ["一二三四五六七八九", "十，好"]


def test_a_command_to_copy_stays_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown("Now you can run `chmod 600 x` here", monkeypatch) == ["Now you can run", "`chmod 600 x` here"]
    longer = "Run `install -m 600 /a/long/place /another` now"
    assert shown(longer, monkeypatch) == ["Run", "`install -m 600 /a/long/place /another`", "now"]


def test_in_a_pipe_nothing_is_broken_and_nothing_drives_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    tell("word " * 100 + "\x1b[2J")
    tell("not done", failed=True)
    told = capsys.readouterr()
    assert told.out == "word " * 100 + "[2J\n"
    assert told.err == "not done\n"
