"""Processes that are there to be killed, forked from one that has imported all they need."""

import asyncio
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "openai.resources.chat.completions",
        "nanobot.memory.versions.work",
        "tests.app.proposing",
        "tests.bus.life",
        "tests.commands.dying",
        "tests.crash.driver",
        "tests.memory.dream.dying",
        "tests.forgetting.dying",
        "tests.memory.versions.dying",
    ]
)
"""One list for all tests: whoever sets another one takes this away."""


async def is_killed(live: Callable[..., None], *args: object) -> bool:
    """Run `live` in a process of its own; False if it comes to its end there, True if it kills itself before."""
    process = FORKS.Process(target=live, args=args)
    process.start()
    await asyncio.to_thread(process.join)
    code = process.exitcode
    process.close()
    assert code in (0, -signal.SIGKILL)
    return code != 0


def die_at(step: int, *logs: str) -> None:
    """Have this process kill itself at a step that one of these loggers tells of; steps are counted from 0."""
    reaper = _Reaper(step)
    for name in logs:
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        logger.addHandler(reaper)


class _Reaper(logging.Handler):
    def __init__(self, step: int) -> None:
        super().__init__()
        self._left = step

    def emit(self, record: logging.LogRecord) -> None:
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1
