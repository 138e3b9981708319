"""A process that takes a change back and kills itself at one of the steps that the history's log tells of."""

import asyncio
from pathlib import Path

from tests.commands.historian import Historian
from tests.fakes.forks import die_at, is_killed
from tests.memory.dream.bedroom import Bedroom


async def die(root: Path, command: str, step: int) -> bool:
    """Type the command there, and be killed at the step of this number; False if there are not so many."""
    return await is_killed(_live, root, command, step)


def _live(root: Path, command: str, step: int) -> None:
    die_at(step, "nanobot.memory.versions")
    asyncio.run(Historian(Bedroom(root, git=True)).types(command))
