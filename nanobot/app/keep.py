"""What was said and what is remembered, and what becomes of it by itself: all that lies below the agent."""

from dataclasses import dataclass
from datetime import datetime

from nanobot.agent.archive import Archive
from nanobot.agent.models import Models
from nanobot.app.archive import build_archive
from nanobot.app.dream import DREAM, build_dream, build_mind
from nanobot.app.ground import Ground
from nanobot.app.memory import Records, Remembered, build_memory
from nanobot.app.models import build_models, replay_bytes
from nanobot.app.recall import build_memories
from nanobot.app.schedule import build_schedule
from nanobot.lanes import Lanes
from nanobot.memory.dream.batch import Stores
from nanobot.memory.dream.dream import Dream
from nanobot.memory.recall.memories import Memories
from nanobot.ports import Documents, Schedule
from nanobot.store.documents import CachedDocuments
from nanobot.store.dreams import DreamFiles
from nanobot.store.history import History
from nanobot.store.sessions import SessionManager


@dataclass(frozen=True, slots=True)
class Keep:
    """The parts; `models` are here since they summarise and dream, `lanes` since these give way to who talks."""

    lanes: Lanes
    models: Models
    sessions: SessionManager
    episodes: History
    documents: Documents
    memories: Memories
    archive: Archive
    memory: Remembered
    dream: Dream
    schedule: Schedule

    def next_dream(self, after: datetime | None = None) -> datetime | None:
        """When it dreams by itself; None if it does not."""
        return self.schedule.next(DREAM, after)


def build_keep(ground: Ground) -> Keep:
    """Wire them; nothing is opened before it is used. Raises ConfigError."""
    config, workspace, clock = ground.config, ground.workspace, ground.clock
    lanes = Lanes(parallel=config.agent.parallel_sessions)
    models = build_models(config, ground.home, workspace, clock)
    memories = build_memories(config, workspace, clock)
    fsync = config.sessions.fsync
    sessions = SessionManager(workspace, fsync=fsync, replay_bytes=replay_bytes(config), on_append=memories.appended)
    episodes, book = History(workspace, fsync=fsync), DreamFiles(workspace)
    archive = build_archive(config, clock, models, sessions, episodes, book, lanes)
    documents = CachedDocuments()

    async def is_dreaming() -> bool:
        return dream.is_running

    def next_dream() -> datetime | None:
        return schedule.next(DREAM)

    records = Records(sessions, episodes, ground.is_beside)
    memory = build_memory(config, workspace, clock, documents, records, is_dreaming, archive)
    mind = build_mind(config, models, archive.background, next_dream)
    stores = Stores(episodes, sessions, memory.versions, book, memory.proposals)
    dream = build_dream(config, clock, mind, stores, memory.shelves, memories.refresh)
    schedule = build_schedule(config, workspace, clock, archive, dream)
    return Keep(lanes, models, sessions, episodes, documents, memories, archive, memory, dream, schedule)
