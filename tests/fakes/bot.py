"""The whole core around a scripted model: real files, real sessions, a bus in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType

from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.bus.memory import MemoryBus
from nanobot.commands.session import (
    Listing,
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
from nanobot.core.agent import Agent, Models, TurnLimits
from nanobot.core.approvals import ApprovalQuestions
from nanobot.core.archive import EpisodeContext, WindowArchive
from nanobot.core.commands import Command, Router
from nanobot.core.conversation import Conversations
from nanobot.core.dispatcher import Dispatcher, PatientBus, Standing
from nanobot.core.lanes import BackgroundSlot, Lanes
from nanobot.core.prompt import ContextBuilder, Skills
from nanobot.core.window import STRATEGIES
from nanobot.i18n.languages import Languages
from nanobot.ids import new_id
from nanobot.memory.episodes.archivist import Archivist, Summariser
from nanobot.memory.episodes.consolidator import Consolidator
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.memory.episodes.retries import SummaryRetries
from nanobot.memory.recall.index.indexer import open_recall
from nanobot.memory.recall.injection import RecallInjector
from nanobot.memory.recall.service import RecallService, written_reader
from nanobot.memory.scopes import MemoryRegistry
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress, Sender
from nanobot.nlp.words import words_of
from nanobot.ops.supervisor import Supervisor
from nanobot.ports import LLM, Bus, Tool
from nanobot.sessions.media import MediaFolder
from nanobot.sessions.store import SessionManager
from nanobot.store.documents import CachedDocuments, MemoryFolder, read_frontmatter
from nanobot.store.private import save_export
from nanobot.store.state import DreamFiles
from nanobot.tokens import TokenEstimator
from nanobot.tools.recall import RecallTool
from nanobot.workspace import Workspace
from tests.fakes.clock import FakeClock

ADDRESS = Address("cli", "test")


class NoChoices:
    """SessionModels in memory."""

    def __init__(self) -> None:
        self._chosen: dict[str, str | None] = {}

    def get(self, key: str) -> str | None:
        return self._chosen.get(key)

    async def set(self, key: str, preset: str | None) -> None:
        self._chosen[key] = preset


class Bot:
    """Talk to it with `ask`; what it showed on the way is in `progress`, the ends of questions in `settled`."""

    def __init__(
        self,
        root: Path,
        *models: LLM,
        tools: Iterable[Tool] = (),
        max_steps: int = 40,
        compact_at: float = 0.75,
        steer: bool = True,
        budgets: Mapping[str, int] = MappingProxyType({}),
        strategy: str = "layered",
        store: SessionManager | None = None,
        bus: Bus | None = None,
        summariser: LLM | None = None,
        recalls: bool = False,
        standing: Standing = lambda message: message,
    ) -> None:
        """`bus` stands in for the one in memory; then its messages are fetched from it, not with `hear`.

        Without a `summariser` nothing is done in the background. `recalls`: what was said is searched, by the
        tool, too, and messages come with memories.
        """
        self.workspace = Workspace(root)
        self.workspace.memory.mkdir(parents=True, exist_ok=True)
        self.clock = FakeClock()
        self.memory_bus, self.lanes = MemoryBus(), Lanes(parallel=16)
        self.bus: Bus = bus or self.memory_bus
        self.memories = RecallService(
            partial(open_recall, self.workspace, words_of, written_reader(read_frontmatter)), self.clock
        )
        self.recalls = recalls
        on_append = self.memories.appended if recalls else None
        self.store = store or SessionManager(self.workspace, fsync=False, on_append=on_append)
        self.documents = CachedDocuments()
        self.progress: list[Progress] = []
        self.settled: list[OutboundMessage] = []
        self.shelves = MemoryRegistry(
            self.workspace,
            lambda path: MemoryFolder(path, self.documents),
            read_frontmatter,
            self.clock,
            budget=budgets.get("memory", 32768),
        )
        skills = Skills(self.workspace.skills, self.documents, read_frontmatter)
        reminders = RecallInjector(self.memories, self.clock) if recalls else None
        context = ContextBuilder(self.workspace, self.documents, self.shelves, skills, budgets, self.clock, reminders)
        self.history, self.background = EpisodeStore(self.workspace, fsync=False), BackgroundSlot(self.clock)
        presets = {model.info.preset: (lambda model=model: model) for model in models}
        self.summariser, self.models = summariser, Models(presets, next(iter(presets)), NoChoices())
        self.consolidator = self._consolidator()
        conversations = Conversations(self.store, self.clock, STRATEGIES[strategy])
        self.questions = ApprovalQuestions(self.bus, conversations, self.lanes.aside)
        self.agent = Agent(
            self.models,
            [*tools, *([RecallTool(self.memories)] if recalls else [])],
            context,
            conversations,
            self._archive(summary_first=strategy == "summary"),
            self.shelves,
            TurnLimits(max_steps, compact_at),
        )
        self.dispatcher = Dispatcher(
            PatientBus(self.bus, self.clock, standing),
            self.lanes,
            self.agent,
            self._router(),
            self.questions,
            Languages("auto", "en"),
            steer=steer,
        )

    def _archive(self, *, summary_first: bool) -> WindowArchive:
        episode_context = EpisodeContext(self.history)
        return WindowArchive(
            self.consolidator, episode_context, self.background, self.clock, summary_first=summary_first
        )

    def _consolidator(self) -> Consolidator:
        tokens = TokenEstimator()

        def model_of(session: str) -> tuple[LLM, TokenEstimator]:
            return (self.summariser, tokens) if self.summariser else self.models.get(session)

        return Consolidator(
            self.store,
            self.history,
            Archivist(Summariser(model_of), self.clock),
            self.background,
            SummaryRetries(self.clock, DreamFiles(self.workspace)),
            rest=1800.0,
            is_busy=self.lanes.is_busy,
        )

    def _router(self) -> Router:
        listing = Listing(self.store, self.clock)
        commands: list[Command] = [
            new_command(self.agent),
            compact_command(self.agent),
            stop_command(self.lanes),
            model_command(self.models),
            sessions_command(listing),
            resume_command(listing, self.agent),
            retry_command(self.agent),
            export_command(self.store, self.clock, MediaFolder(self.workspace), save_export),
            status_command(self.agent, self.models),
        ]
        return Router([help_command(commands), *commands])

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Bot"]:
        tasks = [asyncio.create_task(self.dispatcher.run())]
        if self.summariser:
            tasks.append(asyncio.create_task(self.background.run()))
        if self.recalls:
            tasks.append(asyncio.create_task(Supervisor("search", self.memories.run, self.clock).run()))
        try:
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for task in tasks:
                if not task.cancelled() and (error := task.exception()):
                    raise error

    async def say(self, text: str, *, at: Address = ADDRESS, answers: str | None = None, sender: str = "local") -> None:
        await self.bus.publish(
            InboundMessage(
                id=new_id(),
                address=at,
                sender=Sender(sender, "Ada"),
                authority=OWNER_IN_TERMINAL,
                text=text,
                answers=answers,
            )
        )

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until this is so."""
        async with asyncio.timeout(120):
            while not condition():  # noqa: ASYNC110  of what tells nobody that it changes
                await asyncio.sleep(0.001)

    async def until_waiting(self, count: int) -> None:
        """Wait until so many messages wait for their turns."""
        await self.until(lambda: self.lanes.waiting(ADDRESS.session_key) == count)

    async def hear(self) -> OutboundMessage:
        """The next thing the bot says; hangs are cut by a generous guard."""
        async with asyncio.timeout(120):
            while True:
                item = await self.memory_bus.outgoing()
                if isinstance(item, Progress):
                    self.progress.append(item)
                elif item.settles:
                    self.settled.append(item)
                else:
                    return item

    async def ask(self, text: str, *, at: Address = ADDRESS) -> OutboundMessage:
        await self.say(text, at=at)
        return await self.hear()
