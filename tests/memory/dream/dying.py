"""A process that dreams and kills itself at one of the steps that its log tells of."""

import asyncio
from pathlib import Path

from tests.fakes.dreamers import keen
from tests.fakes.forks import die_at, is_killed
from tests.memory.dream.bedroom import Bedroom


async def die(root: Path, step: int) -> bool:
    """Dream there, and be killed at the step of this number; False if there are not so many."""
    return await is_killed(_live, root, step)


def _live(root: Path, step: int) -> None:
    die_at(step, "nanobot.memory.dream", "nanobot.memory.versions")
    asyncio.run(Bedroom(root, git=True).sleep(keen))
