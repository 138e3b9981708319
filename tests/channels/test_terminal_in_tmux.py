"""The conversation in a real terminal."""

import sys
from pathlib import Path

from tests.fakes.tmux import Tmux, needs_tmux

pytestmark = needs_tmux
ROOT = Path(__file__).parents[2]


def conversation(tmp_path: Path, size: tuple[int, int] = (80, 30), **env: str) -> Tmux:
    command = [sys.executable, "-m", "tests.fakes.talker", str(tmp_path / "history")]
    return Tmux(command, ROOT, env, size=size)


def test_an_answer_appears_above_the_prompt_and_the_terminal_is_left_in_order(tmp_path: Path) -> None:
    with conversation(tmp_path) as pane:
        pane.wait_for(r"^>$")
        pane.say("tell")
        screen = pane.wait_for(r"56 written(.|\n)*^>$")
        assert screen.count("Once upon a time") == 1
        assert "x = [1]\n\ny = 2\n───" in screen
        assert "The end 👋 你好." in screen
        pane.press("C-d")
        screen = pane.wait_for(r"^\[exit 0\]\nicanon\necho")
        assert "Traceback" not in screen
        assert "Task was destroyed" not in screen


def test_one_types_on_while_the_bot_answers_and_ctrl_c_keeps_what_was_typed(tmp_path: Path) -> None:
    with conversation(tmp_path) as pane:
        pane.wait_for(r"^>$")
        pane.say("wait")
        pane.wait_for("Half")
        pane.type("more words")
        assert "Let me think.\n\nHalf a thou\n\n> more words" in pane.wait_for("Half a thou(.|\n)*more words")
        pane.press("C-c")
        pane.wait_for(r"Stopped\.\n\n> more words$")
        pane.press("C-c")
        screen = pane.wait_for(r"^\[exit 0\]\nicanon\necho")
        assert "Traceback" not in screen
        assert "Task was destroyed" not in screen


def test_a_question_is_answered_with_a_number_and_ctrl_c_on_it_stops_the_turn(tmp_path: Path) -> None:
    with conversation(tmp_path) as pane:
        pane.wait_for(r"^>$")
        pane.say("ask")
        pane.wait_for(r"May I run ls\?\n\n  1\. Once\n  2\. For this session\n  3\. No\n")
        pane.say("2")
        pane.wait_for(r"You chose session\.")
        pane.say("ask")
        pane.wait_for(r"^> 2$(.|\n)*letter\.\n\n>$")
        pane.press("C-c")
        pane.wait_for(r"Stopped\.")


def test_a_pasted_text_of_many_lines_is_one_message(tmp_path: Path) -> None:
    with conversation(tmp_path) as pane:
        pane.wait_for(r"^>$")
        pane.paste("one\ntwo\n\nthree")
        pane.wait_for("three")
        pane.press("Enter")
        pane.wait_for(r"You said 4 line\(s\)")


def test_leaving_in_the_middle_of_an_answer_keeps_what_was_said_of_it(tmp_path: Path) -> None:
    with conversation(tmp_path) as pane:
        pane.wait_for(r"^>$")
        pane.say("wait")
        pane.wait_for("Half a thou")
        pane.press("C-d")
        screen = pane.wait_for(r"^\[exit 0\]\nicanon\necho")
    assert screen.count("Half a thou") == 1


def test_lines_pasted_where_pastes_are_not_marked_are_one_message(tmp_path: Path) -> None:
    with conversation(tmp_path, TERM="dumb") as pane:
        pane.wait_for(r"^>$")
        pane.type("one\rtwo\r\rthree\r")
        pane.wait_for(r"You said 4 line\(s\)")


def test_a_command_is_completed(tmp_path: Path) -> None:
    with conversation(tmp_path) as pane:
        pane.wait_for(r"^>$")
        pane.type("/he")
        pane.wait_for("what I can do")
        pane.press("Tab", "Enter")
        pane.wait_for(r"You called /help\.")


def test_a_narrow_window_that_changes_its_size(tmp_path: Path) -> None:
    with conversation(tmp_path, size=(20, 20)) as pane:
        pane.wait_for(r"^>$")
        pane.say("tell")
        pane.wait_for(r"^1,234 tokens read,\n56 written(.|\n)*^>$")
        pane.resize(60, 20)
        pane.say("你好，这是一句比二十列宽的话，还有表情 👋 在里面")
        pane.wait_for("line.s.: 你好，这是一句比二十列宽的话，还有表情")


def test_a_console_that_cannot_encode_an_emoji(tmp_path: Path) -> None:
    with conversation(tmp_path, LC_ALL="C", PYTHONIOENCODING="ascii:strict") as pane:
        pane.wait_for(r"^>$")
        pane.say("tell")
        assert "The end ? ??." in pane.wait_for(r"56 written(.|\n)*^>$")


def test_a_dumb_terminal_without_colours(tmp_path: Path) -> None:
    with conversation(tmp_path, TERM="dumb", NO_COLOR="1") as pane:
        pane.wait_for(r"^>$")
        pane.say("look")
        pane.wait_for(r"I look\.\n\n· read notes.md\n\nFound it\.\n\n1,234.*56 written.*\n\n>$")
        pane.say("exit")
        pane.wait_for(r"^\[exit 0\]\nicanon\necho")


def test_answers_may_go_to_a_file_while_one_types(tmp_path: Path) -> None:
    talker = f"{sys.executable} -m tests.fakes.talker {tmp_path / 'history'} > {tmp_path / 'answers'}"
    with Tmux(["sh", "-c", talker], ROOT, {}) as pane:
        pane.wait_for(r"^>$")
        pane.say("look")
        pane.wait_for(r"^> look(.|\n)*^>$")
        pane.say("exit")
        pane.wait_for(r"^\[exit 0\]")
    assert "Found it.\n" in (tmp_path / "answers").read_text(encoding="utf-8")


def test_a_signal_to_end_leaves_the_terminal_in_order(tmp_path: Path) -> None:
    with conversation(tmp_path) as pane:
        pane.wait_for(r"^>$")
        pane.signal("TERM")
        pane.wait_for(r"^\[exit 0\]\nicanon\necho")


def test_an_interrupting_signal_is_as_good_as_the_key(tmp_path: Path) -> None:
    with conversation(tmp_path) as pane:
        pane.wait_for(r"^>$")
        pane.say("wait")
        pane.wait_for("Half")
        pane.signal("INT")
        pane.wait_for(r"Stopped\.")
