"""What the bot does by itself, wired as configured."""

from functools import partial
from zoneinfo import ZoneInfo

from nanobot.agent.archive import Archive
from nanobot.app.dream import DREAM, dream_later, when_to_dream
from nanobot.config import Config
from nanobot.memory.dream.dream import Dream
from nanobot.ports import Clock, Every
from nanobot.schedule.scheduler import Scheduler
from nanobot.store.job_times import JobTimesFile
from nanobot.workspace import Workspace

LOOK_FOR_RESTED = 60.0
"""Seconds between two looks for conversations that have rested long enough."""


def build_schedule(config: Config, workspace: Workspace, clock: Clock, archive: Archive, dream: Dream) -> Scheduler:
    """Archiving what rests, and Dream. Both run in the background's queue: what is archived first is dreamt of."""
    zone = ZoneInfo(config.timezone) if config.timezone else None
    schedule = Scheduler(JobTimesFile(workspace.job_times), clock, zone)

    async def look_for_rested() -> None:
        archive.begin()

    schedule.add("archive", Every(LOOK_FOR_RESTED), look_for_rested)
    if when := when_to_dream(config):
        schedule.add(DREAM, when, partial(dream_later, dream, archive.background))
    return schedule
