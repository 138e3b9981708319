"""Log context: the message or job at work, for each log line; and the destination of these lines."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[tuple[str, ...]] = ContextVar("nanobot_trace", default=())


@contextmanager
def log_context(*what: str) -> Iterator[None]:
    """While this lasts, log lines of this task, of its children and of its threads carry these words.

    They are names and ids ("telegram:12345", "turn 01JDX…"), never what somebody said.
    """
    token = _current.set((*_current.get(), *what))
    try:
        yield
    finally:
        _current.reset(token)


def trace() -> str:
    """The words that a log line carries at the moment, "" outside of any work."""
    return " ".join(_current.get())


def log_file() -> str:
    """The path of the log, "nanobot.log" if nothing is logged to a file."""
    handlers = [one for one in logging.getLogger().handlers if isinstance(one, logging.FileHandler)]
    return next((one.baseFilename for one in handlers if one.baseFilename != os.devnull), "nanobot.log")
