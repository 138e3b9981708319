"""The composition root: the one place that names every concrete class."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from textwrap import shorten
from threading import Lock, Thread
from zoneinfo import ZoneInfo

from nanobot.agent.agent import Agent
from nanobot.agent.context import Budgets, ContextBuilder
from nanobot.agent.conversation import Conversations
from nanobot.agent.languages import Languages
from nanobot.agent.models import Models
from nanobot.agent.questions import Questions
from nanobot.agent.skills import Skills
from nanobot.bus.memory import MemoryBus
from nanobot.commands.memory import memory_command, remember_command
from nanobot.commands.model import model_command
from nanobot.commands.router import Command, Router
from nanobot.commands.session import help_command, new_command, sessions_command, status_command, stop_command
from nanobot.config import EMBEDDED, Config, ModelPreset, chosen, presets
from nanobot.dispatcher import Dispatcher
from nanobot.errors import NanobotError
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.lanes import Lanes
from nanobot.llm.endpoint import Endpoint
from nanobot.llm.fallback import Fallback
from nanobot.llm.local import WINDOW as LOCAL_WINDOW
from nanobot.llm.local import LocalModel, is_installed
from nanobot.llm.openai import OpenAIModel
from nanobot.memory.facts import Facts
from nanobot.memory.guard import objection
from nanobot.memory.notebook import Notebook
from nanobot.messages import Address, OutboundMessage
from nanobot.ops.clock import SystemClock
from nanobot.ops.logs import log_to
from nanobot.ports import LLM, Bus, Channel, Clock, ModelInfo, Tool
from nanobot.store.documents import CachedDocuments
from nanobot.store.frontmatter import read_frontmatter
from nanobot.store.lock import WorkspaceLock
from nanobot.store.memory_folder import MemoryFolder
from nanobot.store.models import SessionModels
from nanobot.store.sessions import REPLAY_BYTES, SessionManager
from nanobot.store.template import prepare, template_folder
from nanobot.tools.builtin import builtin_tools
from nanobot.tools.shell import ExecPolicy
from nanobot.workspace import Home, Workspace

log = logging.getLogger(__name__)

OUTPUT = 8000
"""Tokens kept free for an answer where the configuration does not say, at most a quarter of the window."""

WINDOW = 32_000
"""Tokens that a model is taken to read where the configuration does not say."""


BYTES_PER_TOKEN = 16
"""More than any text has that is worth replaying; a session is read from its end as far as this reaches."""


MOST_OF_QUESTION = 120
"""Characters of what was asked that the sentence about an interruption repeats."""


class App:
    """Everything, wired together. `run` owns every task; none outlives it."""

    def __init__(
        self,
        workspace: Workspace,
        bus: Bus,
        agent: Agent,
        dispatcher: Dispatcher,
        router: Router,
        models: Models,
        languages: Languages,
    ) -> None:
        self._workspace = workspace
        self._bus = bus
        self._agent = agent
        self._dispatcher = dispatcher
        self._router = router
        self._models = models
        self._languages = languages

    @property
    def commands(self) -> Sequence[Command]:
        """The slash commands, for completion and menus."""
        return self._router.commands

    def language(self, address: Address) -> Language:
        """The language of the bot's own sentences in a conversation."""
        return self._languages.of(address.session_key)

    def greeting(self, address: Address) -> str:
        """Which model one talks to, and how to have a better one."""
        info = self._models.get(address.session_key)[0].info
        if self.is_demo(address):
            return say("chat.demo_model", self.language(address))
        sentence = "model.engine" if info.preset == EMBEDDED else "chat.model"
        return say(sentence, self.language(address), name=info.preset, model=info.model)

    def is_demo(self, address: Address) -> bool:
        """Whether it is the embedded model that answers, and can."""
        return self._models.name_for(address.session_key) == EMBEDDED and is_installed()

    async def run(self, channel: Channel, address: Address, *, warm: bool = True) -> None:
        """Serve one channel until its `listen` returns.

        Takes the workspace (WorkspaceError if another process has it), and first of all tells the
        person at the address of a turn that the end of the last process cut short. `warm` gets the
        model ready meanwhile: worth it where a person types, not for one question.
        """
        with WorkspaceLock(self._workspace):
            await asyncio.to_thread(prepare, self._workspace, template_folder())
            try:
                await self._recover(address)
                if warm:
                    model = self._models.get(address.session_key)[0]
                    Thread(target=model.warm, name="warm", daemon=True).start()  # leaving does not wait for it
                await self._serve(channel)
            finally:
                await self._models.aclose()

    async def _serve(self, channel: Channel) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                serving = [tasks.create_task(self._dispatcher.run()), tasks.create_task(self._deliver(channel))]
                await channel.listen(self._bus.publish)
                for task in serving:
                    task.cancel()
        except BaseExceptionGroup as group:
            expected = [error for error in _leaves(group) if isinstance(error, NanobotError)]
            raise expected[0] if expected else group from None

    async def _recover(self, address: Address) -> None:
        cut_short = await self._agent.recover(address)
        if cut_short is None:
            return
        sentence = "turn.interrupted_tools" if cut_short.tools else "turn.interrupted"
        self._languages.hear(address.session_key, cut_short.asked)
        asked = shorten(cut_short.asked, MOST_OF_QUESTION, placeholder=" …")
        text = say(sentence, self.language(address), asked=asked, tools=", ".join(cut_short.tools))
        await self._bus.send(OutboundMessage(id=new_id(), address=address, text=text, kind="notice"))

    async def _deliver(self, channel: Channel) -> None:
        """Carry what the bot says to the channel, in order."""
        while True:
            item = await self._bus.outgoing()
            try:
                if isinstance(item, OutboundMessage):
                    await channel.send(item)
                else:
                    await channel.show(item)
            except Exception:  # the boundary of a channel: one message that cannot be shown is not the end
                log.exception("%s could not show something", channel.name)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group of groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def build(config: Config, home: Home, language: Language = "en") -> App:
    """Wire the bot as configured; takes no lock yet. `language` serves until a person has written something."""
    log_to(home.log, config.log.level, config.log.format)
    workspace = Workspace(config.workspace)
    clock = SystemClock(ZoneInfo(config.timezone) if config.timezone else None)
    bus, lanes = MemoryBus(), Lanes(parallel=config.agent.parallel_sessions)
    questions = Questions(bus)
    models = _models(config, home, workspace, clock)
    store = SessionManager(workspace, fsync=config.sessions.fsync, replay_bytes=_replay_bytes(config))
    documents = CachedDocuments()
    files = Lock()  # held by whoever replaces one of the files that the tools and /remember both write
    memory = MemoryFolder(workspace.memory_file, documents, files)
    notebook = Notebook(memory, read_frontmatter, clock)
    facts = Facts(memory, notebook, clock, budget=config.memory.budget.memory)
    context = ContextBuilder(
        workspace,
        documents,
        notebook,
        Skills(workspace.skills, documents, read_frontmatter),
        Budgets(**asdict(config.memory.budget)),
        clock,
    )
    agent = Agent(
        models,
        _tools(config, workspace, questions, notebook, files),
        context,
        Conversations(store, clock),
        facts,
        max_steps=config.agent.max_steps,
        compact_at=config.memory.compact_at,
    )
    commands = [
        new_command(agent),
        stop_command(lanes),
        status_command(agent, models),
        model_command(models),
        sessions_command(store),
        memory_command(notebook, budget=config.memory.budget.memory),
        remember_command(facts),
    ]
    router = Router([help_command(commands), *commands])
    languages = Languages(config.language, language)
    dispatcher = Dispatcher(bus, lanes, agent, router, questions, languages, steer=config.agent.while_busy == "steer")
    return App(workspace, bus, agent, dispatcher, router, models, languages)


def _replay_bytes(config: Config) -> int:
    """How much of a session is read at most: what the largest window could hold, generously."""
    windows = [preset.context_window or WINDOW for preset in config.models.values()]
    return min(REPLAY_BYTES, BYTES_PER_TOKEN * max(windows, default=WINDOW))


def _tools(
    config: Config, workspace: Workspace, questions: Questions, notebook: Notebook, files: Lock
) -> Sequence[Tool]:
    rules = config.tools.exec
    return builtin_tools(
        workspace,
        asker=questions,
        allowed_dirs=config.tools.allowed_dirs,
        exec_policy=ExecPolicy(owner=rules.owner, member=rules.member, allow=rules.allow, timeout=rules.timeout),
        guard=objection,
        on_note=notebook.written,
        file_lock=files,
    )


def _models(config: Config, home: Home, workspace: Workspace, clock: Clock) -> Models:
    known = presets(config, home)

    @cache  # a model that is a fallback of several is loaded once
    def model(name: str) -> LLM:
        return _model(name, known[name], workspace, clock)

    def make(name: str) -> LLM:
        """The preset, and those that are asked when it fails."""
        models = [model(each) for each in dict.fromkeys([name, *config.fallbacks])]
        return Fallback(models, clock) if len(models) > 1 else models[0]

    return Models({name: partial(make, name) for name in known}, chosen(config, home), SessionModels(workspace))


def _model(name: str, preset: ModelPreset, workspace: Workspace, clock: Clock) -> LLM:
    window = preset.context_window or (WINDOW if preset.gguf is None else LOCAL_WINDOW)
    output = preset.max_output or min(OUTPUT, window // 4)
    info = ModelInfo(name, preset.model or preset.gguf or name, window, output, preset.compact, preset.vision)
    if preset.gguf is not None:
        return LocalModel(info, None if preset.gguf == EMBEDDED else Path(preset.gguf), clock, preset.temperature)
    endpoint = Endpoint(
        base_url=preset.base_url or "",
        api_key=preset.api_key or "",
        temperature=preset.temperature,
        extra_headers=preset.extra_headers,
        extra_body=preset.extra_body,
        timeout=preset.timeout,
        idle_timeout=preset.idle_timeout,
        attempts=preset.attempts,
        max_output=preset.max_output,
    )
    return OpenAIModel(info, endpoint, clock, workspace.root)
