"""Where the log goes: a private file in the home, never the terminal."""

import json
import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Literal

from nanobot.errors import WorkspaceError
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER

SIZE = 2 * 1024 * 1024
"""Bytes after which a new file begins; one old file is kept."""


def log_to(path: Path, level: str, form: Literal["text", "json"]) -> None:
    """Send the log to a file, as lines for people or as one JSON object a line. Raises WorkspaceError."""
    try:
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        path.touch(mode=PRIVATE_FILE)
    except OSError as error:
        raise WorkspaceError(
            f"The home {path.parent} cannot be written: {error.strerror or error}. Make it a folder of your own, "
            "or set NANOBOT_HOME to another one."
        ) from error
    handler = RotatingFileHandler(path, maxBytes=SIZE, backupCount=1, encoding="utf-8", delay=True)
    lines = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    handler.setFormatter(_Json() if form == "json" else lines)
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)  # of libraries only what is wrong: some log tokens in addresses
    logging.getLogger("nanobot").setLevel(level.upper())


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        row = {
            "at": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            row["traceback"] = self.formatException(record.exc_info)
        return json.dumps(row, ensure_ascii=False)
