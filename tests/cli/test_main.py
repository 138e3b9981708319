"""The frame of the command line: options, exit codes, and nothing heavy at the start."""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nanobot import __version__
from nanobot.cli import PIPE_CLOSED, main
from nanobot.errors import ConfigError, StoreError

NANOBOT = [sys.executable, "-m", "nanobot"]
HEAVY = {"asyncio", "msgspec", "yaml", "rich", "prompt_toolkit", "openai", "logging", "urllib.request"}


@pytest.mark.parametrize("argv", [["--help"], ["--version"], []])
def test_start_up_loads_nothing_heavy(argv: list[str]) -> None:
    script = f"import sys; from nanobot.cli import main; main({argv}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stderr.split())


def test_the_bot_loads_no_sdk_before_it_needs_one() -> None:
    script = "import sys, nanobot.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"openai", "aiohttp", "httpx", "telegram", "discord", "git", "rich"} & set(done.stdout.split())


@pytest.mark.parametrize("argv", [["--version"], ["config", "--version"], ["config", "show", "--version"]])
def test_the_version_is_told_wherever_one_asks(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    assert capsys.readouterr().out == f"nanobot {__version__}\n"


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]])
def test_without_a_command_the_help_lists_the_commands(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    said = capsys.readouterr().out
    assert "config" in said
    assert "doctor" in said


def test_a_family_without_a_command_shows_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 0
    assert "usage: nanobot config" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [["chatt"], ["config", "shw"], ["--conf", "x", "doctor"], ["config", "--config"]])
def test_a_mistyped_command_line_is_refused(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert "usage: nanobot" in capsys.readouterr().err


@pytest.mark.parametrize("order", [lambda o, c: [*o, *c], lambda o, c: [*c, *o], lambda o, c: [c[0], *o, c[1]]])
def test_options_may_stand_before_or_after_the_command(
    order: Callable[[list[str], list[str]], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("language: zh\n")
    options = ["--config", str(file), "--workspace", str(tmp_path / "ws")]
    assert main(order(options, ["config", "show"])) == 0
    said = capsys.readouterr().out
    assert "language: zh" in said
    assert f"workspace: {tmp_path / 'ws'}" in said


def test_of_an_option_that_stands_twice_the_later_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", "/a", "config", "path", "--config", "/b"]) == 0
    assert capsys.readouterr().out == "/b\n"


def _with(monkeypatch: pytest.MonkeyPatch, func: Callable[[argparse.Namespace], int]) -> None:
    monkeypatch.setattr("nanobot.cli.config.check", func)
    monkeypatch.setattr(func, "__name__", "check")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigError("the file, line 3: no"), 2, "nanobot: the file, line 3: no\n"),
        (StoreError("the disk is full"), 1, "nanobot: the disk is full\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_expected_error_is_one_sentence_and_an_exit_code(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: argparse.Namespace) -> int:
        raise error

    _with(monkeypatch, fails)
    assert main(["config", "check"]) == code
    assert capsys.readouterr().err == said


def test_a_bug_is_one_sentence_here_and_a_traceback_in_a_private_log(
    private_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: argparse.Namespace) -> int:
        raise ZeroDivisionError("by zero")

    _with(monkeypatch, fails)
    assert main(["config", "check"]) == 1
    assert main(["config", "check"]) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.count(f"(ZeroDivisionError); the details are in {private_home / 'nanobot.log'}\n") == 2
    log = private_home / "nanobot.log"
    assert log.read_text().count("ZeroDivisionError: by zero") == 2
    assert (log.stat().st_mode & 0o777, private_home.stat().st_mode & 0o777) == (0o600, 0o700)


def test_no_secret_is_written_down_with_a_bug(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, token = "moonlight-and-roses", "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"
    private_home.mkdir(exist_ok=True)
    (private_home / "config.yaml").write_text(
        f"models: {{mine: {{base_url: 'http://127.0.0.1:9', model: m, api_key: {key}}}}}\n", encoding="utf-8"
    )

    def fail(_: argparse.Namespace) -> int:
        raise RuntimeError(f"http://user:{key}@127.0.0.1/ and https://api.telegram.org/bot{token}/getMe")

    _with(monkeypatch, fail)
    assert main(["config", "check"]) == 1
    logged = (private_home / "nanobot.log").read_text()
    assert "RuntimeError: http://user:" in logged
    assert "getMe" in logged
    assert key not in logged
    assert token not in logged


def test_a_bug_is_told_even_when_it_cannot_be_logged(
    private_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: argparse.Namespace) -> int:
        raise ZeroDivisionError

    private_home.write_text("a file where the folder should be")
    _with(monkeypatch, fails)
    assert main(["config", "check"]) == 1
    assert "could not be logged" in capsys.readouterr().err


def test_a_user_without_a_home_is_told_to_set_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NANOBOT_HOME", "~nobody-of-that-name/bot")
    assert main(["config", "check"]) == 2
    assert "that home folder is unknown; set NANOBOT_HOME" in capsys.readouterr().err


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_who_has_had_enough_is_no_error(unbuffered: str) -> None:
    read, write = os.pipe()
    os.close(read)
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run([*NANOBOT, "config", "schema"], stdout=write, stderr=subprocess.PIPE, env=env, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (PIPE_CLOSED, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_without_room_is_one_sentence(unbuffered: str) -> None:
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*NANOBOT, "config", "schema"], stdout=full, stderr=subprocess.PIPE, env=env, check=False)
    assert done.stderr == b"nanobot: standard output cannot be written: No space left on device\n"
    assert done.returncode == 1


@pytest.mark.parametrize("argv", ["config schema", "sessions list", "chat -m hi"])
def test_closed_output_is_one_sentence(argv: str) -> None:
    command = f"{shlex.join(NANOBOT)} {argv} >&-"
    done = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"nanobot: standard output cannot be written: it is closed\n")


def test_a_console_that_cannot_show_a_character_shows_the_rest(private_home: Path) -> None:
    private_home.mkdir()
    (private_home / "config.yaml").write_text("plugins: {a: 你好 🙂 ok}\n", encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run([*NANOBOT, "config", "show"], capture_output=True, env=env, check=True)
    assert b"?? ? ok" in done.stdout


def test_a_command_works_from_a_folder_that_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    script = "import os, sys; os.rmdir(os.getcwd()); from nanobot.cli import main; sys.exit(main(['config', 'check']))"
    done = subprocess.run([sys.executable, "-P", "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
