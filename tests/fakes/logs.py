"""Logging, which is the same for all that runs in a process."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def logging_as_before() -> Iterator[None]:
    """Afterwards everything is logged where, and as far as, it was before."""
    root, ours = logging.getLogger(), logging.getLogger("nanobot")
    handlers, levels = {root: root.handlers[:], ours: ours.handlers[:]}, (root.level, ours.level)
    yield
    for logger, before in handlers.items():
        for handler in set(logger.handlers) - set(before):
            logger.removeHandler(handler)
            handler.close()
        for handler in before:
            logger.addHandler(handler)
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
