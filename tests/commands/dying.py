"""A process that takes a change back and kills itself at one of the steps that the history's log tells of."""

import asyncio
import logging
import os
import signal
from pathlib import Path

from tests.commands.historian import Historian
from tests.fakes.forks import FORKS
from tests.memory.dream.bedroom import Bedroom


async def die(root: Path, command: str, step: int) -> bool:
    """Type the command there, and be killed at the step of this number; False if there are not so many."""
    process = FORKS.Process(target=_live, args=(root, command, step))
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


def _live(root: Path, command: str, step: int) -> None:
    logger = logging.getLogger("nanobot.store.repo")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(_Reaper(step))
    asyncio.run(Historian(Bedroom(root, git=True)).types(command))
