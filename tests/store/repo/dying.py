"""A process that works on a history and kills itself at one of the steps that its log tells of."""

import asyncio
import logging
import os
import signal
from pathlib import Path
from typing import Literal

from tests.fakes.forks import FORKS
from tests.store.repo.desk import MEMORY, Desk

Deed = Literal["base", "hand", "change", "purge"]

AFTER = {
    MEMORY: b"# Memory\n\n- one\n- changed\n",
    "memory/new.md": b"new\n",
    "people/t-1/USER.md": b"- a\n",
    "USER.md": None,
}


async def die(root: Path, deed: Deed, step: int) -> bool:
    """Do it, and be killed at the step of this number; False if there are not so many."""
    process = FORKS.Process(target=_live, args=(root, deed, step))
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


def _live(root: Path, deed: Deed, step: int) -> None:
    logger = logging.getLogger("nanobot.store.repo")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(_Reaper(step))
    asyncio.run(_do(Desk(root), deed))


async def _do(desk: Desk, deed: Deed) -> None:
    if deed in ("base", "hand"):
        await desk.store.ensure()
    elif deed == "change":
        await desk.change(AFTER, "dreamt", "dream")
    else:
        await desk.store.purge(lambda _, data: data.replace(b"- two\n", b""), lambda message, _: message)
