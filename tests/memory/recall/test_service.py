"""The index follows what is said, and whoever searches is never kept waiting by it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.errors import StoreError
from nanobot.ids import new_id
from nanobot.memory.recall.index.indexer import open_recall
from nanobot.memory.recall.ports import Progress, RecallIndex, RecallKeeper
from nanobot.memory.recall.service import RecallService, written_reader
from nanobot.messages import Sender
from nanobot.nlp.words import words_of
from nanobot.sessions.store import SessionManager
from nanobot.store.documents import read_frontmatter
from nanobot.transcript import Message
from nanobot.workspace import Workspace
from tests.fakes.clock import FakeClock

KEY = "cli:a"


class House:
    """Sessions and the memories that follow them."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root)
        self.clock = FakeClock()
        self.open = partial(open_recall, self.workspace, words_of, written_reader(read_frontmatter))
        self.memories = RecallService(self.open, self.clock)
        self.store = SessionManager(self.workspace, fsync=False, on_append=lambda key: self.memories.appended(key))

    async def say(self, text: str, *, turn: str = "") -> None:
        at = self.clock.now().isoformat()
        session = await self.store.load(KEY)
        said = Message(
            role="user",
            id=new_id(),
            at=at,
            turn=turn or new_id(),
            content=text,
            scope="owner",
            sender=Sender("1", "Ada"),
        )
        await self.store.append(session, said)

    async def find(self, query: str, authority: Authority = OWNER_IN_TERMINAL, **options: object) -> Sequence[str]:
        found = await self.memories.find(query, authority, **options)  # type: ignore[arg-type]
        return [hit.said.text for hit in found.hits]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.memories.run())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "workspace")


async def test_what_was_said_before_and_what_is_said_now_is_found(house: House) -> None:
    await house.say("the marmot whistles")
    async with house.running():
        assert await house.find("marmot") == ["the marmot whistles"]
        await house.say("the badger digs")
        assert (await house.find("badger"))[0] == "the badger digs"


async def test_what_somebody_else_wrote_meanwhile_is_found(house: House) -> None:
    await house.say("the marmot whistles")
    async with house.running():
        await house.find("marmot")
        path = house.workspace.sessions / "cli" / "a.jsonl"
        path.write_bytes(path.read_bytes().replace(b"marmot", b"wolverine"))
        house.workspace.user.write_text("Likes otters.\n")
        assert await house.find("wolverine") == ["the wolverine whistles"]
        assert await house.find("otters") == ["Likes otters."]


async def test_the_words_of_the_running_turn_are_not_what_is_looked_for(house: House) -> None:
    async with house.running():
        await house.say("the marmot whistles at dawn")
        await house.say("when does the marmot whistle?", turn="now")
        assert await house.find("when does the marmot whistle?", but=(KEY, "now")) == ["the marmot whistles at dawn"]


async def test_a_guest_finds_nothing(house: House) -> None:
    await house.say("the marmot whistles")
    async with house.running():
        assert await house.find("marmot", Authority(Role.GUEST, Scope.owner(), Origin.PERSON)) == []


class SlowKeeper:
    """Reads until it is told to go on, and tells how far it is."""

    def __init__(self, keeper: RecallKeeper) -> None:
        self._keeper = keeper
        self.go_on = threading.Event()
        self.begun = threading.Event()

    def sync(self, progress: Progress | None = None) -> int:
        changed = self._keeper.sync()
        if progress and not self.go_on.is_set():
            progress(40, 100)
            self.begun.set()
            self.go_on.wait(20)
            progress(100, 100)
        return changed

    def appended(self, session: str) -> None:
        self._keeper.appended(session)

    def look(self, scope: str) -> None:
        self._keeper.look(scope)

    def embed(self) -> bool:
        return self._keeper.embed()

    def rebuild(self, progress: Progress | None = None) -> None:
        self._keeper.rebuild(progress)

    def close(self) -> None:
        self._keeper.close()


async def test_an_index_that_is_being_built_serves_what_it_holds_and_says_so(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanobot.memory.recall.service.PATIENCE", 0.05)
    await house.say("the marmot whistles")
    index, keeper = await asyncio.to_thread(house.open)
    slow = SlowKeeper(keeper)
    house.memories = RecallService(lambda: (index, slow), house.clock)
    async with house.running():
        await asyncio.to_thread(slow.begun.wait, 20)
        try:
            found = await house.memories.find("marmot", OWNER_IN_TERMINAL)
            assert [hit.said.text for hit in found.hits] == ["the marmot whistles"]
            assert found.unread == pytest.approx(0.6)
            await house.memories.relevant("does my marmot whistle?", OWNER_IN_TERMINAL, k=5)
            await house.say("turns go on")
        finally:
            slow.go_on.set()
        monkeypatch.setattr("nanobot.memory.recall.service.PATIENCE", 20)
        assert (await house.memories.find("marmot", OWNER_IN_TERMINAL)).unread == 0


async def test_an_index_that_cannot_be_opened_is_an_error_for_who_searches_and_for_nobody_else(house: House) -> None:
    def fail() -> tuple[RecallIndex, RecallKeeper]:
        raise StoreError("the disk is full")

    house.memories = RecallService(fail, house.clock)
    async with house.running():
        with pytest.raises(StoreError, match="full"):
            await house.find("marmot")
        assert await house.memories.relevant("where is my marmot?", OWNER_IN_TERMINAL, k=5) == ()
        await house.say("turns go on")


class FailingKeeper:
    """A keeper with a bug for as long as it `fails`."""

    def __init__(self, keeper: RecallKeeper) -> None:
        self._keeper = keeper
        self.fails = True

    def __getattr__(self, name: str) -> object:
        return self._fail if self.fails and name != "close" else getattr(self._keeper, name)

    def _fail(self, *_: object) -> None:
        raise RuntimeError("Input is too long for context length 512")


async def test_a_bug_in_the_index_ends_nothing_and_is_told_until_it_is_up_to_date_again(house: House) -> None:
    index, keeper = await asyncio.to_thread(house.open)
    failing = FailingKeeper(keeper)
    house.memories = RecallService(lambda: (index, failing), house.clock)  # type: ignore[arg-type, return-value]
    async with house.running() as task:
        await house.say("the marmot whistles")
        assert await house.find("marmot") == []
        assert await house.memories.relevant("where is my marmot?", OWNER_IN_TERMINAL, k=5) == ()
        assert "RuntimeError" in house.memories.last_error
        failing.fails = False
        assert await house.find("marmot") == ["the marmot whistles"]
        assert house.memories.last_error == ""
        assert not task.done()


async def test_an_index_that_could_not_be_opened_is_opened_when_it_can_be(house: House) -> None:
    can_open = False

    def attempt() -> tuple[RecallIndex, RecallKeeper]:
        if not can_open:
            raise RuntimeError("no such module: fts5")
        return house.open()

    await house.say("the marmot whistles")
    house.memories = RecallService(attempt, house.clock)
    with pytest.raises(StoreError):
        await house.memories.run()
    with pytest.raises(StoreError):
        await house.find("marmot")
    can_open = True
    async with house.running():
        await asyncio.sleep(0)  # it begins
        assert await house.find("marmot") == ["the marmot whistles"]
        assert house.memories.last_error == ""


async def test_a_file_that_cannot_be_read_costs_what_stands_in_it(house: House) -> None:
    await house.say("the marmot whistles")
    (house.workspace.sessions / "cli" / "b.jsonl").mkdir()
    async with house.running():
        assert await house.find("marmot") == ["the marmot whistles"]


async def test_a_rebuild_forgets_what_no_file_holds(house: House) -> None:
    await house.say("the marmot whistles")
    async with house.running():
        await house.find("marmot")
        path = house.workspace.sessions / "cli" / "a.jsonl"
        path.write_bytes(path.read_bytes().replace(b"the marmot whistles", b"nothing"))
        await house.memories.rebuild()
        assert await house.find("marmot") == []
        assert not [file for file in house.workspace.cache.iterdir() if b"marmot" in file.read_bytes()]
