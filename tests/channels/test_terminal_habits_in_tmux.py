"""What users of terminal agents expect, in a real terminal: files, commands, keys."""

import sys
from pathlib import Path

import pytest

from tests.fakes.tmux import Tmux, needs_tmux

pytestmark = needs_tmux
ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "stand here"
    folder.mkdir()
    (folder / "notes.txt").write_text("buy tea\n", encoding="utf-8")
    (folder / "my plan.md").write_text("drink tea\n", encoding="utf-8")
    return folder


def conversation(folder: Path, **env: str) -> Tmux:
    command = [sys.executable, "-m", "tests.fakes.talker", str(folder.parent / "history"), str(folder)]
    return Tmux(command, ROOT, env, size=(100, 40))


def test_a_file_is_completed_and_goes_along(folder: Path) -> None:
    with conversation(folder) as pane:
        pane.wait_for(r"^>$")
        pane.type("sum up @my")
        pane.wait_for(r"my plan\.md *$")
        pane.press("Tab")
        pane.wait_for(r'> sum up @"my plan\.md"')
        pane.press("Enter")
        screen = pane.wait_for(r"\[file my plan\.md: drink tea")
        assert "+ my plan.md (1 line) goes along" in screen


def test_a_file_that_is_not_there_leaves_the_line_to_be_corrected(folder: Path) -> None:
    with conversation(folder) as pane:
        pane.wait_for(r"^>$")
        pane.say("sum up @note.txt")
        pane.wait_for(r"Not sent: there is no file note\.txt(.|\n)*^> sum up @note\.txt$")
        pane.press("BSpace", "BSpace", "BSpace", "BSpace")
        pane.type("s.txt")
        pane.press("Enter")
        pane.wait_for(r"\[file notes\.txt: buy tea")


def test_a_command_runs_where_one_stands_and_its_output_goes_along_once(folder: Path) -> None:
    with conversation(folder) as pane:
        pane.wait_for(r"^>$")
        pane.type("!")
        pane.wait_for(r"^> !$")
        pane.say("ls; exit 3")
        pane.wait_for(r"^notes\.txt\n(.|\n)*\[exit code 3\]\nWhat it printed goes along")
        pane.say("which are there?")
        pane.wait_for(r"\[command ls; exit 3: my plan\.md\n?notes\.txt\n?\[exit code 3\]\]")
        pane.say("and now?")
        assert "and now? [" not in pane.wait_for(r"and now\?(.|\n)*56 written")
        pane.type("!")
        pane.wait_for(r"^> !$")
        pane.say("!echo kept to myself")
        pane.wait_for(r"^kept to myself$")
        pane.say("what did I see?")
        assert "[command echo" not in pane.wait_for(r"said 1 line.s.: what did I see\?")


def test_ctrl_c_ends_a_command_and_not_the_conversation(folder: Path) -> None:
    with conversation(folder) as pane:
        pane.wait_for(r"^>$")
        pane.type("!")
        pane.wait_for(r"^> !$")
        pane.say("echo begun; sleep 600")
        pane.wait_for(r"^begun$")
        pane.press("C-c")
        pane.wait_for(r"\[exit code -2\]|\[exit code 130\]")
        pane.say("still here")
        pane.wait_for(r"You said 1 line.s.: still here")


@pytest.mark.parametrize("is_marked", [True, False])
def test_what_is_pasted_runs_nothing(folder: Path, is_marked: bool) -> None:
    with conversation(folder) as pane:
        pane.wait_for(r"^>$")
        command = "!touch pwned"
        pane.paste(command) if is_marked else pane.type(command)
        pane.wait_for(r"^> !touch pwned$")
        pane.press("Enter")
        pane.wait_for(r"took it as words(.|\n)*You said 1 line.s.: +!touch pwned")
        pane.press("Up")
        pane.wait_for(r"^> +!touch pwned$")
        pane.press("Enter")
        pane.wait_for(r"(You said 1 line.s.: +!touch pwned(.|\n)*){2}")
    assert not (folder / "pwned").exists()


def test_a_command_is_run_again_from_the_history(folder: Path) -> None:
    with conversation(folder) as pane:
        pane.wait_for(r"^>$")
        pane.type("!")
        pane.wait_for(r"^> !$")
        pane.say("echo once; echo more >> log")
        pane.wait_for(r"^once$")
        pane.press("Up")
        pane.wait_for(r"(> !echo once(.|\n)*){2}")
        pane.press("Enter")
        pane.wait_for(r"(^once$(.|\n)*){2}")
    assert (folder / "log").read_text() == "more\nmore\n"


def test_esc_stops_and_leaves_what_is_typed_where_it_is(folder: Path) -> None:
    with conversation(folder) as pane:
        pane.wait_for(r"^>$")
        pane.say("wait")
        pane.wait_for("Half a thou")
        pane.type("more words")
        pane.wait_for("Half a thou(.|\n)*more words")
        pane.press("Left", "Left", "Left", "Left", "Left")
        pane.press("Escape")
        pane.wait_for(r"Stopping\.(.|\n)*Stopped\.(.|\n)*^> more words$")
        pane.type("good ")
        pane.wait_for(r"^> more good words$")
        pane.press("Enter")
        pane.wait_for(r"You said 1 line.s.: more good words")


def test_an_editor_writes_the_line(folder: Path) -> None:
    editor = folder / "editor"
    editor.write_text('#!/bin/sh\nprintf "from the editor" >> "$1"\n', encoding="utf-8")
    editor.chmod(0o700)
    with conversation(folder, EDITOR=f"'{editor}'", VISUAL="") as pane:
        pane.wait_for(r"^>$")
        pane.type("a line ")
        pane.press("C-x", "C-e")
        pane.wait_for(r"^> a line from the editor$")
        pane.press("Enter")
        pane.wait_for(r"You said 1 line.s.: a line from the editor")


def test_what_a_tool_printed_is_folded_and_shown_as_a_whole_on_demand(folder: Path) -> None:
    with conversation(folder) as pane:
        pane.wait_for(r"^>$")
        pane.say("list")
        screen = pane.wait_for(r"Thirty files\.")
        assert "  file 3\n  … 22 more lines; Ctrl-O or /output shows all\n  file 26" in screen
        pane.type("half a li")
        pane.press("C-o")
        pane.wait_for(r"^file 0\n(.|\n)*^file 15\n(.|\n)*^file 29\n(.|\n)*^> half a li$")
