"""The bot around a bus: everything between what people say and what is answered."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache, partial

from nanobot.agent.agent import Agent, Limits
from nanobot.agent.archive import Archive
from nanobot.agent.context import Budgets, ContextBuilder
from nanobot.agent.conversation import Conversations
from nanobot.agent.languages import Languages
from nanobot.agent.models import Models
from nanobot.agent.patience import PatientBus, Standing
from nanobot.agent.questions import Questions
from nanobot.agent.skills import Skills
from nanobot.app.archive import build_archive, build_archivist
from nanobot.app.dream import DREAM, build_dream, build_mind
from nanobot.app.forgetting import Parts, build_forgetting
from nanobot.app.memory import Records, Remembered, build_memory
from nanobot.app.models import build_models, replay_bytes
from nanobot.app.people import build_people
from nanobot.app.plugins import plugin_tools
from nanobot.app.recall import build_memories, build_reminders
from nanobot.app.schedule import build_schedule
from nanobot.commands.dream import dream_command, dream_lines
from nanobot.commands.forget import Forgetting, forget_command, forget_lines
from nanobot.commands.memory import View, memory_command, remember_command
from nanobot.commands.memory_shell import MemoryShell
from nanobot.commands.model import model_command
from nanobot.commands.recall import recall_command, recall_lines
from nanobot.commands.router import Command, Router
from nanobot.commands.session import (
    Lines,
    all_of,
    compact_command,
    help_command,
    new_command,
    sessions_command,
    status_command,
    stop_command,
)
from nanobot.config import EMBEDDED, Config
from nanobot.dispatcher import Dispatcher
from nanobot.i18n import Language, say
from nanobot.lanes import Lanes
from nanobot.llm.local import is_installed
from nanobot.memory.dream.batch import Stores
from nanobot.memory.dream.dream import Dream
from nanobot.memory.recall.memories import Memories
from nanobot.memory.strategies import STRATEGIES
from nanobot.memory.tool_changes import ToolChanges
from nanobot.messages import Address
from nanobot.people.people import People
from nanobot.people.standing import as_of_now
from nanobot.ports import Bus, Clock, Schedule, Tool
from nanobot.store.documents import CachedDocuments
from nanobot.store.dreams import DreamFiles
from nanobot.store.frontmatter import read_frontmatter
from nanobot.store.history import History
from nanobot.store.sessions import SessionManager
from nanobot.tools.builtin import builtin_tools
from nanobot.tools.recall import Recall
from nanobot.tools.shell import ExecPolicy
from nanobot.tools.writing import Remembering
from nanobot.workspace import Home, Workspace


@dataclass(frozen=True, slots=True)
class Bot:
    """The parts that a program around the bot needs."""

    workspace: Workspace
    agent: Agent
    dispatcher: Dispatcher
    router: Router
    models: Models
    languages: Languages
    archive: Archive
    memory: Remembered
    memories: Memories
    dream: Dream
    shell: MemoryShell
    forgetting: Forgetting
    schedule: Schedule
    about_memory: Lines
    """How what is remembered is doing: its history, Dream."""

    @property
    def commands(self) -> Sequence[Command]:
        """The slash commands, for completion and menus."""
        return self.router.commands

    def language(self, address: Address) -> Language:
        """The language of the bot's own sentences in a conversation."""
        return self.languages.of(address.session_key)

    def is_demo(self, address: Address) -> bool:
        """Whether it is the embedded model that answers, and can."""
        return self.models.name_for(address.session_key) == EMBEDDED and is_installed()

    def greeting(self, address: Address) -> str:
        """Which model one talks to, and how to have a better one."""
        info = self.models.get(address.session_key)[0].info
        if self.is_demo(address):
            return say("chat.demo_model", self.language(address))
        sentence = "model.engine" if info.preset == EMBEDDED else "chat.model"
        return say(sentence, self.language(address), name=info.preset, model=info.model)


@dataclass(frozen=True, slots=True)
class Ground:
    """What the bot stands on."""

    config: Config
    home: Home
    workspace: Workspace
    clock: Clock
    bus: Bus
    people: People | None = None
    """Who may talk, where somebody else asks that, too: the book is written by one."""
    is_beside: bool = False
    """Whether another process has the workspace, and what is remembered is only read."""


def build_bot(
    ground: Ground,
    language: Language,
    commands: Sequence[Command] = (),
    status: Lines | None = None,
) -> Bot:
    """Wire the bot.

    Args:
        ground: what it stands on.
        language: of its own sentences until a person has written something.
        commands: further slash commands.
        status: further lines for /status.
    """
    config, workspace, clock = ground.config, ground.workspace, ground.clock
    lanes = Lanes(parallel=config.agent.parallel_sessions)
    models = build_models(config, ground.home, workspace, clock)
    memories = build_memories(config, workspace, clock)
    store = SessionManager(
        workspace,
        fsync=config.sessions.fsync,
        replay_bytes=replay_bytes(config),
        on_append=memories.appended,
    )
    history = History(workspace, fsync=config.sessions.fsync)
    archive = build_archive(config, clock, models, store, history, lanes)
    documents = CachedDocuments()

    async def is_dreaming() -> bool:
        return dream.is_running

    def next_dream(after: datetime | None = None) -> datetime | None:
        return schedule.next(DREAM, after)

    memory = build_memory(
        config,
        workspace,
        clock,
        documents,
        Records(store, history, ground.is_beside),
        is_dreaming,
        archive.consolidator.passage,
    )
    dream = build_dream(
        config,
        clock,
        build_mind(config, models, archive.background, next_dream),
        Stores(history, store, memory.versions, DreamFiles(workspace)),
        memory.shelves,
        memories.refresh,
    )
    schedule = build_schedule(config, workspace, clock, archive, dream)
    context = ContextBuilder(
        workspace,
        documents,
        memory.shelves,
        Skills(workspace.skills, documents, read_frontmatter),
        Budgets(**asdict(config.memory.budget)),
        clock,
        build_reminders(config, clock, memories, memory.shelves, models),
    )
    conversations = Conversations(store, clock, STRATEGIES[config.memory.strategy])
    questions = Questions(ground.bus, conversations, lanes.aside)
    agent = Agent(
        models,
        [*_tools(ground, questions, memory), Recall(memories)],
        context,
        conversations,
        archive,
        memory.shelves,
        Limits(config.agent.max_steps, config.memory.compact_at),
    )
    forgetting = build_forgetting(
        Parts(
            home=ground.home,
            workspace=workspace,
            clock=clock,
            bus=ground.bus,
            sessions=store,
            episodes=history,
            memory=memory,
            archivist=build_archivist(config, clock, models),
            archive=archive,
            dream=dream,
            lanes=lanes,
            models=models,
            memories=memories,
            people=cache(lambda: ground.people or build_people(config, workspace, clock)),
        )
    )
    about_memory = all_of(
        memory.state,
        forget_lines(forgetting),
        dream_lines(dream, next_dream),
        recall_lines(lambda: memories.trouble),
    )
    view = View(memory.shelves, documents, config.memory.budget.memory, about_memory)
    listed = [
        new_command(agent),
        compact_command(agent),
        stop_command(lanes),
        status_command(agent, models, all_of(about_memory, status)),
        model_command(models),
        sessions_command(store),
        memory_command(view),
        remember_command(memory.shelves),
        recall_command(memories),
        dream_command(dream, ground.bus.send, archive.now),
        forget_command(forgetting, ground.bus.send),
        *memory.commands,
        *commands,
    ]
    router = Router([help_command(listed), *listed])
    languages = Languages(config.language, language)
    dispatcher = Dispatcher(
        PatientBus(ground.bus, clock, _standing(ground)),
        lanes,
        agent,
        router,
        questions,
        languages,
        steer=config.agent.while_busy == "steer",
    )
    return Bot(
        workspace,
        agent,
        dispatcher,
        router,
        models,
        languages,
        archive,
        memory,
        memories,
        dream,
        memory.shell(view),
        forgetting,
        schedule,
        about_memory,
    )


def _standing(ground: Ground) -> Standing:
    """In a gateway messages wait, and people may be shown out meanwhile; elsewhere who can run the program owns it."""
    if ground.people is None or not ground.bus.is_durable:
        return lambda message: message
    return partial(as_of_now, ground.people)


def _tools(ground: Ground, questions: Questions, memory: Remembered) -> Sequence[Tool]:
    tools = ground.config.tools
    rules = tools.exec
    changes = ToolChanges(memory.keeping)
    return [
        *plugin_tools(ground.config.plugins),
        *builtin_tools(
            ground.workspace,
            asker=questions,
            allowed_dirs=tools.allowed_dirs,
            exec_policy=ExecPolicy(owner=rules.owner, member=rules.member, allow=rules.allow, timeout=rules.timeout),
            remembering=Remembering(changes.objection, memory.shelves.written, changes.keep, changes.needs_yes),
            file_lock=memory.files,
        ),
    ]
