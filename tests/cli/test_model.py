"""`nanobot model` as a person types it, against a server on loopback."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nanobot.cli import main
from tests.fakes.file_server import FileServer
from tests.fakes.weights import engine_module, gguf

MODEL = gguf(500_000)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer(MODEL) as running:
        yield running


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", engine_module())


def in_list(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The line of `nanobot model list` about this model."""
    capsys.readouterr()
    assert main(["model", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return next((line for line in lines if name in line.split()), "")


def test_at_first_there_is_the_embedded_model_and_what_can_be_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    assert in_list("embedded", capsys).startswith("*")
    main(["model", "list"])
    assert "qwen2.5-1.5b" in capsys.readouterr().out


def test_a_pulled_model_answers_from_then_on(
    server: FileServer, private_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", "pull", server.url(), "--yes"]) == 0
    out, err = capsys.readouterr()
    assert "fine-1b answers from now on." in out
    assert f"There was no checksum to compare with. Its SHA-256 is {server.sha256}" in out
    assert "of 500 kB" in err
    assert (private_home / "models" / "fine-1b.gguf").read_bytes() == MODEL
    assert in_list("fine-1b", capsys).startswith("*")
    assert main(["model", "use", "embedded"]) == 0
    assert in_list("embedded", capsys).startswith("*")
    assert main(["model", "pull", server.url(), "--yes"]) == 0  # there already
    assert in_list("fine-1b", capsys).startswith("*")
    assert len(server.asked) == 2


def test_a_pulled_model_that_cannot_be_loaded_does_not_answer(
    server: FileServer, private_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", engine_module(refuses=True))
    assert main(["model", "pull", server.url(), "--yes"]) == 1
    out, err = capsys.readouterr()
    assert "answers from now on" not in out
    assert "architecture: llama" in err
    assert "still does" in err
    assert in_list("embedded", capsys).startswith("*")
    assert in_list("fine-1b", capsys)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert main(["model", "pull", server.url(), "--yes"]) == 1
    assert "The engine for local models is not installed" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "xllamacpp", engine_module())
    assert main(["model", "pull", server.url(), "--yes"]) == 0
    assert in_list("fine-1b", capsys).startswith("*")


def test_the_checksum_that_is_given_must_hold(server: FileServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "pull", server.url(), "--yes", "--sha256", "0" * 64]) == 1
    assert "not what was announced" in capsys.readouterr().err
    assert in_list("fine-1b", capsys) == ""
    assert main(["model", "pull", server.url(), "--yes", "--sha256", server.sha256.upper()]) == 0
    assert "as announced" in capsys.readouterr().out
    assert main(["model", "pull", server.url(), "--sha256", "abc"]) == 2


def test_nothing_is_fetched_without_a_yes(
    server: FileServer, private_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", "pull", server.url()]) == 1
    assert "--yes" in capsys.readouterr().err
    asked: list[str] = []

    def no(question: str) -> str:
        asked.append(question)
        return "n"

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", no)
    assert main(["model", "pull", server.url()]) == 1
    assert asked == [f"Fetch fine-1b (500 kB) to {private_home / 'models' / 'fine-1b.gguf'}? [y/N] "]
    assert not (private_home / "models").exists()


def test_a_name_of_ones_own(server: FileServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "pull", server.url("download"), "--yes"]) == 1
    assert "--as NAME" in capsys.readouterr().err
    for name in ("../up", "embedded", ""):
        assert main(["model", "pull", server.url("download"), "--yes", "--as", name]) == 1
    assert main(["model", "pull", server.url("download"), "--yes", "--as", "mine"]) == 0
    assert in_list("mine", capsys).startswith("*")


@pytest.mark.parametrize(("command", "words"), [(["pull", "nonsense"], "qwen2.5-1.5b"), (["use", "gone"], "embedded")])
def test_an_unknown_name_is_answered_with_the_known_ones(
    command: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", *command]) == 1
    assert words in capsys.readouterr().err


def test_the_configuration_has_the_last_word_and_is_not_touched(
    server: FileServer, private_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = "model: big\nmodels:\n  big:\n    base_url: http://127.0.0.1:1/v1\n    model: big-model\n"
    private_home.mkdir()
    (private_home / "config.yaml").write_text(written)
    assert main(["model", "pull", server.url(), "--yes"]) == 1
    assert "write `model: fine-1b`" in capsys.readouterr().out
    assert in_list("big", capsys).startswith("*")
    assert in_list("fine-1b", capsys).startswith(" ")
    assert (private_home / "config.yaml").read_text() == written


def test_ctrl_c_says_that_what_came_is_kept(server: FileServer, private_home: Path) -> None:
    server.content = b"GGUF" + bytes(300_000_000)
    command = [sys.executable, "-m", "nanobot", "model", "pull", server.url(), "--yes"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        process.stderr.readline()  # the first tenth is there
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "What came is kept" in err
    assert "Traceback" not in err
    assert (private_home / "models" / "fine-1b.gguf.part").stat().st_size > 0


def test_a_folder_or_pipe_where_the_choice_is_kept_is_a_sentence_and_no_choice(
    private_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = private_home / "chosen_model"
    place.mkdir(parents=True)
    assert main(["model", "use", "embedded"]) == 1
    assert f"{place} cannot be written" in capsys.readouterr().err
    assert list(private_home.iterdir()) == [place]
    assert in_list("embedded", capsys).startswith("*")
    place.rmdir()
    os.mkfifo(place)
    assert in_list("embedded", capsys).startswith("*")
