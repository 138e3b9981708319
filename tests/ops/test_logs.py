"""What stands in the log, and what never does."""

import json
import logging
import os
from pathlib import Path
from typing import Literal

import pytest

from nanobot.ops import logs
from nanobot.ops.logs import log_to
from nanobot.trace import at_work_on

TOKEN = '123456:AA"quoted"/token'


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_secret_is_hidden_wherever_a_line_got_it_from(tmp_path: Path, form: Literal["text", "json"]) -> None:
    log_to(tmp_path / "log", "debug", form, [TOKEN, "hunter2-hunter2"])
    error = ValueError(f"could not reach https://api.example.com/bot{TOKEN}/getMe")
    logging.getLogger("nanobot.test").error("with %s and %r", TOKEN, {"password": "hunter2-hunter2"}, exc_info=error)
    logging.getLogger("telegram").warning("quoted as https://example.com/?token=123456%3AAA%22quoted%22%2Ftoken")

    written = (tmp_path / "log").read_text()
    assert "could not reach https://api.example.com/bot" in written
    assert "********" in written
    assert not [secret for secret in ("quoted%22", '"quoted"', "hunter2") if secret in written]


def test_what_libraries_tell_of_their_requests_is_not_logged(tmp_path: Path) -> None:
    log_to(tmp_path / "log", "debug", "text")
    logging.getLogger("httpx").info("HTTP Request: POST https://api.example.com/bot1:secret/getUpdates")
    logging.getLogger("discord.gateway").info("what somebody said")
    logging.getLogger("nanobot.test").debug("ours")

    written = (tmp_path / "log").read_text()
    assert "ours" in written
    assert "getUpdates" not in written
    assert "somebody" not in written


def test_a_line_says_what_it_is_about(tmp_path: Path) -> None:
    log_to(tmp_path / "log", "info", "json")
    log = logging.getLogger("nanobot.test")
    with at_work_on("telegram:12345:77"):
        with at_work_on("turn 01JDX"):
            log.info("inside")
        log.info("outside")
    log.info("elsewhere")

    rows = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [row.get("about") for row in rows] == ["telegram:12345:77 turn 01JDX", "telegram:12345:77", None]


def test_a_new_file_begins_as_private_as_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "SIZE", 200)
    path, before = tmp_path / "nanobot.log", os.umask(0)
    try:
        log_to(path, "info", "text")
        for number in range(9):
            logging.getLogger("nanobot.x").info("line %d of those that fill the file", number)
    finally:
        os.umask(before)

    assert sorted(file.name for file in tmp_path.iterdir()) == ["nanobot.log", "nanobot.log.1"]
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
