"""What stands in the log, and what never does."""

import json
import logging
import os
from pathlib import Path
from typing import Literal

import pytest

from nanobot.app.context import open_log
from nanobot.config import load
from nanobot.ops import logs
from nanobot.ops.logs import MOST, Mask, hide_on_stderr, log_to
from nanobot.trace import log_context
from nanobot.workspace import Home
from tests.fakes.logs import logging_as_before

TOKEN = '123456:AA"quoted"/token'


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_secret_is_hidden_wherever_a_line_got_it_from(tmp_path: Path, form: Literal["text", "json"]) -> None:
    log_to(tmp_path / "log", "debug", form, Mask([TOKEN, "hunter2-hunter2"]))
    error = ValueError(f"could not reach https://api.example.com/bot{TOKEN}/getMe")
    logging.getLogger("nanobot.test").error("with %s and %r", TOKEN, {"password": "hunter2-hunter2"}, exc_info=error)
    logging.getLogger("telegram").warning("quoted as https://example.com/?token=123456%3AAA%22quoted%22%2Ftoken")

    written = (tmp_path / "log").read_text()
    assert "could not reach https://api.example.com/bot" in written
    assert "********" in written
    assert not [secret for secret in ("quoted%22", '"quoted"', "hunter2") if secret in written]


def test_what_libraries_tell_of_their_requests_is_not_logged(tmp_path: Path) -> None:
    log_to(tmp_path / "log", "debug", "text", str)
    logging.getLogger("httpx").info("HTTP Request: POST https://api.example.com/bot1:secret/getUpdates")
    logging.getLogger("discord.gateway").info("what somebody said")
    logging.getLogger("nanobot.test").debug("ours")

    written = (tmp_path / "log").read_text()
    assert "ours" in written
    assert "getUpdates" not in written
    assert "somebody" not in written


def test_a_line_says_what_it_is_about(tmp_path: Path) -> None:
    log_to(tmp_path / "log", "info", "json", str)
    log = logging.getLogger("nanobot.test")
    with log_context("telegram:12345:77"):
        with log_context("turn 01JDX"):
            log.info("inside")
        log.info("outside")
    log.info("elsewhere")

    rows = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [row.get("about") for row in rows] == ["telegram:12345:77 turn 01JDX", "telegram:12345:77", None]


def test_a_new_file_begins_as_private_as_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "SIZE", 200)
    path, before = tmp_path / "nanobot.log", os.umask(0)
    try:
        log_to(path, "info", "text", str)
        for number in range(9):
            logging.getLogger("nanobot.x").info("line %d of those that fill the file", number)
    finally:
        os.umask(before)

    assert sorted(file.name for file in tmp_path.iterdir()) == ["nanobot.log", "nanobot.log.1"]
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("form", ["text", "json"])
def test_every_process_hides_what_looks_like_a_secret_also_of_libraries_and_tracebacks(
    tmp_path: Path, form: Literal["text", "json"]
) -> None:
    home = Home(tmp_path)
    home.config.write_text(f"language: en\nlog:\n  format: {form}\n", encoding="utf-8")
    github, key = f"ghp_{'a1B2' * 9}", f"sk-proj-{'Zz9' * 14}"
    with logging_as_before():
        open_log(load(home, env={}), home)
        error = ValueError(f"refused: the wifi password is Koala-77!, {github}")
        logging.getLogger("aiohttp.access").error("GET /hooks?api_key=%s", key, exc_info=error)
        logging.getLogger("nanobot.x").warning("told: %s", {"token": f"xoxb-{'1' * 12}-{'2' * 12}-{'aB3' * 8}"})
        logging.getLogger("telegram.ext").error("POST https://api.telegram.org/bot123456789:AA%s/x", "b" * 33)
        logging.getLogger("discord").error("as it stands", stack_info=True)

    written = home.log.read_text(encoding="utf-8")
    assert [secret for secret in (github, key, "Koala-77", "xoxb-1", "b" * 33) if secret in written] == []
    assert [word for word in ("ValueError: refused:", "GET /hooks?", "told:", "Stack") if word not in written] == []


def test_a_line_without_end_is_cut_and_half_a_secret_at_the_cut_goes(tmp_path: Path) -> None:
    key = f"sk-proj-{'Zz9' * 14}"
    log_to(tmp_path / "log", "info", "text", Mask([key]))
    words = "x" * (MOST - 20) + key + " and so on" * 9_000
    logging.getLogger("nanobot.x").error(words, exc_info=ValueError(words[:500] + words))

    written = (tmp_path / "log").read_text(encoding="utf-8")
    assert "sk-proj" not in written
    assert len(written) < 3 * MOST
    assert "[…]" in written


def test_a_line_that_cannot_be_written_is_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log_to(tmp_path / "log", "info", "text", str)
    logging.getLogger("nanobot.x").error("no %d", "number, but my words")

    printed = capsys.readouterr().err
    assert printed == "nanobot: a line of nanobot.x could not be logged: TypeError\n"


def test_what_is_logged_without_a_log_is_printed_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    hide_on_stderr(Mask(["hunter2-hunter2"]))
    with logging_as_before():
        logging.getLogger().handlers.clear()
        logging.getLogger("nanobot.x").warning("with hunter2-hunter2")

    assert capsys.readouterr().err == "nanobot: with ********\n"
