"""A process that forgets and kills itself at one of the steps that its log tells of."""

import asyncio
from pathlib import Path

from tests.fakes.forks import die_at, is_killed
from tests.forgetting.household import SECRET, Household

LOGS = ("nanobot.forgetting", "nanobot.memory.versions")


async def die(root: Path, step: int) -> bool:
    """Forget there, and be killed at the step of this number; False if there are not so many."""
    return await is_killed(_live, root, step)


def _live(root: Path, step: int) -> None:
    die_at(step, *LOGS)
    asyncio.run(Household(root).forget(SECRET))
