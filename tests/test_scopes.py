"""Everybody tries every tool and every command on everything that is somebody else's, through the real bot.

Each file has a token of its own that stands in no path and is never typed, so whatever holds it was read.
"""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from nanobot.app.bot import Bot, build_bot
from nanobot.app.context import AppContext, build_people
from nanobot.authority import Authority, Scope
from nanobot.bus.memory import MemoryBus
from nanobot.channels.access import Contact, PeoplePolicy
from nanobot.commands.admin import Pairing, link_command, pair_command
from nanobot.config import load
from nanobot.errors import ToolError
from nanobot.ids import new_id
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.ops.supervisor import Supervisor
from nanobot.ports import Caller
from nanobot.store.template import prepare, template_folder
from nanobot.workspace import Home, Workspace, folder_of
from tests.fakes.clock import FakeClock
from tests.fakes.gateway import GatewayProcess, configure
from tests.fakes.openai_answers import Answer, Json, call, is_for_itself, nothing_new, say
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.telegram_server import FakeTelegram
from tests.fakes.telegram_world import Chat

OWNERS = Scope.owner()
ADA, BEN, DAN = Scope.person("telegram", "2"), Scope.person("telegram", "22"), Scope.person("discord", "4")
GARDEN, ATTIC = Scope.group("telegram", "-100"), Scope.group("discord", "-100")
SCOPES = (OWNERS, ADA, BEN, DAN, GARDEN, ATTIC)

FILES = ("USER.md", "MEMORY.md", "garden.md", "TOOLS.md", "media/photo.txt", "spill/exec-1.txt", "plans/list.txt")
OF_OWNERS = ("HEARTBEAT.md", "skills/cook/SKILL.md")
CLOSED = (
    ".nanobot/state/notes.json", ".nanobot/cache/words.txt", "memory/history.jsonl.torn", "memory/tombstones/a.json",
    "sessions/telegram/77.jsonl", "cron/jobs.yaml", "project/.git/config", "config.yaml", "terminal_history",
)  # fmt: skip
"""Open to nobody; the last two lie beside the workspace."""

_TOKEN = re.compile(r"zq(\d+)[a-z]+\d+qz")


def tokens_in(text: str) -> set[str]:
    """Whose tokens stand in a text: names of scopes, "closed"."""
    return {"closed" if found == "99" else SCOPES[int(found)].name for found in _TOKEN.findall(text)}


def path_of(scope: Scope, file: str) -> str:
    """Where a file of a scope lies, relative to the workspace."""
    folder, inside = folder_of(scope.name), Path(file)
    if inside.parts[0] in ("media", "spill"):
        return str(Path(inside.parts[0]) / folder / inside.name)
    if scope == OWNERS and file in ("MEMORY.md", "garden.md"):
        return f"memory/{file}"
    return str(folder / file)


@dataclass(frozen=True)
class Viewer:
    """Somebody who talks somewhere, and whose memory that opens."""

    channel: str
    who: str
    chat: str
    scope: Scope

    @property
    def address(self) -> Address:
        return Address(self.channel, self.chat)

    @property
    def contact(self) -> Contact:
        groups = [self.chat] if self.chat.startswith("-") else []
        return Contact(id=new_id(), address=self.address, sender=Sender(self.who, "Dan (id 1, owner)"), groups=groups)


VIEWERS = {
    "the owner alone": Viewer("telegram", "1", "1", OWNERS),
    "a member alone": Viewer("telegram", "2", "2", ADA),
    "a member of a similar id": Viewer("telegram", "22", "22", BEN),
    "a member on the other channel": Viewer("discord", "4", "4", DAN),
    "the owner in a group": Viewer("telegram", "1", "-100", GARDEN),
    "a member in the group": Viewer("telegram", "2", "-100", GARDEN),
    "another member in the group": Viewer("telegram", "22", "-100", GARDEN),
    "a member in a group of the same id": Viewer("discord", "4", "-100", ATTIC),
}
LINKED = Viewer("discord", "4", "4", ADA)
"""Who had been on their own, as long as the two are linked."""


def plant(root: Path, home: Path) -> None:
    """A token in every file of everybody, and in what is nobody's to see."""
    for number, scope in enumerate(SCOPES):
        for at, file in enumerate((*FILES, *(OF_OWNERS if scope == OWNERS else ()))):
            token = f"zq{number}bird{at}qz"
            head = f"---\ndescription: a bird {token}\n---\n" if file.endswith(("garden.md", "SKILL.md")) else ""
            _put(root / path_of(scope, file), f"{head}- The bird is a {token} and sings.\n")
    for at, file in enumerate(CLOSED):
        token = f"zq99bird{at}qz"
        if file == "config.yaml":
            with (home / file).open("a") as more:
                more.write(f"\n# {token}\n")
        else:
            _put((home if file == "terminal_history" else root) / file, f'{{"bird": "{token}"}}\n')


def _put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@dataclass
class Town:
    """The whole bot, and a token in every file of everybody."""

    home: Path
    server: FakeOpenAI
    bus: MemoryBus = field(default_factory=MemoryBus)
    clock: FakeClock = field(default_factory=FakeClock)
    heard: list[OutboundMessage] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home.mkdir(mode=0o700)
        model = {"base_url": self.server.base_url, "model": "fake", "attempts": 1, "context_window": 1_000_000}
        people = {"token": "1:AAnobody", "owners": ["1"], "members": ["2", "22"], "groups": {"-100": "open"}}
        others = {
            "token": "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "members": ["4"],
            "groups": {"-100": "open"},
        }
        allow = ["git", "cat", "ls", "grep", "rg", "find", "head", "sort"]
        settings = {"tools": {"exec": {"owner": "deny", "allow": allow}}, "language": "en"}
        config = {"models": {"fake": model}, "telegram": people, "discord": others, **settings}
        (self.home / "config.yaml").write_text(json.dumps(config))
        self.config = load(Home(self.home), env={})
        self.workspace = Workspace(self.config.workspace)
        prepare(self.workspace, template_folder())
        self.root = self.workspace.root
        plant(self.root, self.home)
        self.people = build_people(self.config, self.workspace, self.clock)
        self.door = PeoplePolicy(self.people, self.bus.send, self.clock)
        ground = AppContext(self.config, Home(self.home), self.workspace, self.clock, self.bus, self.people)
        commands = [pair_command(Pairing(self.people, self.bus.send)), link_command(self.people)]
        self.bot: Bot = build_bot(ground, "en", commands)
        self.tools = {tool.spec.name: tool for tool in self.bot.agent._tools}

    def foreign(self, viewer: Viewer) -> Iterator[Path]:
        """Every file that somebody else has, or nobody may see."""
        for scope in SCOPES:
            if scope != viewer.scope:
                yield from (
                    self.root / path_of(scope, file) for file in (*FILES, *(OF_OWNERS if scope == OWNERS else ()))
                )
        for file in CLOSED:
            yield self.home / file if file in ("config.yaml", "terminal_history") else self.root / file

    async def authority(self, viewer: Viewer) -> Authority:
        admission = await self.door.admit(viewer.contact)
        assert admission is not None
        assert admission.authority.scope == viewer.scope
        return admission.authority

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Town"]:
        searching = Supervisor("search", self.bot.keep.memories.run, self.clock)
        tasks = [asyncio.create_task(self.bot.dispatcher.run()), asyncio.create_task(searching.run())]
        try:
            async with asyncio.timeout(120):
                yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await self.bot.keep.models.aclose()

    async def tell(self, viewer: Viewer, text: str) -> str:
        """Say something; all that was said in return, the request to the model included."""
        requests, message = len(self.server.requests), new_id()
        await self.bus.publish(
            InboundMessage(
                id=message,
                address=viewer.address,
                sender=viewer.contact.sender,
                authority=await self.authority(viewer),
                text=text,
            )
        )
        said = [await self._answer()]
        return "\n".join([*said, *(each.raw.decode() for each in self.server.requests[requests:])])

    async def _answer(self) -> str:
        said = ""
        async with asyncio.timeout(60):
            while True:
                item = await self.bus.outgoing()
                said += f"\n{item.text}"
                if isinstance(item, OutboundMessage) and not item.settles:
                    return said


def obeying(body: Json) -> Answer:
    """A model that does what it is told, and tells all that came of it."""
    if is_for_itself(body):
        return nothing_new(body)
    said = body["messages"][-1]
    if said["role"] == "tool":
        return say(json.dumps([each["content"] for each in body["messages"][-40:] if each["role"] == "tool"]))
    found = re.search(r"^do (\[.*)", said["content"], re.MULTILINE)
    return call(*((name, arguments) for name, arguments in json.loads(found[1]))) if found else say("well")


SPELLINGS: Mapping[str, Callable[[Town, Viewer, Path], str]] = {
    "plain": lambda town, viewer, path: os.path.relpath(path, town.root),
    "a second name": lambda town, viewer, path: _at_home(town, viewer, path, os.link),
    "a symbolic link": lambda town, viewer, path: _at_home(town, viewer, path, os.symlink),
    "absolute": lambda town, viewer, path: str(path),
    "dots": lambda town, viewer, path: f"{_home(viewer)}/{os.path.relpath(path, town.root / _home(viewer))}",
    "through /proc": lambda town, viewer, path: f"/proc/self/root{path}",
    "capitals": lambda town, viewer, path: os.path.relpath(path, town.root).upper(),
    "trailing dots": lambda town, viewer, path: "./" + os.path.relpath(path, town.root).replace("/", "./") + ".",
    "invisible": lambda town, viewer, path: os.path.relpath(path, town.root).replace("o", "o\u200d"),
    "wide": lambda town, viewer, path: os.path.relpath(path, town.root).replace("e", "\uff45"),
    "decomposed": lambda town, viewer, path: os.path.relpath(path, town.root).replace("k", "\u212a"),
    "percent": lambda town, viewer, path: os.path.relpath(path, town.root).replace("-", "%2D"),
    "a URL": lambda town, viewer, path: f"file://{path}",
    "a folder above": lambda town, viewer, path: os.path.relpath(path.parent, town.root),
}


def _home(viewer: Viewer) -> str:
    return str(folder_of(viewer.scope.name))


def _at_home(town: Town, viewer: Viewer, path: Path, make: Callable[[Path, Path], None]) -> str:
    """Another name of a file, in the folder of whoever looks."""
    name = town.root / _home(viewer) / f"{make.__name__}-{abs(hash(path))}{path.suffix}"
    name.parent.mkdir(parents=True, exist_ok=True)
    name.unlink(missing_ok=True)
    make(path, name)
    return os.path.relpath(name, town.root)


Calls = Sequence[tuple[str, Mapping[str, object]]]

TRIES: Mapping[str, Callable[[str], Calls]] = {
    "read_file": lambda path: [("read_file", {"path": path})],
    "write_file": lambda path: [("write_file", {"path": path, "content": "gone"})],
    "edit_file": lambda path: [("edit_file", {"path": path, "old_text": "bird", "new_text": "gone"})],
    "list_dir": lambda path: [("list_dir", {"path": path})],
    "find_files": lambda path: [("find_files", {"pattern": "**", "path": path})],
    "grep": lambda path: [("grep", {"pattern": "bird", "path": path})],
    "recall": lambda path: [("recall", {"query": "which bird sings?", "limit": 20})],
    "exec": lambda path: [
        ("exec", {"command": command.format(path=f"'{path}'")})
        for command in (
            "cat {path}",
            "grep -r bird {path}",
            "rg bird {path}",
            "git diff --no-index a {path}",
            "ls {path}",
        )
    ],
}
"""Of each tool of the house, what is tried with a path."""


@pytest.fixture
async def town(private_home: Path) -> AsyncIterator[Town]:
    async with FakeOpenAI() as server:
        server.otherwise = obeying
        yield Town(private_home, server)


def of(*quick: str) -> Sequence[object]:
    """All viewers; those who are not named take part where there is time."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in VIEWERS]


async def test_no_tool_of_the_house_is_left_out(town: Town) -> None:
    assert set(TRIES) == set(town.tools)


@pytest.mark.parametrize("who", of("the owner alone", "a member in the group"))
@pytest.mark.parametrize(
    "spelling", [*list(SPELLINGS)[:2], *(pytest.param(each, marks=pytest.mark.slow) for each in list(SPELLINGS)[2:])]
)
async def test_no_tool_reaches_what_is_somebody_elses_however_it_is_named(town: Town, who: str, spelling: str) -> None:
    viewer = VIEWERS[who]
    before = {path: path.read_bytes() for path in town.foreign(viewer)}
    authority = await town.authority(viewer)
    for path in before:
        typed = SPELLINGS[spelling](town, viewer, path)
        for tool, arguments in (each for name, tries in TRIES.items() if name != "recall" for each in tries(typed)):
            caller = Caller(viewer.address, authority, new_id(), "en", viewer.who)
            try:
                text = repr(await town.tools[tool].run(arguments, caller))
            except ToolError as error:
                text = str(error)
            assert tokens_in(text) <= {viewer.scope.name}, (tool, typed)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("who", of("a member alone", "the owner in a group"))
async def test_everybody_reads_their_own_and_nothing_else_comes_to_the_model_or_out(town: Town, who: str) -> None:
    viewer = VIEWERS[who]
    own = [path_of(viewer.scope, file) for file in FILES]
    reads: Calls = [("read_file", {"path": path}) for path in own]
    strange = [SPELLINGS["plain"](town, viewer, path) for path in town.foreign(viewer)][::7]
    tries: Calls = [each for path in strange for tool in ("read_file", "grep", "recall") for each in TRIES[tool](path)]
    async with town.running():
        prompt = await town.tell(viewer, "The bird sings.")
        told = await town.tell(viewer, f"do {json.dumps([*reads, *tries])}")

    assert tokens_in(prompt) == {viewer.scope.name}
    assert {f"zq{SCOPES.index(viewer.scope)}bird{at}qz" for at in range(len(FILES))} <= set(
        re.findall(r"zq\w+qz", told)
    )
    assert tokens_in(told) == {viewer.scope.name}
    assert not town.server.illegal


IN_ALL_MEMORIES = {"dream"}
"""An owner's, who has all memories gone through, each by itself; what it answers is numbers."""

ARGUMENTS = ("", "bird", "user", "garden", "1", "--all", "people/telegram-2/USER.md", "telegram:2", "person:telegram-2")


@pytest.mark.parametrize("arguments", [ARGUMENTS[:2], pytest.param(ARGUMENTS[2:], marks=pytest.mark.slow)])
@pytest.mark.parametrize("who", of("a member in the group"))
async def test_no_command_shows_what_is_somebody_elses(town: Town, who: str, arguments: Sequence[str]) -> None:
    viewer = VIEWERS[who]
    async with town.running():
        for each in VIEWERS.values():
            await town.tell(each, "The bird sings.")
        names = [command.name for command in town.bot.commands if command.name not in IN_ALL_MEMORIES]
        told = {
            f"/{name} {argument}": await town.tell(viewer, f"/{name} {argument}".strip())
            for name in names
            for argument in arguments
        }

    assert len(names) > 15
    assert [command for command, text in told.items() if tokens_in(text) - {viewer.scope.name}] == []
    assert viewer.scope.name in tokens_in(told.get("/memory garden") or told["/memory "])


async def test_who_is_linked_reads_that_memory_and_no_other_and_their_own_again_afterwards(town: Town) -> None:
    dan, ada = VIEWERS["a member on the other channel"], VIEWERS["a member alone"]
    every: Calls = [
        ("read_file", {"path": path_of(scope, file)}) for scope in (DAN, ADA, BEN, OWNERS) for file in FILES[:3]
    ]
    look = f"do {json.dumps([*every, ('recall', {'query': 'which bird sings?', 'limit': 20})])}"
    async with town.running():
        alone = await town.tell(dan, look)
        code = re.search(r"/link (\w+)", await town.tell(ada, "/link"))
        assert code
        await town.tell(dan, f"/link {code[1]}")
        linked = await town.tell(LINKED, look)
        other = await town.tell(ada, look)
        await town.tell(LINKED, "/link off")
        again, theirs = await town.tell(dan, look), await town.tell(ada, look)

    assert [tokens_in(text) for text in (alone, linked, other)] == [{DAN.name}, {ADA.name}, {ADA.name}]
    assert [tokens_in(text) for text in (again, theirs)] == [{DAN.name}, {ADA.name}]


@dataclass
class Street:
    """The real gateway, on Telegram."""

    server: FakeOpenAI
    telegram: FakeTelegram

    def __post_init__(self) -> None:
        world = self.telegram.world
        self.group = world.group(-100, "Garden")
        self.owner, self.ada, self.ben = world.person(1, "Olga"), world.person(2, "Ada"), world.person(22, "Ben (id 1)")

    async def until(self, seen: Callable[[], object]) -> None:
        """Wait for it."""
        while not seen():  # noqa: ASYNC110  the fakes have no common event
            await asyncio.sleep(0.05)


@pytest.fixture
async def street(private_home: Path) -> AsyncIterator[Street]:
    async with FakeOpenAI() as server, FakeTelegram() as telegram, asyncio.timeout(120):
        server.otherwise = obeying
        people = {"owners": ["1"], "members": ["2", "22"], "groups": {"-100": "open"}}
        says = {"token": telegram.token, "api_base": telegram.api_base, **people}
        configure(private_home, server.base_url, telegram=says, tools={"exec": {"member": "ask"}})
        plant(private_home / "workspace", private_home)
        street = Street(server, telegram)
        async with GatewayProcess(private_home) as gateway:
            await gateway.says("^telegram: up")
            yield street
            assert await gateway.stop() == 0


@pytest.mark.slow
async def test_through_telegram_nobody_is_told_what_is_somebody_elses(street: Street) -> None:
    reads: Calls = [("read_file", {"path": path_of(scope, file)}) for scope in SCOPES for file in FILES[:4]]
    look = f"do {json.dumps([*reads, ('grep', {'pattern': 'bird'}), ('recall', {'query': 'bird', 'limit': 20})])}"
    private = [(street.owner, OWNERS), (street.ada, ADA), (street.ben, BEN)]
    for person, chat, scope in [
        *((who, who.chat, scope) for who, scope in private),
        (street.ben, street.group, GARDEN),
    ]:
        before = len(street.server.requests)
        person.says(look, chat)
        await street.until(partial(_tells, chat))
        sent = "\n".join(each.raw.decode() for each in street.server.requests[before:])
        assert tokens_in(sent) == {scope.name}
        assert tokens_in("\n".join(chat.shown)) == {scope.name}


def _tells(chat: Chat) -> bool:
    return any("zq" in each.text for each in chat.by_bot)


@pytest.mark.slow
async def test_through_telegram_nobody_decides_for_another_member(street: Street) -> None:
    group, command = street.group, {"command": "echo sings$((40+2))"}
    street.ada.says(f"do {json.dumps([('exec', command)])}", group)
    await street.until(lambda: any(each.buttons for each in group.by_bot))
    question, asked = next(each for each in group.by_bot if each.buttons), len(street.server.requests)
    press = street.ben.presses(question, "For this session")
    await street.until(lambda: street.telegram.world.presses[press] is not None)
    assert len(street.server.requests) == asked  # it still waits
    street.ada.presses(question, "For this session")
    await street.until(lambda: any("sings42" in text for text in group.shown))
    street.ben.says(f"do {json.dumps([('exec', command)])}", group)
    await street.until(lambda: any(each.buttons for each in group.by_bot if each.id != question.id))
    assert len(street.server.requests) == asked + 2  # what was allowed was Ada's
