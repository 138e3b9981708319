"""Dream, wired as configured."""

from collections.abc import Callable
from datetime import datetime

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


def build_mind(config: Config, models: Models, background: Background, next_at: Callable[[], datetime | None]) -> Mind:
    """The model of the preset for dreams, or else the top-level one; it is asked in the background's slot."""
    name = config.memory.dream.model

    def model() -> tuple[LLM, TokenEstimator]:
        return models.named(name) if name else models.get("")

    return Mind(model, background.slot, next_at)


def build_dream(config: Config, clock: Clock, mind: Mind, stores: Stores, shelves: Shelves, changed: Changed) -> Dream:
    """`changed` is awaited after each of its versions."""
    keys = config.memory.dream
    limits = Limits(
        steps=keys.max_steps,
        tokens=keys.max_tokens,
        runs_per_day=keys.runs_per_day,
        max_notes=keys.max_notes,
        max_removed=keys.max_removed,
    )
    return Dream(stores, shelves, mind, clock, limits, changed)


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
