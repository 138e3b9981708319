"""The bot around a bus: agent, tools and commands, wired as configured."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from zoneinfo import ZoneInfo

import msgspec

from nanobot.app.context import AppContext, hiding, open_log
from nanobot.app.forgetting import build_forgetting, go_on
from nanobot.app.memory import ConversationServices, build_keep, build_reminders
from nanobot.app.plugins import plugin_tools
from nanobot.bus.memory import MemoryBus
from nanobot.commands.admin import Pairing, PairingRequester
from nanobot.commands.forget import Forgetting, forget_at_shell, forget_command, forget_lines
from nanobot.commands.memory import (
    MemoryView,
    dream_at_shell,
    dream_command,
    dream_lines,
    memory_command,
    recall_command,
    recall_lines,
    remember_command,
)
from nanobot.commands.memory_shell import MemoryShell
from nanobot.commands.proposals import ProposalQuestions, proposal_commands, proposal_lines
from nanobot.commands.session import (
    Lines,
    Listing,
    all_of,
    commands_of_terminals,
    compact_command,
    export_command,
    help_command,
    model_command,
    new_command,
    resume_command,
    retry_command,
    sessions_command,
    status_command,
    stop_command,
)
from nanobot.config import EMBEDDED, Config, secrets_here
from nanobot.core.agent import Agent, TurnLimits
from nanobot.core.approvals import ApprovalQuestions
from nanobot.core.commands import Command, Router
from nanobot.core.conversation import Conversations
from nanobot.core.dispatcher import Dispatcher, PatientBus, Standing
from nanobot.core.prompt import ContextBuilder, Skills
from nanobot.core.window import STRATEGIES
from nanobot.errors import WorkspaceError
from nanobot.i18n import Language, known_language, say
from nanobot.i18n.languages import Languages
from nanobot.memory.tool_changes import ToolChanges
from nanobot.messages import Address
from nanobot.models.local import is_installed
from nanobot.ops.logs import Mask, hide_on_stderr
from nanobot.ops.socket import Handler, Tell
from nanobot.people.people import MACHINE, as_of_now
from nanobot.ports import Tool
from nanobot.schedule.scheduler import SystemClock
from nanobot.sessions.media import MediaFolder
from nanobot.store.documents import read_frontmatter
from nanobot.store.lock import WorkspaceLock
from nanobot.store.private import save_export
from nanobot.store.template import prepare, template_folder
from nanobot.tools.approval import Approval
from nanobot.tools.builtin import builtin_tools
from nanobot.tools.output import MaskedTool
from nanobot.tools.paths import Sandbox
from nanobot.tools.policy import ExecPolicy, PermittedTool, ToolPolicy
from nanobot.tools.process import end_left_over
from nanobot.tools.recall import RecallTool
from nanobot.tools.writing import Remembering, change_shown
from nanobot.workspace import Home, Workspace

# Agent and tools.


def build_agent(
    ground: AppContext, keep: ConversationServices, conversations: Conversations, questions: ApprovalQuestions
) -> Agent:
    """`questions` are asked by its tools."""
    config, workspace, clock, shelves = ground.config, ground.workspace, ground.clock, keep.memory.shelves
    context = ContextBuilder(
        workspace,
        keep.documents,
        shelves,
        Skills(workspace.skills, keep.documents, read_frontmatter),
        asdict(config.memory.budget),
        clock,
        build_reminders(config, clock, keep.memories, shelves, keep.models),
    )
    return Agent(
        keep.models,
        _tools(ground, keep, questions),
        context,
        conversations,
        keep.archive,
        shelves,
        TurnLimits(config.agent.max_steps, config.memory.compact_at),
    )


def _tools(ground: AppContext, keep: ConversationServices, questions: ApprovalQuestions) -> Sequence[Tool]:
    tools, memory = ground.config.tools, keep.memory
    rules = tools.exec
    changes = ToolChanges(memory.writer, memory.proposals, read_frontmatter)
    approval, mask = Approval(questions), Mask(secrets_here(ground.config, os.environ))
    policy = ToolPolicy(approval, ExecPolicy(rules.owner, rules.member, rules.allow, rules.timeout))
    if ground.people:
        ground.people.on_standing.append(approval.take_back)
    own: Sequence[Tool] = [
        *builtin_tools(
            Sandbox(ground.workspace, tools.allowed_dirs, ground.home.closed),
            policy=policy,
            remembering=Remembering(
                changes.judge, memory.shelves.written, changes.keep, changes.propose, changes.staged
            ),
            file_lock=memory.files,
            mask=mask,
        ),
        RecallTool(keep.memories, mask),
    ]
    every = [*plugin_tools(ground.config.plugins, [tool.spec.name for tool in own]), *own]
    return [MaskedTool(PermittedTool(tool, policy), mask) for tool in every]


# Commands.


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands of a conversation and of the shell.

    `about_memory` describes the state of memory, `questions` put proposals to people.
    """

    router: Router
    shell: MemoryShell
    about_memory: Lines
    questions: ProposalQuestions


def build_commands(
    ground: AppContext,
    keep: ConversationServices,
    agent: Agent,
    forgetting: Forgetting,
    further: Sequence[Command] = (),
    status: Lines | None = None,
) -> Commands:
    """With `further` commands, and further lines for /status."""
    memory, send = keep.memory, ground.bus.send
    about_memory = all_of(
        memory.state,
        forget_lines(forgetting),
        dream_lines(keep.dream, keep.dream_triggers.next_at),
        recall_lines(lambda: keep.memories.last_error),
        proposal_lines(memory.proposals),
    )
    questions = ProposalQuestions(memory.proposals, change_shown, keep.sessions)
    view = MemoryView(memory.shelves, keep.documents, ground.config.memory.budget.memory, about_memory)
    listing = Listing(keep.sessions, ground.clock)
    listed = [
        new_command(agent),
        compact_command(agent),
        stop_command(keep.lanes),
        status_command(agent, keep.models, all_of(about_memory, status)),
        model_command(keep.models),
        sessions_command(listing),
        resume_command(listing, agent),
        retry_command(agent),
        export_command(keep.sessions, ground.clock, MediaFolder(ground.workspace), save_export),
        *commands_of_terminals(),
        memory_command(view),
        remember_command(memory.shelves),
        recall_command(keep.memories),
        dream_command(keep.dream, send, keep.archive.now),
        forget_command(forgetting, send),
        *proposal_commands(questions),
        *memory.commands,
        *further,
    ]
    return Commands(Router([help_command(listed), *listed]), memory.shell(view), about_memory, questions)


# Bot.


@dataclass(frozen=True, slots=True)
class Bot:
    """The parts that a program around the bot needs."""

    workspace: Workspace
    agent: Agent
    dispatcher: Dispatcher
    router: Router
    languages: Languages
    keep: ConversationServices
    forgetting: Forgetting
    shell: MemoryShell
    about_memory: Lines
    """How what is remembered is doing: its history, Dream."""
    questions: ProposalQuestions

    @property
    def commands(self) -> Sequence[Command]:
        """The slash commands, for completion and menus."""
        return self.router.commands

    def language(self, address: Address) -> Language:
        """The language of the bot's own sentences in a conversation."""
        return self.languages.of(address.session_key)

    def language_there(self, address: Address, language: Language | None) -> Language:
        """The same for a terminal that attaches there, and may have said which language it speaks."""
        if language:
            self.languages.presume(address.session_key, language)
        return self.language(address)

    def is_demo(self, address: Address) -> bool:
        """True if it is the embedded model that answers, and can."""
        return self.keep.models.name_for(address.session_key) == EMBEDDED and is_installed()

    def greeting(self, address: Address) -> str:
        """Sentence that names the model, and tells how to have a better one."""
        info = self.keep.models.get(address.session_key)[0].info
        if self.is_demo(address):
            return say("chat.demo_model", self.language(address))
        sentence = "model.engine" if info.preset == EMBEDDED else "chat.model"
        return say(sentence, self.language(address), name=info.preset, model=info.model)


def build_bot(
    ground: AppContext,
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
    config, clock, bus = ground.config, ground.clock, ground.bus
    keep = build_keep(ground)
    conversations = Conversations(keep.sessions, clock, STRATEGIES[config.memory.strategy])
    questions = ApprovalQuestions(bus, conversations, keep.lanes.aside)
    agent = build_agent(ground, keep, conversations, questions)
    forgetting = build_forgetting(ground, keep)
    said = build_commands(ground, keep, agent, forgetting, commands, status)
    languages = Languages(config.language, language)
    dispatcher = Dispatcher(
        PatientBus(bus, clock, _standing(ground)),
        keep.lanes,
        agent,
        said.router,
        questions,
        languages,
        steer=config.agent.while_busy == "steer",
    )
    return Bot(
        ground.workspace,
        agent,
        dispatcher,
        said.router,
        languages,
        keep,
        forgetting,
        said.shell,
        said.about_memory,
        said.questions,
    )


def shell_handlers(bot: Bot, pairing: Pairing) -> dict[str, Handler]:
    """The work that other commands of the same person have this process do while it has the workspace."""

    async def pair(args: Sequence[str], _: Tell) -> object:
        """The language that the person reads, then the words behind `nanobot pair`."""
        language, *words = args
        answer = await pairing.do(words, PairingRequester(MACHINE, known_language(language), pair="nanobot pair"))
        return {"text": answer.text, "failed": answer.failed}

    async def memory(args: Sequence[str], _: Tell) -> object:
        """The words behind `nanobot memory`, as its shell takes them."""
        return msgspec.to_builtins(await bot.shell.do(args))

    async def forget(args: Sequence[str], _: Tell) -> object:
        """The words behind `nanobot memory forget`, as its shell takes them."""
        return msgspec.to_builtins(await forget_at_shell(bot.forgetting, args))

    async def dream(args: Sequence[str], tell: Tell) -> object:
        """The language that the person reads."""
        [language] = args
        read = known_language(language)
        return msgspec.to_builtins(await dream_at_shell(bot.keep.dream, bot.keep.archive.all_now, read, tell))

    async def ready(_: Sequence[str], __: Tell) -> object:
        return None

    return {"pair": pair, "memory": memory, "forget": forget, "dream": dream, "ready": ready}


def _standing(ground: AppContext) -> Standing:
    """In a gateway messages wait, and people may be shown out meanwhile; elsewhere who can run the program owns it."""
    if ground.people is None or not ground.bus.is_durable:
        return lambda message: message
    return partial(as_of_now, ground.people)


# Bot for one piece of work at the shell: alone, or beside whoever has the workspace.


@asynccontextmanager
async def alone(config: Config, home: Home, language: Language, tell: Callable[[str], None]) -> AsyncIterator[Bot]:
    """Holds the workspace while it lasts. Raises WorkspaceError if there is none, or another process has it.

    A command of a killed process that still runs is ended, and that is told.
    """
    workspace = _existing(config)
    open_log(config, home)
    with WorkspaceLock(workspace):
        await asyncio.to_thread(prepare, workspace, template_folder())
        bus = MemoryBus()
        bot = build_bot(AppContext(config, home, workspace, _clock(config), bus), "en")
        try:
            await go_on(bot.forgetting, bus, workspace)
            if await end_left_over(workspace.state):
                tell(say("turn.left_running", language))
            yield bot
        finally:
            await bot.keep.models.aclose()


@asynccontextmanager
async def beside(config: Config, home: Home) -> AsyncIterator[Bot]:
    """To read what is remembered, whoever has the workspace: takes no lock, and changes nothing.

    Raises WorkspaceError if there is no workspace.
    """
    hide_on_stderr(hiding(config))  # the log is whose the workspace is
    ground = AppContext(config, home, _existing(config), _clock(config), MemoryBus(), is_beside=True)
    bot = build_bot(ground, "en")
    try:
        yield bot
    finally:
        await bot.keep.models.aclose()


def _existing(config: Config) -> Workspace:
    workspace = Workspace(config.workspace)
    if not workspace.root.is_dir():
        raise WorkspaceError(f"There is no workspace at {workspace.root} yet; `nanobot chat` makes one.")
    return workspace


def _clock(config: Config) -> SystemClock:
    return SystemClock(ZoneInfo(config.timezone) if config.timezone else None)
