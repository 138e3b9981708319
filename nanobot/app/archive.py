"""What becomes of conversations, wired as configured."""

from nanobot.agent.archive import Archive
from nanobot.agent.background import Background
from nanobot.agent.models import Models
from nanobot.agent.recollection import Recollection
from nanobot.config import Config
from nanobot.lanes import Lanes
from nanobot.memory.archivist import Archivist
from nanobot.memory.consolidator import Consolidator
from nanobot.memory.setbacks import Setbacks
from nanobot.memory.summariser import Summariser
from nanobot.ports import LLM, Clock, DreamBook, Episodes, SessionStore
from nanobot.tokens import TokenEstimator


def build_archivist(config: Config, clock: Clock, models: Models) -> Archivist:
    """The preset that dreams also summarises; without one, each session's own does."""
    preset = config.memory.dream.model

    def model_of(session: str) -> tuple[LLM, TokenEstimator]:
        return models.named(preset) if preset else models.get(session)

    return Archivist(Summariser(model_of), clock)


def build_archive(
    config: Config,
    clock: Clock,
    models: Models,
    sessions: SessionStore,
    episodes: Episodes,
    book: DreamBook,
    lanes: Lanes,
) -> Archive:
    """Windows that move, and what becomes of what leaves them."""
    background = Background(clock)
    consolidator = Consolidator(
        sessions,
        episodes,
        build_archivist(config, clock, models),
        background,
        Setbacks(clock, book),
        rest=config.memory.archive_after,
        is_busy=lanes.is_busy,
    )
    first = config.memory.strategy == "summary"
    return Archive(consolidator, Recollection(episodes), background, clock, summary_first=first)
