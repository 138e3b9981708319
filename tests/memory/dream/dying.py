"""A process that dreams and kills itself at one of the steps that its log tells of."""

import asyncio
import logging
import os
import signal
from pathlib import Path

from tests.fakes.dreamers import keen
from tests.fakes.forks import FORKS
from tests.memory.dream.bedroom import Bedroom


async def die(root: Path, step: int) -> bool:
    """Dream there, and be killed at the step of this number; False if there are not so many."""
    process = FORKS.Process(target=_live, args=(root, step))
    process.start()
    await asyncio.to_thread(process.join)
    code = process.exitcode
    process.close()
    assert code in (0, -signal.SIGKILL)
    return code != 0


class _Reaper(logging.Handler):
    def __init__(self, step: int) -> None:
        super().__init__()
        self._left = step

    def emit(self, record: logging.LogRecord) -> None:
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


def _live(root: Path, step: int) -> None:
    reaper = _Reaper(step)
    for name in ("nanobot.memory.dream", "nanobot.store.repo"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        logger.addHandler(reaper)
    asyncio.run(Bedroom(root, git=True).sleep(keen))
