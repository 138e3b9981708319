"""The bot around a bus: everything between what people say and what is answered."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from nanobot.agent.agent import Agent, Limits
from nanobot.agent.archive import Archive
from nanobot.agent.context import Budgets, ContextBuilder
from nanobot.agent.conversation import Conversations
from nanobot.agent.languages import Languages
from nanobot.agent.models import Models
from nanobot.agent.questions import Questions
from nanobot.agent.skills import Skills
from nanobot.app.archive import build_archive
from nanobot.app.memory import Records, Remembered, build_memory, nobody_dreams
from nanobot.app.models import build_models, replay_bytes
from nanobot.commands.memory import memory_command, remember_command
from nanobot.commands.model import model_command
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
from nanobot.memory.guard import objection
from nanobot.memory.strategies import STRATEGIES
from nanobot.memory.tool_changes import ToolChanges
from nanobot.messages import Address
from nanobot.ports import Bus, Clock, Tool
from nanobot.store.documents import CachedDocuments
from nanobot.store.frontmatter import read_frontmatter
from nanobot.store.history import History
from nanobot.store.sessions import SessionManager
from nanobot.tools.builtin import builtin_tools
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
    lanes, questions = Lanes(parallel=config.agent.parallel_sessions), Questions(ground.bus)
    models = build_models(config, ground.home, workspace, clock)
    store = SessionManager(workspace, fsync=config.sessions.fsync, replay_bytes=replay_bytes(config))
    history = History(workspace, fsync=config.sessions.fsync)
    archive = build_archive(config, clock, models, store, history, lanes)
    documents = CachedDocuments()
    memory = build_memory(config, workspace, clock, documents, Records(store, history), nobody_dreams)
    shelves = memory.shelves
    context = ContextBuilder(
        workspace,
        documents,
        shelves,
        Skills(workspace.skills, documents, read_frontmatter),
        Budgets(**asdict(config.memory.budget)),
        clock,
    )
    agent = Agent(
        models,
        _tools(ground, questions, memory),
        context,
        Conversations(store, clock, STRATEGIES[config.memory.strategy]),
        archive,
        shelves,
        Limits(config.agent.max_steps, config.memory.compact_at),
    )
    listed = [
        new_command(agent),
        compact_command(agent),
        stop_command(lanes),
        status_command(agent, models, all_of(memory.state, status)),
        model_command(models),
        sessions_command(store),
        memory_command(shelves, budget=config.memory.budget.memory, more=memory.state),
        remember_command(shelves),
        *memory.commands,
        *commands,
    ]
    router = Router([help_command(listed), *listed])
    languages = Languages(config.language, language)
    dispatcher = Dispatcher(
        ground.bus, lanes, agent, router, questions, languages, steer=config.agent.while_busy == "steer"
    )
    return Bot(workspace, agent, dispatcher, router, models, languages, archive, memory)


def _tools(ground: Ground, questions: Questions, memory: Remembered) -> Sequence[Tool]:
    tools = ground.config.tools
    rules = tools.exec
    return builtin_tools(
        ground.workspace,
        asker=questions,
        allowed_dirs=tools.allowed_dirs,
        exec_policy=ExecPolicy(owner=rules.owner, member=rules.member, allow=rules.allow, timeout=rules.timeout),
        remembering=Remembering(objection, memory.shelves.written, ToolChanges(memory.keeping).keep),
        file_lock=memory.files,
    )
