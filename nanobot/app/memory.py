"""Sessions and memory, wired as configured: episodes, Dream, recall, history, jobs."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from threading import Lock
from zoneinfo import ZoneInfo

from nanobot.app.context import AppContext, build_models, replay_bytes
from nanobot.commands.history import HistoryCommands, HistoryState, IsDreaming, history_commands
from nanobot.commands.history_words import told
from nanobot.commands.memory import MemoryView
from nanobot.commands.memory_shell import MemoryShell
from nanobot.config import Config
from nanobot.core.agent import Models
from nanobot.core.archive import EpisodeContext, WindowArchive
from nanobot.core.commands import Command
from nanobot.core.lanes import BackgroundSlot, Lanes
from nanobot.errors import StoreError, ToolError, VersionError
from nanobot.memory.changes import VersionedWriter
from nanobot.memory.dream.dream import JOB, Changed, Dream, DreamModelSlot, DreamTriggers
from nanobot.memory.dream.input import DreamStores
from nanobot.memory.dream.operations import DreamLimits
from nanobot.memory.episodes.archivist import Archivist, Summariser
from nanobot.memory.episodes.consolidator import Consolidator
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.memory.episodes.retries import SummaryRetries
from nanobot.memory.history import Revert, Timeline
from nanobot.memory.proposals import Proposals, WorkspaceFiles
from nanobot.memory.provenance import MessageLookup, Provenance
from nanobot.memory.recall.index.indexer import open_recall
from nanobot.memory.recall.index.vectors import embedder_named
from nanobot.memory.recall.injection import Chooser, RecallInjector
from nanobot.memory.recall.service import RecallService, written_reader
from nanobot.memory.scopes import MemoryRegistry
from nanobot.memory.versions.store import GitVersions, VersionsBeside
from nanobot.nlp.words import words_of
from nanobot.ports import (
    LLM,
    Clock,
    Cron,
    Documents,
    DreamBook,
    Edit,
    Episodes,
    Every,
    Schedule,
    SessionStore,
    VersionStore,
    When,
)
from nanobot.schedule.scheduler import Scheduler
from nanobot.sessions.store import SessionManager
from nanobot.store.documents import CachedDocuments, MemoryBeside, MemoryFolder, read_frontmatter
from nanobot.store.state import DreamFiles, JobTimesFile, ProposalsFile
from nanobot.tokens import TokenEstimator
from nanobot.tools.paths import Disk, Sandbox, ToolPath
from nanobot.workspace import Workspace, scope_of

# Episodes.


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
) -> WindowArchive:
    """Windows that move, and what becomes of what leaves them."""
    background = BackgroundSlot(clock)
    consolidator = Consolidator(
        sessions,
        episodes,
        build_archivist(config, clock, models),
        background,
        SummaryRetries(clock, book),
        rest=config.memory.archive_after,
        is_busy=lanes.is_busy,
    )
    first = config.memory.strategy == "summary"
    return WindowArchive(consolidator, EpisodeContext(episodes), background, clock, summary_first=first)


# Dream.


def build_dream_model(
    config: Config, models: Models, background: BackgroundSlot, next_at: Callable[[], datetime | None]
) -> DreamModelSlot:
    """The model of the preset for dreams, or else the top-level one; it is asked in the background's slot."""
    name = config.memory.dream.model

    def model() -> tuple[LLM, TokenEstimator]:
        return models.named(name) if name else models.get("")

    return DreamModelSlot(model, background.slot, next_at)


def build_dream(
    config: Config,
    clock: Clock,
    dream_model: DreamModelSlot,
    stores: DreamStores,
    shelves: MemoryRegistry,
    changed: Changed,
) -> Dream:
    """`changed` is awaited after each of its versions."""
    keys = config.memory.dream
    limits = DreamLimits(
        steps=keys.max_steps,
        tokens=keys.max_tokens,
        runs_per_day=keys.runs_per_day,
        max_notes=keys.max_notes,
        max_removed=keys.max_removed,
    )
    return Dream(stores, shelves, dream_model, clock, limits, changed)


def when_to_dream(config: Config) -> When | None:
    """Return the schedule of Dream; None if it runs only when it is asked for."""
    keys = config.memory.dream
    if keys.cron:
        return Cron(keys.cron)
    return Every(keys.every) if keys.every else None


# Recall.


def build_memories(config: Config, workspace: Workspace, clock: Clock) -> RecallService:
    """The search index; nothing is opened before it runs. Raises ConfigError for a model that is not there."""
    read_written = written_reader(read_frontmatter)
    return RecallService(
        partial(open_recall, workspace, words_of, read_written, embedder_named(config.memory.semantic)), clock
    )


def build_reminders(
    config: Config, clock: Clock, memories: RecallService, shelves: MemoryRegistry, models: Models
) -> RecallInjector | None:
    """Return the component that adds memories to a message; None if none are to be added."""
    if config.memory.selection == "off":
        return None
    chooser = Chooser(shelves, lambda session: models.get(session)[0]) if config.memory.selection == "llm" else None
    return RecallInjector(memories, clock, chooser)


# Scheduled jobs.


LOOK_FOR_RESTED = 60.0
"""Seconds between two looks for conversations that have rested long enough."""


def build_schedule(config: Config, workspace: Workspace, clock: Clock, archive: WindowArchive) -> Scheduler:
    """The schedule with the job that archives what rests. Dream comes behind it in the background's queue."""
    zone = ZoneInfo(config.timezone) if config.timezone else None
    schedule = Scheduler(JobTimesFile(workspace.job_times), clock, zone)

    async def look_for_rested() -> None:
        archive.begin()

    schedule.add("archive", Every(LOOK_FOR_RESTED), look_for_rested)
    return schedule


# Memory and its versions; none of it asks a model.


@dataclass(frozen=True, slots=True)
class MemoryServices:
    """The parts. `files` is held by whoever replaces a file that the tools, the history and the index all write;
    `waiting` is where the proposals are.
    """

    workspace: Workspace
    files: Lock
    versions: VersionStore
    writer: VersionedWriter
    shelves: MemoryRegistry
    proposals: Proposals
    waiting: ProposalsFile
    history: HistoryCommands
    state: HistoryState

    @property
    def commands(self) -> Sequence[Command]:
        """The slash commands about the history."""
        return history_commands(self.history, told)

    def shell(self, view: MemoryView) -> MemoryShell:
        """Return the actions of `nanobot memory`; `view` shows the files."""
        return MemoryShell(self.history, view, partial(asyncio.to_thread, _scopes, self.workspace))


@dataclass(frozen=True, slots=True)
class Records:
    """Conversations and their summaries."""

    sessions: SessionStore
    episodes: Episodes
    is_beside: bool = False
    """Whether another process writes all this, and it is only read here."""


def build_memory(
    config: Config,
    workspace: Workspace,
    clock: Clock,
    documents: Documents,
    records: Records,
    is_dreaming: IsDreaming,
    archive: WindowArchive,
) -> MemoryServices:
    """`is_dreaming`: whether memory is being changed from past conversations now."""
    files, erasure_lock = Lock(), archive.consolidator.erasure_lock
    kept, opened = (VersionsBeside, MemoryBeside) if records.is_beside else (GitVersions, MemoryFolder)
    versions = kept(workspace, clock, files)
    writer = VersionedWriter(versions, records.sessions, archive.episode_context.origin)
    shelves = MemoryRegistry(
        workspace,
        lambda path: opened(path, documents, files),
        read_frontmatter,
        clock,
        budget=config.memory.budget.memory,
        writer=writer,
    )
    waiting = ProposalsFile(workspace.proposals)
    proposals = Proposals(waiting, writer, workspace_files(workspace, files), shelves, clock, erasure_lock)
    timeline = Timeline(versions)
    history = HistoryCommands(
        timeline,
        Provenance(versions, MessageLookup(records.episodes, records.sessions)),
        Revert(versions, timeline, writer, shelves, clock, erasure_lock),
        is_dreaming,
    )
    return MemoryServices(
        workspace, files, versions, writer, shelves, proposals, waiting, history, HistoryState(versions)
    )


def workspace_files(workspace: Workspace, lock: Lock) -> WorkspaceFiles:
    """Any file of the workspace, as the tools read and replace them: no link is followed."""
    disk = Disk(Sandbox(workspace), lock)

    def place(path: str) -> ToolPath:
        return ToolPath(disk.sandbox.root, PurePosixPath(path), in_workspace=True)

    def read(path: str) -> bytes | None:
        try:
            return disk.read_if_any(place(path))
        except ToolError as error:
            raise StoreError(str(error)) from error

    def replace(path: str, edit: Edit) -> None:
        try:
            if read(path) != edit.before:
                raise VersionError("conflict", f"changed meanwhile: {path}", paths=[path])
            if edit.after is None:
                disk.remove(place(path))
            else:
                disk.replace(place(path), edit.before, edit.after)
        except ToolError as error:
            raise StoreError(str(error)) from error

    return WorkspaceFiles(read, replace)


def _scopes(workspace: Workspace) -> Collection[str]:
    """The names of those who have a memory here."""
    folders = (folder for kind in ("people", "groups") for folder in (workspace.root / kind).glob("*"))
    inside = (PurePosixPath(folder.relative_to(workspace.root)) for folder in folders if folder.is_dir())
    return {"owner", *map(scope_of, inside)}


# All that lies below the agent.


@dataclass(frozen=True, slots=True)
class ConversationServices:
    """The parts; `models` are here since they summarise and dream, `lanes` since these give way to who talks."""

    lanes: Lanes
    models: Models
    sessions: SessionManager
    episodes: EpisodeStore
    documents: Documents
    memories: RecallService
    archive: WindowArchive
    memory: MemoryServices
    dream: Dream
    dream_triggers: DreamTriggers
    schedule: Schedule


def build_keep(ground: AppContext) -> ConversationServices:
    """Wire them; nothing is opened before it is used. Raises ConfigError."""
    config, workspace, clock = ground.config, ground.workspace, ground.clock
    lanes = Lanes(parallel=config.agent.parallel_sessions)
    models = build_models(config, ground.home, workspace, clock)
    memories = build_memories(config, workspace, clock)
    fsync = config.sessions.fsync
    sessions = SessionManager(workspace, fsync=fsync, replay_bytes=replay_bytes(config), on_append=memories.appended)
    episodes, book = EpisodeStore(workspace, fsync=fsync), DreamFiles(workspace)
    archive = build_archive(config, clock, models, sessions, episodes, book, lanes)
    documents = CachedDocuments()

    async def is_dreaming() -> bool:
        return dream.is_running

    background, schedule = archive.background, build_schedule(config, workspace, clock, archive)
    records = Records(sessions, episodes, ground.is_beside)
    memory = build_memory(config, workspace, clock, documents, records, is_dreaming, archive)
    dream_model = build_dream_model(config, models, background, partial(schedule.next, JOB))
    stores = DreamStores(episodes, sessions, memory.versions, book, memory.proposals)
    dream = build_dream(config, clock, dream_model, stores, memory.shelves, memories.refresh)
    triggers = DreamTriggers(dream, when_to_dream(config), schedule, background.start, background.rested)
    return ConversationServices(
        lanes, models, sessions, episodes, documents, memories, archive, memory, dream, triggers, schedule
    )
