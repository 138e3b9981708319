"""A process that works on a history and kills itself at one of the steps that its log tells of."""

import asyncio
from pathlib import Path
from typing import Literal

from tests.fakes.forks import die_at, is_killed
from tests.memory.versions.desk import MEMORY, Desk

Deed = Literal["base", "hand", "change", "purge"]

AFTER = {
    MEMORY: b"# Memory\n\n- one\n- changed\n",
    "memory/new.md": b"new\n",
    "people/t-1/USER.md": b"- a\n",
    "USER.md": None,
}


async def die(root: Path, deed: Deed, step: int) -> bool:
    """Do it, and be killed at the step of this number; False if there are not so many."""
    return await is_killed(_live, root, deed, step)


def _live(root: Path, deed: Deed, step: int) -> None:
    die_at(step, "nanobot.memory.versions")
    asyncio.run(_do(Desk(root), deed))


async def _do(desk: Desk, deed: Deed) -> None:
    if deed in ("base", "hand"):
        await desk.store.ensure()
    elif deed == "change":
        await desk.change(AFTER, "dreamt", "dream")
    else:
        await desk.store.purge(lambda _, data: data.replace(b"- two\n", b""), lambda message, _: message)
