"""The bot for one terminal, without a gateway."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from textwrap import shorten
from threading import Thread
from zoneinfo import ZoneInfo

from nanobot.app.bot import Bot, build_bot
from nanobot.app.dream import dream_later
from nanobot.app.forgetting import go_on
from nanobot.app.ground import Ground
from nanobot.app.people import build_people, pairing_without_gateway
from nanobot.bus.memory import MemoryBus
from nanobot.commands.pair import link_command, pair_command
from nanobot.commands.router import Command
from nanobot.config import Config, secrets_of
from nanobot.errors import expected_in
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.messages import Address, OutboundMessage
from nanobot.ops.clock import SystemClock
from nanobot.ops.logs import log_to
from nanobot.ops.supervisor import Supervisor
from nanobot.ports import Channel
from nanobot.store.lock import WorkspaceLock
from nanobot.store.template import prepare, template_folder
from nanobot.workspace import Home, Workspace

log = logging.getLogger(__name__)

LONGEST_DREAM = 20.0
"""Seconds that somebody who leaves the terminal waits for a dream; it changes all or nothing."""

MOMENT = 1.0
"""Seconds after which somebody who leaves is told what they wait for."""

MOST_OF_QUESTION = 120
"""Characters of what was asked that the sentence about an interruption repeats."""


class App:
    """Everything, wired together. `run` owns every task; none outlives it."""

    def __init__(self, bot: Bot, bus: MemoryBus) -> None:
        self._bot = bot
        self._bus = bus
        self._visited: list[Address] = []  # the conversations that were talked in, before the last one
        self._address: Address | None = None

    @property
    def commands(self) -> Sequence[Command]:
        """The slash commands, for completion."""
        return self._bot.commands

    def language(self, address: Address) -> Language:
        """The language of the bot's own sentences in a conversation."""
        return self._bot.language(address)

    def greeting(self, address: Address) -> str:
        """Which model one talks to, and how to have a better one."""
        return self._bot.greeting(address)

    def is_demo(self, address: Address) -> bool:
        """Whether it is the embedded model that answers, and can."""
        return self._bot.is_demo(address)

    @property
    def models(self) -> Sequence[str]:
        """The presets that may be chosen."""
        return self._bot.keep.models.names

    def menu(self, address: Address) -> Sequence[tuple[str, str]]:
        """The slash commands and what they do."""
        return [(command.name, command.help(self.language(address))) for command in self.commands]

    async def move(self, address: Address) -> None:
        """The terminal goes on with another conversation; what the end of a process cut short there is told."""
        if self._address:
            self._visited.append(self._address)
        self._address = address
        await self._recover(address)

    async def run(self, channel: Channel, address: Address, *, once: bool = False) -> None:
        """Serve one channel until its `listen` returns.

        Takes the workspace (WorkspaceError if another process has it), and first of all tells the
        person at the address of a turn that the end of the last process cut short. While a
        person types, the model is got ready; `once` says that there is one question only.
        """
        workspace, models = self._bot.workspace, self._bot.keep.models
        self._address = address
        with WorkspaceLock(workspace):
            await asyncio.to_thread(prepare, workspace, template_folder())
            try:
                await go_on(self._bot.forgetting, self._bus, workspace)
                await self._recover(address)
                if not once:
                    model = models.get(address.session_key)[0]
                    Thread(target=model.warm, name="warm", daemon=True).start()  # leaving does not wait for it
                    self._bot.keep.archive.background.start("history", self._bot.keep.memory.state.begin)
                    self._bot.keep.archive.begin()
                await self._serve(channel, once=once)
                await self._leave(channel, self._address, once=once)
            finally:
                await models.aclose()

    async def _serve(self, channel: Channel, *, once: bool) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                works = (
                    self._bot.dispatcher.run(),
                    self._deliver(channel),
                    self._bot.keep.archive.background.run(),
                    Supervisor("search", self._bot.keep.memories.run, self._bot.keep.archive.clock).run(),
                    *([] if once else [self._bot.keep.schedule.run(), self._make_up_for()]),
                )
                serving = [tasks.create_task(work) for work in works]
                await channel.listen(self._bus.publish)
                for task in serving:
                    task.cancel()
        except BaseExceptionGroup as group:
            raise expected_in(group) or group from None

    async def _make_up_for(self) -> None:
        """Dream of what nobody was to wait for when they left."""
        if self._bot.keep.dream.is_one_by_one:
            await dream_later(self._bot.keep.dream, self._bot.keep.archive.background)

    async def _leave(self, channel: Channel, address: Address, *, once: bool) -> None:
        """Put away what was said; whoever has to wait for that is told. To be cancelled loses nothing."""
        work = asyncio.ensure_future(self._put_away(address, once=once))
        moment = asyncio.ensure_future(self._bot.keep.archive.clock.sleep(MOMENT))
        try:
            await asyncio.wait([work, moment], return_when=asyncio.FIRST_COMPLETED)
            if not once and not work.done():
                await self._say_leaving(channel, address)
            await work
        finally:
            work.cancel()
            moment.cancel()
            await asyncio.wait([work, moment])

    async def _put_away(self, address: Address, *, once: bool) -> None:
        """Archive what was said, and dream of it, within limits: the next start may be far away.

        A model on this machine takes too long to dream for somebody who wants to leave.
        """
        bot = self._bot
        for visited in dict.fromkeys((*self._visited, address)):
            await bot.keep.archive.leave(visited.session_key, once=once)
        if not once and not bot.keep.dream.is_one_by_one:
            with suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_DREAM):
                    await bot.keep.dream.run_by_itself()

    async def _recover(self, address: Address) -> None:
        cut_short = await self._bot.agent.recover(address)
        if cut_short is None:
            return
        sentence = "turn.interrupted_tools" if cut_short.tools else "turn.interrupted"
        if cut_short.tools and cut_short.unanswered:
            sentence = "turn.interrupted_unanswered"
        self._bot.languages.hear(address.session_key, cut_short.asked)
        asked = shorten(cut_short.asked, MOST_OF_QUESTION, placeholder=" …")
        text = say(sentence, self.language(address), asked=asked, tools=", ".join(cut_short.tools))
        await self._bus.send(OutboundMessage(id=new_id(), address=address, text=text, kind="notice"))

    async def _say_leaving(self, channel: Channel, address: Address) -> None:
        text = say("consolidation.leaving", self.language(address))
        await channel.send(OutboundMessage(id=new_id(), address=address, text=text, kind="notice"))

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


def build(config: Config, home: Home, language: Language = "en") -> App:
    """Wire the bot as configured; takes no lock yet. `language` serves until a person has written something."""
    log_to(home.log, config.log.level, config.log.format, secrets_of(config))
    clock = SystemClock(ZoneInfo(config.timezone) if config.timezone else None)
    bus = MemoryBus()
    workspace = Workspace(config.workspace)
    people = build_people(config, workspace, clock)
    pairing = pairing_without_gateway(people, workspace, clock)
    ground = Ground(config, home, workspace, clock, bus, people)
    return App(build_bot(ground, language, [pair_command(pairing), link_command(people)]), bus)
