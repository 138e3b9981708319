"""The real Discord channel between a fake Discord and a real spool, with people whom it knows."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nanobot.bus.spool import Spool
from nanobot.channels.access import PeoplePolicy
from nanobot.channels.discord.channel import DiscordChannel
from nanobot.channels.discord.settings import CatchUp, DiscordSettings
from nanobot.channels.registry import ChannelServices, MenuCommand
from nanobot.i18n import Language
from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.people.people import ConfiguredPeople, People
from nanobot.ports.people import Listening
from nanobot.sessions.media import MediaFolder
from nanobot.workspace import Workspace
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import FakeDiscord
from tests.fakes.discord_world import Guild, Json, Room
from tests.fakes.people import MemoryPeople

COMMANDS = (
    MenuCommand("help", {"en": "what I can do", "zh": "我会做的事"}),
    MenuCommand("dream-restore", {"en": "take back a dream", "zh": "撤销一次做梦"}),
)
PATIENCE = 120.0


@dataclass(eq=False)
class Scene:
    """Ada owns the bot, Ben is a member, Eve nobody. #general is let in by mention."""

    discord: FakeDiscord
    root: Path
    listening: Listening = "mention"
    clock: FakeClock = field(default_factory=lambda: FakeClock(datetime.now(UTC), instant=True, longest=30.0))
    catch_up: CatchUp = field(default_factory=CatchUp)
    heartbeat_timeout: float = 60.0
    store_all: bool = False
    commands: Sequence[MenuCommand] = COMMANDS
    bots: tuple[str, ...] = ()
    language: Callable[[Address], Language] = lambda _: "en"
    heard: list[InboundMessage] = field(default_factory=list)
    notices: list[OutboundMessage] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ada, self.ben, self.eve = (self.discord.person(name) for name in ("Ada", "Ben", "Eve"))
        self.home: Guild = self.discord.guild("Home")
        self.general: Room = self.discord.channel(self.home, "general")
        self.media = MediaFolder(Workspace(self.root / "workspace"))
        self.came = asyncio.Event()
        self.ends: list[asyncio.Task[None]] = []

    def channel(self, spool: Spool) -> DiscordChannel:
        settings = DiscordSettings(
            token=self.discord.token,
            api_base=self.discord.api_base,
            catch_up=self.catch_up,
            heartbeat_timeout=self.heartbeat_timeout,
        )
        services = ChannelServices(
            access=PeoplePolicy(self._people(), self._notify, self.clock),
            media=self.media,
            transcriber=None,
            bookmarks=spool,
            clock=self.clock,
            notify=self._notify,
            language=self.language,
            menu=self.commands,
        )
        return DiscordChannel(settings, services)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[DiscordChannel]:
        """The channel without listening: it only sends."""
        async with Spool(self.root / "spool.db", self.clock) as spool:
            channel = self.channel(spool)
            try:
                yield channel
            finally:
                await channel.aclose()

    @asynccontextmanager
    async def running(self, *, takes: bool = True) -> AsyncIterator[DiscordChannel]:
        """The channel listens; what it hears goes through the spool to `heard`, or (not `takes`) waits in `spool`."""
        self.ends.clear()
        async with Spool(self.root / "spool.db", self.clock) as spool:
            channel = self.channel(spool)
            self.spool = spool
            tasks = [asyncio.create_task(channel.listen(spool.publish))]
            if takes:
                tasks.append(asyncio.create_task(self._receive(spool)))
            for task in tasks:
                task.add_done_callback(self._ended)
            gateway, before = self.discord.gateway, len(self.discord.gateway.identifies)
            try:
                await self.discord.until(
                    lambda: tasks[0].done() or (len(gateway.identifies) > before and gateway.connected)
                )
                if tasks[0].done():
                    tasks[0].result()
                yield channel
            finally:
                for task in tasks:
                    task.cancel()
                ended = await asyncio.gather(*tasks, return_exceptions=True)
                await channel.aclose()
            for error in ended:
                if isinstance(error, Exception):
                    raise error

    async def first_talk(self) -> None:
        """Let the bot learn of Ada's own chat and of #general; what was heard then does not count."""
        async with self.running():
            self.discord.says(self.ada, self.discord.dm(self.ada), "hello")
            await self.hears(1)
            self.discord.says(self.ada, self.general, f"{self.discord.mention} hello")
            await self.hears(2)
        self.heard.clear()

    async def hears(self, count: int = 1) -> InboundMessage:
        """Wait until so many messages have been heard since the beginning; the last of them."""
        async with asyncio.timeout(PATIENCE):
            while len(self.heard) < count:
                for task in self.ends:
                    task.result()
                self.came.clear()
                await self.came.wait()
        return self.heard[count - 1]

    async def nothing_but(self, count: int, *rooms: Room) -> None:
        """Exactly so many messages are heard in these rooms (Ada's own, if none is given).

        A last word in each is certainly heard, and after everything else that was said there.
        """
        for room in rooms or [self.discord.dm(self.ada)]:
            self.discord.says(self.ada, room, f"{self.discord.mention} the last word")
        await self.hears(count + len(rooms or [1]))
        texts = [heard.text for heard in self.heard]
        assert texts.count("the last word") == len(rooms or [1]), texts
        assert len(texts) == count + len(rooms or [1]), texts

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Let those who wait know: what they wait for will not come."""
        self.ends.append(task)
        self.came.set()
        self.discord.changed()

    async def _receive(self, spool: Spool) -> None:
        while True:
            message = await spool.receive()
            await spool.begin(message)
            self.heard.append(message)
            await spool.finish([message], None)
            self.came.set()

    async def _notify(self, message: OutboundMessage) -> None:
        self.notices.append(message)
        self.came.set()

    def _people(self) -> People:
        groups: Mapping[str, Listening] = {self.home.id: self.listening}
        known = ConfiguredPeople(
            owners=[self.ada.id],
            members=[self.ben.id],
            groups=groups,
            store_all=[self.home.id] if self.store_all else [],
            bots=self.bots,
        )
        return People(MemoryPeople(), self.clock, {"discord": known})


def at(room: Room) -> Address:
    """The address of a room."""
    return Address("discord", room.parent, room.id) if room.parent else Address("discord", room.id)


def inbound_id(message: Json) -> str:
    return f"discord:{message['channel_id']}:{message['id']}"


def answer(room: Room, text: str, *, to: Json | None = None, **more: Any) -> OutboundMessage:
    """An answer of the bot's, to a message if given."""
    more.setdefault("id", "01JDXANSWER")
    return OutboundMessage(address=at(room), text=text, reply_to=inbound_id(to) if to else None, **more)
