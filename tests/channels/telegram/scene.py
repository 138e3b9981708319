"""A bot on a fake Telegram: the real channel, door, spool and media folder, and a clock that the test owns."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Self, TypeVar

from nanobot.bus.spool import Spool
from nanobot.channels.access import PeoplePolicy as Door
from nanobot.channels.platform import PlatformStatus
from nanobot.channels.registry import ChannelServices, MenuCommand
from nanobot.channels.telegram.channel import TelegramChannel
from nanobot.channels.telegram.settings import TelegramSettings, Webhook
from nanobot.errors import LLMError, StoreError
from nanobot.http import ServerLimits
from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage
from nanobot.people.people import ConfiguredPeople, People
from nanobot.ports import Delivery
from nanobot.sessions.media import MediaFolder
from nanobot.workspace import Workspace
from tests.fakes.clock import FakeClock
from tests.fakes.people import MemoryPeople
from tests.fakes.telegram_server import FakeTelegram
from tests.fakes.telegram_world import Chat, Person

OWNER = 1
MEMBER = 2
STRANGER = 99
GARDEN = -1001
"""A supergroup where the bot answers when it is named."""
KITCHEN = -1002
"""One where all is kept."""
MENU = (
    MenuCommand("new", {"en": "start afresh", "zh": "重新开始"}),
    MenuCommand("dream-log", {"en": "x", "zh": "梦"}),
)

T = TypeVar("T")


class Ears:
    """A Transcriber that hears what the test says."""

    def __init__(self, hears: str | LLMError = "buy milk") -> None:
        self.hears = hears

    async def transcribe(self, path: Path, mime: str) -> str:
        assert await asyncio.to_thread(path.is_file)
        if isinstance(self.hears, LLMError):
            raise self.hears
        return self.hears


class _Marks:
    """The bookmarks of a scene, on the disk that may be full."""

    def __init__(self, scene: "Scene") -> None:
        self._scene = scene

    async def mark(self, key: str, value: str) -> None:
        if self._scene.full:
            raise StoreError("no room")
        await self._scene.spool.mark(key, value)

    async def marks(self, prefix: str) -> Mapping[str, str]:
        return await self._scene.spool.marks(prefix)


class Scene:
    """Everything; `async with` it. `full` lets every publish fail, as a full disk does."""

    def __init__(self, telegram: FakeTelegram, root: Path) -> None:
        self.telegram = telegram
        self.world = telegram.world
        self.clock = FakeClock()
        self.workspace = Workspace(root / "workspace")
        self.spool = Spool(root / "spool.db", self.clock)
        self.media = MediaFolder(self.workspace)
        self.ears: Ears | None = Ears()
        self.webhook: Webhook | None = None
        self.limits: ServerLimits | None = None
        self.api_base = telegram.api_base
        self.proxy: str | None = None
        self.token = telegram.token
        self.full = False
        self.refused = 0
        self.commands: Sequence[MenuCommand] = ()
        self.configured = ConfiguredPeople(
            owners=[str(OWNER)],
            members=[str(MEMBER)],
            groups={str(GARDEN): "mention", str(KITCHEN): "reply"},
            store_all=[str(KITCHEN)],
        )
        self.states: list[PlatformStatus] = []
        self.bot = self.make_bot()
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._closing.enter_async_context(self.spool)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.bot.aclose()
        await self._closing.aclose()

    def make_bot(self) -> TelegramChannel:
        people = People(MemoryPeople(), self.clock, {"telegram": self.configured})
        services = ChannelServices(
            access=Door(people, self.spool.send, self.clock),
            media=self.media,
            transcriber=self.ears,
            bookmarks=_Marks(self),
            clock=self.clock,
            notify=self.spool.send,
            language=lambda _: "en",
            changed=lambda: self.states.append(self.bot.status()),
            menu=self.commands,
        )
        settings = TelegramSettings(token=self.token, api_base=self.api_base, proxy=self.proxy, webhook=self.webhook)
        return TelegramChannel(settings, services, self.limits)

    async def reborn(self) -> None:
        """Another process takes over, with what the settings are now."""
        await self.bot.aclose()
        self.bot = self.make_bot()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """The bot listens; what it raised is raised at the end."""
        listening = asyncio.create_task(self.bot.listen(self.publish))
        try:
            yield
        finally:
            if not listening.done():
                listening.cancel()
            await asyncio.wait([listening])
            if not listening.cancelled() and (error := listening.exception()):
                raise error

    async def publish(self, message: InboundMessage) -> None:
        if self.full:
            self.refused += 1
            raise StoreError("no room")
        await self.spool.publish(message)

    async def dies(self, when: Callable[[], bool]) -> None:
        """Listen until then, and end as a killed process does: nothing is written any more."""
        async with self.listening():
            await self.until(when)
            self.full = True
        self.full = False
        await self.reborn()

    async def passing(self, work: Awaitable[T], *, tick: float = 0.1) -> T:
        """Let time pass until something is there."""
        waiting = asyncio.ensure_future(work)
        async with asyncio.timeout(120):
            while not waiting.done():
                self.clock.advance(tick)
                await asyncio.wait([waiting], timeout=0.004)
        return await waiting

    async def until(self, condition: Callable[[], bool], *, tick: float = 0.1) -> None:
        async with asyncio.timeout(120):
            while not condition():
                self.clock.advance(tick)
                await asyncio.sleep(0.004)

    async def hears(self) -> InboundMessage:
        """The next message on the bus; it counts as answered."""
        message = await self.passing(self.spool.receive())
        await self.spool.finish([message], None)
        return message

    async def says(self) -> OutboundMessage:
        """The next message on its way out; it counts as delivered."""
        delivery = await self.passing(self.spool.outgoing("telegram"))
        assert isinstance(delivery, Delivery)
        await self.spool.attempting(delivery.message.id)
        await self.spool.arrived(delivery.message.id, "1:1")
        await self.spool.delivered(delivery.message.id)
        return delivery.message

    async def nothing_more(self) -> None:
        """All is read, and nothing of it is left: nothing to answer, nothing on its way out."""
        await self.passing(self.telegram.read())
        await self.until(lambda: True)
        backlog = await self.spool.backlog()
        assert (backlog.waiting_in, dict(backlog.waiting_out)) == (0, {})

    def owner(self) -> Person:
        return self.world.person(OWNER, "Ada", "ada")

    def member(self) -> Person:
        return self.world.person(MEMBER, "Bob", "bob")

    def stranger(self) -> Person:
        return self.world.person(STRANGER, "Eve", "eve")

    def garden(self) -> Chat:
        return self.world.group(GARDEN, "Garden")

    def kitchen(self) -> Chat:
        return self.world.group(KITCHEN, "Kitchen")

    def content(self, file: Attachment) -> bytes:
        return self.media.path(file).read_bytes()


def private(person: int = OWNER) -> Address:
    return Address("telegram", str(person))
