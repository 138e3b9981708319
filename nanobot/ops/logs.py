"""Log file: a private file in the home, never the terminal."""

import copy
import json
import logging
import os
import sys
from collections.abc import Callable, Collection
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


MOST = 16_000
"""Characters of a message, and of a traceback, that are logged."""

_BESIDE_CUT = 2_000  # what is cut off with half a secret at its end, so that none of it stays

Hide = Callable[[str], str]
"""Takes the secrets out of a text."""


def log_to(path: Path, level: str, form: Literal["text", "json"], hide: Hide) -> None:
    """Send the log to a file, as lines for people or as one JSON object a line. Raises WorkspaceError.

    Messages, tracebacks and what libraries log go through `hide`, and each line names the conversation and the turn
    that it is about (`nanobot.trace`).
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
    handler.setFormatter(_Hidden(lines, hide))
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


def hide_on_stderr(hide: Hide) -> None:
    """Keep secrets out of what is logged before `log_to`, or in a process without a log: Python prints it."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Hidden(logging.Formatter("nanobot: %(message)s"), hide))


def _traced(record: logging.LogRecord) -> bool:
    record.trace = trace()
    return True


class _PrivateFile(RotatingFileHandler):
    """A log file that nobody else may read, also when a new one begins."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        return TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding, errors=self.errors)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        """Say that a line could not be logged, but not which: Python would print it, with its arguments."""
        error = sys.exception()
        if sys.stderr and error:
            why = error.strerror if isinstance(error, OSError) else type(error).__name__
            sys.stderr.write(f"nanobot: a line of {record.name} could not be logged: {why}\n")


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
        if record.exc_text:
            row["traceback"] = record.exc_text
        if record.stack_info:
            row["stack"] = record.stack_info
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


class _Hidden(logging.Formatter):
    """Another formatter's lines, tracebacks included, with every secret taken out, and not longer than useful."""

    def __init__(self, lines: logging.Formatter, hide: Hide) -> None:
        super().__init__()
        self._lines = lines
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        masked = copy.copy(record)
        masked.msg, masked.args = self._start(record.getMessage()), None
        text = self.formatException(record.exc_info) if record.exc_info else record.exc_text
        masked.exc_info, masked.exc_text = None, self._ends(text) if text else None
        masked.stack_info = self._ends(record.stack_info) if record.stack_info else None
        return self._lines.format(masked)

    def _start(self, text: str) -> str:
        hidden = self._hide(text[: MOST + _BESIDE_CUT])
        return hidden if len(hidden) <= MOST else f"{hidden[:MOST]} […]"

    def _ends(self, traceback: str) -> str:
        """Return a traceback, of a long one how it begins and ends: what went wrong stands last."""
        if len(traceback) <= MOST:
            return self._hide(traceback)
        half = MOST // 2
        head, tail = self._hide(traceback[: half + _BESIDE_CUT]), self._hide(traceback[-half - _BESIDE_CUT :])
        return f"{head[:half]}\n[…]\n{tail[-half:]}"
