"""The bot for one terminal, without a gateway."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from threading import Thread
from zoneinfo import ZoneInfo

from nanobot import __version__
from nanobot.aio import first_of
from nanobot.app.bot import Bot, build_bot, shell_handlers
from nanobot.app.context import AppContext, build_people, open_log, pairing_without_gateway
from nanobot.app.forgetting import go_on
from nanobot.app.takeover import HAND_OVER, tell_of_interruption
from nanobot.bus.memory import MemoryBus
from nanobot.channels.socket.client import LeftAloneError
from nanobot.channels.socket.server import LocalWire, Send, TerminalServer, TurnShown, Welcome
from nanobot.commands.admin import Pairing, link_command, pair_command
from nanobot.config import Config
from nanobot.core.commands import Command
from nanobot.errors import WorkspaceError, expected_in
from nanobot.i18n import LANGUAGES, Language, say
from nanobot.ids import new_id
from nanobot.memory.episodes.retries import cause
from nanobot.messages import Address, InboundMessage, OutboundMessage, Progress
from nanobot.ops.socket import SocketServer, Tell, served
from nanobot.ops.supervisor import Supervisor
from nanobot.ports import Channel
from nanobot.schedule.scheduler import SystemClock
from nanobot.store.lock import WorkspaceLock
from nanobot.store.template import prepare, template_folder
from nanobot.tools.process import end_left_over
from nanobot.workspace import Home, Workspace

log = logging.getLogger(__name__)

MOMENT = 1.0
"""Seconds after which somebody who leaves is told what they wait for."""


class App:
    """Everything, wired together. `run` owns every task; none outlives it."""

    def __init__(self, bot: Bot, bus: MemoryBus, pairing: Pairing, patience: float) -> None:
        """`patience`: seconds that other terminals' turns have to finish when the person here leaves."""
        self._bot = bot
        self._bus = bus
        self._visited: list[Address] = []  # the conversations that were talked in, before the last one
        self._address: Address | None = None
        self._pairing = pairing
        self._patience = patience
        self._is_ending = False  # the machine or the session of its user ends: nobody can wait
        self._own: LocalWire | None = None
        self._wanted = asyncio.Event()  # by a gateway, and nothing runs any more
        self._to_show: asyncio.Queue[object] = asyncio.Queue()  # frames for the person here
        self._desk = TerminalServer(None, self._welcome, self.language, self._recover)

    @property
    def commands(self) -> Sequence[Command]:
        """The slash commands, for completion."""
        return self._bot.commands

    def language(self, address: Address) -> Language:
        """The language of the bot's own sentences in a conversation."""
        return self._bot.language(address)

    def greeting(self, address: Address) -> str:
        """Sentence that names the model, and tells how to have a better one."""
        return self._bot.greeting(address)

    def is_demo(self, address: Address) -> bool:
        """True if it is the embedded model that answers, and can."""
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
        if self._own:
            self._own.moved(address)
        await self._recover(address)

    def end(self) -> None:
        """A signal asks for the end: what is said is not put away now, the next start does that."""
        self._is_ending = True

    async def run(self, channel: Channel, address: Address, *, once: bool = False, owed: Collection[str] = ()) -> None:
        """Serve one channel until its `listen` returns, and meanwhile the terminals and commands that come later.

        Takes the workspace (WorkspaceError if another process has it), and first of all tells the
        person at the address of a turn that the end of the last process cut short. While a
        person types, the model is got ready; `once` says that there is one question only. `owed` are the ids of what
        is about to be said again, since another process ended in the middle of it.

        Raises LeftAloneError if a gateway has got the workspace: what is owed is to be said there.
        """
        workspace, models = self._bot.workspace, self._bot.keep.models
        self._address = address
        with WorkspaceLock(workspace):
            await asyncio.to_thread(prepare, workspace, template_folder())
            try:
                await go_on(self._bot.forgetting, self._bus, workspace)
                await self._recover(address, owed, has_ended=bool(await end_left_over(workspace.state)))
                await self._bot.questions.go_on(self._bus.send, lambda to: to == address and not once, tells=True)
                if not once:
                    model = models.get(address.session_key)[0]
                    Thread(target=model.warm, name="warm", daemon=True).start()  # leaving does not wait for it
                    self._bot.keep.archive.background.start("history", self._bot.keep.memory.state.begin)
                    self._bot.keep.archive.begin()
                if not await self._serve(channel, address, once=once) and not self._is_ending:
                    await self._leave(channel, self._address, once=once)
            finally:
                await models.aclose()
        if self._wanted.is_set():
            raise LeftAloneError(say("gateway.took_over", self.language(self._address)))

    async def _serve(self, channel: Channel, address: Address, *, once: bool) -> bool:
        """Serve until the person leaves or a gateway gets the workspace; whether somebody goes on with what is left."""
        goes_on = False
        try:
            async with self._desk.own(address, is_once=once) as own, asyncio.TaskGroup() as tasks:
                self._own = own

                async def publish(message: InboundMessage) -> None:
                    own.said(message)
                    await self._bus.publish(message)
                    self._desk.repeat(message, own)

                keep = self._bot.keep
                by_themselves = [] if once else [keep.schedule.run(), keep.dream_triggers.on_terminal_start()]
                works = (
                    self._bot.dispatcher.run(),
                    self._deliver(own),
                    self._show_own(channel),
                    self._serve_others(),
                    self._desk.listen(self._bus.publish),
                    keep.archive.background.run(),
                    Supervisor("search", keep.memories.run, keep.archive.clock).run(),
                    *by_themselves,
                )
                serving = [tasks.create_task(work) for work in works]
                await first_of(channel.listen(publish), self._wanted.wait())
                goes_on = self._desk.has_guests or self._wanted.is_set()
                if goes_on and not (self._is_ending or self._wanted.is_set()):
                    await self._finish_for_others(channel, address)
                for task in serving:
                    task.cancel()
        except BaseExceptionGroup as group:
            raise expected_in(group) or group from None
        return goes_on

    async def _serve_others(self) -> None:
        """Other commands reach this process as they reach a gateway; where sockets do not work, they cannot."""
        handlers = {**shell_handlers(self._bot, self._pairing), HAND_OVER: self._hand_over}
        serve = served(handlers) | {"attach": self._desk.attach}
        try:
            await SocketServer(self._bot.workspace, __version__, serve, is_gateway=False).run()
        except WorkspaceError as error:
            log.warning("no other terminal can join: %s", error)

    async def _hand_over(self, args: Sequence[str], tell: Tell) -> object:
        """Let a gateway have the workspace when what runs has ended and is shown; nothing more begins."""
        language = next((each for each in args if each in LANGUAGES), "en")
        tell(say("chat.hands_over", language))
        draining = asyncio.ensure_future(self._all_shown())
        try:
            await asyncio.wait([draining], timeout=MOMENT)
            if not draining.done():
                tell(say("chat.hands_over_later", language))
                for address in self._desk.addresses:
                    text = say("chat.gateway_waits", self.language(address))
                    await self._bus.send(OutboundMessage(id=new_id(), address=address, text=text, kind="notice"))
            await draining
        finally:
            draining.cancel()
        self._wanted.set()
        return None

    async def _all_shown(self) -> None:
        await self._bot.dispatcher.drain()
        await self._bus.all_taken()
        await self._to_show.join()

    async def _finish_for_others(self, channel: Channel, address: Address) -> None:
        """Begin nothing more, and let what runs finish; then one of the other terminals takes over."""
        clock = self._bot.keep.archive.clock
        draining = asyncio.ensure_future(self._bot.dispatcher.drain())
        try:
            await asyncio.wait([draining], timeout=MOMENT)
            if not draining.done():
                await self._say(channel, address, "chat.others", seconds=f"{self._patience:g}")
                await first_of(asyncio.shield(draining), clock.sleep(self._patience))
        finally:
            draining.cancel()

    async def _leave(self, channel: Channel, address: Address, *, once: bool) -> None:
        """Put away what was said; whoever has to wait for that is told. To be cancelled loses nothing."""
        work = asyncio.ensure_future(self._put_away(address, once=once))
        moment = asyncio.ensure_future(self._bot.keep.archive.clock.sleep(MOMENT))
        try:
            await asyncio.wait([work, moment], return_when=asyncio.FIRST_COMPLETED)
            if not once and not work.done():
                await self._say(channel, address, "consolidation.leaving")
            await work
            if not once and (failure := work.result()):
                await self._say(channel, address, "consolidation.failed", reason=cause(failure, self.language(address)))
        finally:
            work.cancel()
            moment.cancel()
            await asyncio.wait([work, moment])

    async def _put_away(self, address: Address, *, once: bool) -> str:
        """Archive what was said, and dream of it, within limits.

        Returns the error that kept something from being archived, "" if there was none.
        """
        bot, every = self._bot, dict.fromkeys((*self._visited, address))
        done = [await bot.keep.archive.leave(visited.session_key, once=once) for visited in every]
        if not once:
            await bot.keep.dream_triggers.on_terminal_end()
        return next((one.failure for one in done if one.failure), "")

    async def _recover(self, address: Address, owed: Collection[str] = (), *, has_ended: bool = False) -> None:
        """Tell of a turn that the end of another process cut short, and that a command of it `has_ended` only now."""
        await tell_of_interruption(self._bot, self._bus.send, address, owed, has_ended=has_ended)

    async def _say(self, channel: Channel, address: Address, sentence: str, **values: object) -> None:
        text = say(sentence, self.language(address), **values)
        await channel.send(OutboundMessage(id=new_id(), address=address, text=text, kind="notice"))

    def _welcome(self, address: Address, speaks: Language | None) -> Welcome:
        language, models = self._bot.language_there(address, speaks), list(self.models)
        menu = list(self.menu(address))
        return Welcome(self.greeting(address), self.is_demo(address), language, menu, models, is_gateway=False)

    async def _deliver(self, own: LocalWire) -> None:
        """Carry what the bot says to whom it concerns, in order; to the person here what concerns nobody else."""
        while True:
            item = await self._bus.outgoing()
            if not self._desk.pass_on(item):
                own.write(TurnShown(item) if isinstance(item, Progress) else Send(item, self.language(item.address)))
            frames, own.frames = own.frames, []
            for frame in frames:
                if isinstance(frame, Send):
                    self._bus.hold(frame.message.id)
                self._to_show.put_nowait(frame)

    async def _show_own(self, channel: Channel) -> None:
        """Show the person here what is for them; nobody else waits while a command of theirs has the screen."""
        while True:
            frame = await self._to_show.get()
            try:
                if isinstance(frame, Send):
                    self._bus.release(frame.message.id)
                    await channel.send(frame.message)
                elif isinstance(frame, TurnShown):
                    await channel.show(frame.progress)
            except Exception:  # the boundary of a channel: one message that cannot be shown is not the end
                log.exception("%s could not show something", channel.name)
            finally:
                self._to_show.task_done()


def build(config: Config, home: Home, language: Language = "en") -> App:
    """Wire the bot as configured; takes no lock yet. `language` serves until a person has written something."""
    open_log(config, home)
    clock = SystemClock(ZoneInfo(config.timezone) if config.timezone else None)
    bus = MemoryBus()
    workspace = Workspace(config.workspace)
    people = build_people(config, workspace, clock)
    pairing = pairing_without_gateway(people, workspace, clock)
    ground = AppContext(config, home, workspace, clock, bus, people)
    bot = build_bot(ground, language, [pair_command(pairing), link_command(people)])
    return App(bot, bus, pairing, config.gateway.drain)
