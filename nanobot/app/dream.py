"""Dream, wired as configured."""

from nanobot.agent.background import Background
from nanobot.agent.models import Models
from nanobot.config import Config
from nanobot.memory.dream.batch import Stores
from nanobot.memory.dream.dream import Changed, Dream, Mind
from nanobot.memory.dream.limits import Limits
from nanobot.memory.shelves import Shelves
from nanobot.ports import LLM, Clock, Cron, Every, When
from nanobot.tokens import TokenEstimator

DREAM = "dream"

QUIET = 60.0
"""Seconds without a turn before a model that answers one by one dreams: it then has to read the conversation anew."""


def build_dream(
    config: Config,
    clock: Clock,
    models: Models,
    stores: Stores,
    shelves: Shelves,
    background: Background,
    changed: Changed,
) -> Dream:
    """It asks its model in the background's slot; `changed` is awaited after each of its versions."""
    keys = config.memory.dream

    def model() -> tuple[LLM, TokenEstimator]:
        """The preset for dreams, or else the top-level one."""
        return models.named(keys.model) if keys.model else models.get("")

    limits = Limits(
        steps=keys.max_steps,
        tokens=keys.max_tokens,
        runs_per_day=keys.runs_per_day,
        max_notes=keys.max_notes,
        max_removed=keys.max_removed,
    )
    return Dream(stores, shelves, Mind(model, background.slot), clock, limits, changed)


async def dream_later(dream: Dream, background: Background) -> None:
    """Have a dream by itself begin in the background, when it suits those who talk."""
    if dream.is_one_by_one:
        await background.rested(QUIET)
    background.start(DREAM, dream.run_by_itself)


def when_to_dream(config: Config) -> When | None:
    """When the schedule runs it; None: only when somebody asks."""
    keys = config.memory.dream
    if keys.cron:
        return Cron(keys.cron)
    return Every(keys.every) if keys.every else None
