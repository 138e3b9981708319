"""The gateway: the bot on all its channels, until it is told to end."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import replace
from textwrap import shorten
from threading import Thread
from zoneinfo import ZoneInfo

import msgspec

from nanobot import __version__
from nanobot.aio import first_of
from nanobot.app.bot import build_bot, shell_handlers
from nanobot.app.channels import GatewayMonitor, Tell, build_runners, build_transcriber, menu_of
from nanobot.app.context import AppContext, build_people, durable_bus, open_log
from nanobot.app.forgetting import go_on, keep_on
from nanobot.app.plugins import configured_channels
from nanobot.app.takeover import taken, tell_of_interruption
from nanobot.channels.access import PeoplePolicy
from nanobot.channels.registry import ChannelServices
from nanobot.channels.socket.server import TerminalServer, Welcome
from nanobot.commands.admin import GatewayLines, Pairing, asked_at_shell, link_command, pair_command
from nanobot.config import Config
from nanobot.core.approvals import lapsed
from nanobot.errors import NanobotError, expected_in
from nanobot.http import HttpServer, ListenError
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.ops.health import health_route
from nanobot.ops.socket import SocketServer, served
from nanobot.ops.socket import Tell as TellProgress
from nanobot.ops.supervisor import Supervisor
from nanobot.ports import DurableBus
from nanobot.schedule.scheduler import SystemClock
from nanobot.sessions.media import MediaFolder
from nanobot.store.template import prepare, template_folder
from nanobot.tools.process import end_left_over
from nanobot.workspace import Home, Workspace

MOST_OF_MESSAGE = 120
"""Characters that are repeated of a message which was set aside."""


class EndRequest:
    """Request to end the gateway: after the running turns, or `at_once`."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()


async def serve(config: Config, home: Home, language: Language, tell: Tell, ending: EndRequest) -> None:
    """Serve the configured channels until told to end.

    `tell` takes lines for whoever started it, in this language. Raises InUseError if another process has the
    workspace, and other NanobotErrors if it cannot be used.
    """
    open_log(config, home)
    workspace = Workspace(config.workspace)
    clock = SystemClock(ZoneInfo(config.timezone) if config.timezone else None)
    async with taken(workspace, language, tell, ending.asked) as is_taken:
        if not is_taken:
            return
        await asyncio.to_thread(prepare, workspace, template_folder())
        async with durable_bus(workspace, clock) as spool:
            gateway = Gateway(AppContext(config, home, workspace, clock, spool), spool, language, tell)
            await gateway.run(ending)


class Gateway:
    """Everything, wired together. `run` owns every task; none outlives it."""

    def __init__(self, ground: AppContext, spool: DurableBus, language: Language, tell: Tell) -> None:
        self._ground = ground
        self._spool = spool
        self._language: Language = language
        self._tell = tell
        config, workspace, clock = ground.config, ground.workspace, ground.clock
        self._watch = GatewayMonitor(spool, clock, language, tell)
        self._people = build_people(config, workspace, clock)
        self._pairing = Pairing(self._people, spool.send)
        self._bot = build_bot(
            replace(ground, people=self._people),
            language,
            commands=[pair_command(self._pairing), link_command(self._people)],
            status=GatewayLines(self._watch.look, spool.acknowledge),
        )
        self._watch.disk_trouble = lambda: self._bot.dispatcher.trouble
        self._transcriber = build_transcriber(config, clock)
        services = ChannelServices(
            access=PeoplePolicy(self._people, spool.send, clock),
            media=MediaFolder(workspace),
            transcriber=self._transcriber,
            bookmarks=spool,
            clock=clock,
            notify=spool.send,
            language=self._bot.language,
            changed=self._watch.changed,
            menu=menu_of(self._bot.commands),
        )
        self._runners = self._watch.runners = build_runners(configured_channels(config), services, spool)
        self._http = self._watch.health = self._supervised_http()
        self._desk = TerminalServer(spool, self._welcome, self._bot.language, self._recover)

    async def run(self, ending: EndRequest) -> None:
        """Serve until told to end; then nothing new begins, and what runs has `gateway.drain` seconds to finish."""
        root = self._ground.workspace.root
        self._tell(say("gateway.begins", self._language, version=__version__, workspace=root))
        if self._runners and not self._people.has_owner:
            self._watch.once_up = say("gateway.no_owner", self._language)
        model = self._bot.keep.models.get("")[0]
        Thread(target=model.warm, name="warm", daemon=True).start()  # ending does not wait for it
        try:
            await self._clear_up()
            if not await go_on(self._bot.forgetting, self._spool, self._ground.workspace):
                self._tell(say("forget.unfinished_status", self._language))
            async with asyncio.TaskGroup() as tasks:
                desk = self._desk.listen(self._spool.publish)
                listening = [
                    tasks.create_task(work) for work in (desk, *(runner.listening.run() for runner in self._runners))
                ]
                working = [tasks.create_task(work) for work in self._work()]
                await ending.asked.wait()
                await self._end(listening, ending)
                for task in (*listening, *working):
                    task.cancel()
        except BaseExceptionGroup as group:
            raise expected_in(group) or group from None
        finally:
            await self._aclose()

    def _work(self) -> Iterator[Coroutine[object, object, None]]:
        """Run the background tasks that last until the very end."""
        control = served({"status": self._status, **shell_handlers(self._bot, self._pairing)})
        yield self._bot.dispatcher.run()
        yield self._watch.run()
        yield Supervisor("search", self._bot.keep.memories.run, self._ground.clock).run()
        self._bot.keep.archive.background.start("history", self._bot.keep.memory.state.begin)
        self._bot.keep.archive.begin()
        yield self._bot.keep.archive.background.run()
        yield self._bot.keep.schedule.run()
        yield keep_on(self._bot.forgetting, self._spool, self._ground.workspace, self._ground.clock)
        yield Supervisor(self._desk.name, self._desk.run, self._ground.clock).run()
        yield SocketServer(self._ground.workspace, __version__, {**control, "attach": self._desk.attach}).run()
        yield from (runner.delivering.run() for runner in self._runners)
        if self._http:
            yield self._http.run()

    async def _end(self, listening: Sequence[asyncio.Task[None]], ending: EndRequest) -> None:
        """Let what runs finish, within the limit, unless it is to end at once."""
        self._watch.is_stopping = True
        limit = self._ground.config.gateway.drain
        self._tell(say("gateway.ends", self._language, seconds=f"{limit:g}"))
        await first_of(self._drain(listening), self._ground.clock.sleep(limit), ending.at_once.wait())

    async def _drain(self, listening: Sequence[asyncio.Task[None]]) -> None:
        for task in listening:
            task.cancel()
        await asyncio.wait(listening)
        await self._bot.dispatcher.drain()
        for runner in self._runners:
            await self._spool.quiet(runner.name)
        await self._spool.quiet(self._desk.name, self._desk.is_watched)

    async def _clear_up(self) -> None:
        """Deal with what the process before this one left unfinished."""
        await self._end_left_over()
        await self._settle_questions()
        await self._clear_previews()
        await self._tell_of_set_aside()
        await self._bot.questions.go_on(self._spool.send, lambda _: True, tells=False)

    async def _end_left_over(self) -> None:
        """End the commands of the process before this one; in the answer of the turn that goes on, it is told."""
        if turns := await end_left_over(self._ground.workspace.state):
            self._bot.agent.ended_in |= set(turns)
            self._tell(say("turn.left_running", self._language))

    async def _recover(self, address: Address, owed: Sequence[str]) -> None:
        """Tell whoever joins what the death of a chat without a gateway cut short; what was taken here goes on."""
        taken = await self._spool.unanswered(address)
        await tell_of_interruption(self._bot, self._spool.send, address, {*owed, *taken})

    async def _settle_questions(self) -> None:
        """Take the buttons of questions away whose turns died with their process."""
        for question, address in await self._spool.unsettled():
            await self._spool.send(lapsed(question, address, self._bot.language(address)))

    async def _clear_previews(self) -> None:
        """End what the processes before this one showed growing: it is shown anew, or nobody goes on with it."""
        for turn, address in self._spool.left_over:
            text = say("delivery.broke_off", self._bot.language(address))
            message = OutboundMessage(id=new_id(), address=address, text=text, kind="notice", turn=turn, clears=True)
            await self._spool.send(message)

    async def _tell_of_set_aside(self) -> None:
        """Tell people which of their messages are not answered, since each try ended the process."""
        for message in await self._spool.set_aside():
            await self._spool.finish([message], self._sorry(message))

    def _sorry(self, message: InboundMessage) -> OutboundMessage:
        self._bot.languages.hear(message.address.session_key, message.text)
        asked = shorten(message.text, MOST_OF_MESSAGE, placeholder=" …")
        asked = asked or ", ".join(file.name or file.path for file in message.files)
        text = say("gateway.was_set_aside", self._bot.language(message.address), asked=asked)
        return OutboundMessage(
            id=new_id(), address=message.address, text=text, kind="notice", reply_to=message.id, failed=True
        )

    def _welcome(self, address: Address, speaks: Language | None) -> Welcome:
        language = self._bot.language_there(address, speaks)
        commands = [(command.name, command.help(language)) for command in self._bot.commands]
        models = list(self._bot.keep.models.names)
        return Welcome(self._bot.greeting(address), self._bot.is_demo(address), language, commands, models)

    async def _status(self, args: Sequence[str], _: TellProgress) -> object:
        """In figures and, behind a language, how what is remembered is doing in words."""
        state = msgspec.to_builtins(await self._watch.look())
        said = [line for language in args for line in await self._bot.about_memory(asked_at_shell(language))]
        return {**state, "memory": said}

    def _supervised_http(self) -> Supervisor | None:
        """Build the HTTP server, kept alive; whatever is to answer at this address brings a route."""
        at = self._ground.config.gateway.health
        if at is None:
            return None
        server = HttpServer([health_route(self._watch.look)])

        async def serve() -> None:
            try:
                async with server.listening(at.host, at.port, patience=1.0) as port:
                    url = f"http://{at._replace(port=port)}/health"
                    self._tell(say("gateway.health", self._language, url=url))
                    await asyncio.Event().wait()
            except ListenError as error:
                raise NanobotError(f"{error}; set gateway.health to another address, or to off") from error

        return Supervisor("health", serve, self._ground.clock, changed=self._watch.changed)

    async def _aclose(self) -> None:
        closing = [runner.aclose() for runner in self._runners]
        if self._transcriber:
            closing.append(self._transcriber.aclose())
        await asyncio.gather(*closing, self._bot.keep.models.aclose(), return_exceptions=True)  # each for itself
