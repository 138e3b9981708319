"""Dream, wired as configured."""

from nanobot.agent.background import Background
from nanobot.agent.models import Models
from nanobot.app.memory import Records, Remembered
from nanobot.config import Config
from nanobot.memory.dream.batch import Stores
from nanobot.memory.dream.dream import Dream, Mind
from nanobot.memory.dream.limits import Limits
from nanobot.ports import LLM, Clock, Cron, Every, When
from nanobot.store.dreams import DreamFiles
from nanobot.tokens import TokenEstimator
from nanobot.workspace import Workspace


def build_dream(
    config: Config,
    workspace: Workspace,
    clock: Clock,
    models: Models,
    records: Records,
    memory: Remembered,
    background: Background,
) -> Dream:
    """It asks its model in the background's slot."""
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
    stores = Stores(records.episodes, records.sessions, memory.versions, DreamFiles(workspace))
    return Dream(stores, memory.shelves, Mind(model, background.slot), clock, limits)


def when_to_dream(config: Config) -> When | None:
    """When the schedule runs it; None: only when somebody asks."""
    keys = config.memory.dream
    if keys.cron:
        return Cron(keys.cron)
    return Every(keys.every) if keys.every else None
