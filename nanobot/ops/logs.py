"""Where the log goes: a private file in the home, never the terminal."""

import json
import logging
import os
from collections.abc import Collection
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from nanobot.errors import WorkspaceError
from nanobot.trace import trace
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER

SIZE = 2 * 1024 * 1024
"""Bytes after which a new file begins; one old file is kept."""

MASK = "********"

_TALKATIVE = ("httpx", "httpcore", "telegram", "discord", "aiohttp", "openai")
"""Libraries that write addresses with tokens in them, or what people say, into their logs."""


def log_to(path: Path, level: str, form: Literal["text", "json"], secrets: Collection[str] = ()) -> None:
    """Send the log to a file, as lines for people or as one JSON object a line. Raises WorkspaceError.

    None of the secrets appears in it, wherever a line got it from, and each line names the conversation
    and the turn that it is about (`nanobot.trace`).
    """
    try:
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        path.touch(mode=PRIVATE_FILE)
    except OSError as error:
        raise WorkspaceError(
            f"The home {path.parent} cannot be written: {error.strerror or error}. Make it a folder of your own, "
            "or set NANOBOT_HOME to another one."
        ) from error
    handler = _PrivateFile(path, maxBytes=SIZE, backupCount=1, encoding="utf-8", delay=True)
    lines = _Json() if form == "json" else _Text("%(asctime)s %(levelname)s %(name)s%(trace)s %(message)s")
    handler.setFormatter(_Masked(lines, secrets))
    handler.addFilter(_traced)
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)  # of libraries only what is wrong
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("nanobot").setLevel(level.upper())


def _traced(record: logging.LogRecord) -> bool:
    record.trace = trace()
    return True


class _PrivateFile(RotatingFileHandler):
    """A log file that nobody else may read, also when a new one begins."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        return TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding, errors=self.errors)


class _Text(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        words: str = record.__dict__["trace"]
        record.__dict__["trace"] = f" [{words}]" if words else ""
        return super().formatMessage(record)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        row = {
            "at": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if words := record.__dict__["trace"]:
            row["about"] = words
        if record.exc_info:
            row["traceback"] = self.formatException(record.exc_info)
        return json.dumps(row, ensure_ascii=False)


class Mask:
    """Takes secrets out of texts, also as they stand in addresses and in JSON."""

    def __init__(self, secrets: Collection[str]) -> None:
        forms = {form for secret in secrets for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1])}
        self._secrets = sorted(forms, key=len, reverse=True)  # one may be a part of another

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text


class _Masked(logging.Formatter):
    """Another formatter's lines, tracebacks included, with every secret taken out."""

    def __init__(self, lines: logging.Formatter, secrets: Collection[str]) -> None:
        super().__init__()
        self._lines = lines
        self._mask = Mask(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return self._mask(self._lines.format(record))
