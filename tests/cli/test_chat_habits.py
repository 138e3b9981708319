"""`nanobot chat` with files, another conversation and an opened folder, as people start it."""

import json
import sys
from pathlib import Path

from tests.cli.test_chat import ROOT, Endpoint, chat, endpoint
from tests.fakes.tmux import Tmux, needs_tmux

__all__ = ["endpoint"]  # a fixture


def in_folder(home: Path, folder: Path, *arguments: str) -> Tmux:
    env = {"NANOBOT_HOME": str(home), "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    return Tmux([sys.executable, "-m", "nanobot", "chat", *arguments], folder, env, size=(100, 50))


@needs_tmux
def test_a_file_goes_along_and_a_command_runs_in_the_folder_that_is_opened(
    endpoint: Endpoint,
    private_home: Path,
    tmp_path: Path,
) -> None:
    endpoint(
        {"say": "Pin 4 it is."},
        {"call": {"name": "exec", "arguments": {"command": "pwd"}}},
        {"say": "That is where we are."},
    )
    project = tmp_path / "greenhouse"
    project.mkdir()
    (project / "pump.py").write_text("PIN = 4\n", encoding="utf-8")
    with in_folder(private_home, project, "--here") as pane:
        pane.wait_for(r"Open for this conversation: .*greenhouse(.|\n)*^>$")
        pane.say("Which pin? @pump.py")
        pane.wait_for(r"\+ pump\.py \(1 line\) goes along(.|\n)*Pin 4 it is(.|\n)*written(.|\n)*^>$")
        pane.say("Where are we?")
        pane.wait_for(r"May I run this command in .*greenhouse(.|\n)*3\. No(.|\n)*^>$")
        pane.say("1")
        pane.wait_for(rf"^  {project}\n(.|\n)*That is where we are(.|\n)*written(.|\n)*^>$")
    first = json.loads((private_home / "workspace" / "sessions" / "cli" / "default.jsonl").read_text().splitlines()[1])
    assert first["content"] == "Which pin? @pump.py"
    assert first["quotes"] == [{"text": "PIN = 4", "by": str(project / "pump.py"), "how": "file"}]
    assert "PIN = 4" in first["context"]


@needs_tmux
def test_one_goes_on_with_another_conversation_and_writes_it_down(
    endpoint: Endpoint,
    private_home: Path,
    tmp_path: Path,
) -> None:
    endpoint({"say": "Pin 4 it is."})
    assert chat("-m", "Which pin?").returncode == 0
    with in_folder(private_home, tmp_path, "--session", "work") as pane:
        pane.wait_for(r"^>$")
        pane.say("/resume")
        pane.wait_for(r"1\. cli:default · just now · Which pin\?(.|\n)*^>$")
        pane.say("1")
        pane.wait_for(r"We go on with cli:default\.(.|\n)*I said last: Pin 4 it is\.(.|\n)*^>$")
        pane.say("/export talk.md")
        pane.wait_for(r"Written: .*talk\.md(.|\n)*^>$")
    assert "Which pin?" in (tmp_path / "talk.md").read_text(encoding="utf-8")


@needs_tmux
def test_the_home_folder_is_not_opened(endpoint: Endpoint, private_home: Path) -> None:
    endpoint()
    with in_folder(private_home, private_home, "--here") as pane:
        pane.wait_for(r"cannot\s+be\s+opened\s+with\s+--here(.|\n)*^\[exit 2\]")
