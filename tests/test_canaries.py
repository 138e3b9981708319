"""A canary in each scope, and every door of the bot: none is ever seen from another scope."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope, may_touch
from nanobot.commands.memory import MemoryView, memory_command, recall_command, remember_command
from nanobot.core.commands import Router
from nanobot.errors import ToolError
from nanobot.ids import new_id
from nanobot.memory.recall.index.indexer import Indexer
from nanobot.memory.recall.index.reader import SqliteRecallIndex
from nanobot.memory.recall.ports import SearchLimits
from nanobot.memory.recall.search import LocalRecall
from nanobot.memory.recall.service import written_reader
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.nlp.words import words_of
from nanobot.ports import Caller, ModelInfo
from nanobot.sessions import lines
from nanobot.sessions.store import SessionFiles
from nanobot.store.documents import CachedDocuments, read_frontmatter
from nanobot.tools.approval import Approval
from nanobot.tools.builtin import builtin_tools
from nanobot.tools.paths import Sandbox
from nanobot.tools.policy import ExecPolicy, ToolPolicy
from nanobot.tools.recall import RecallTool
from nanobot.transcript import Message
from nanobot.workspace import Workspace, folder_of
from tests.fakes.bot import Bot
from tests.fakes.clock import FakeClock
from tests.fakes.llm import ScriptedLLM, says
from tests.tools.desk import Person


@dataclass(frozen=True)
class Viewer:
    """Somebody who talks somewhere."""

    who: str
    at: Address
    authority: Authority

    @property
    def caller(self) -> Caller:
        return Caller(self.at, self.authority, "turn", "en", self.who)

    def says(self, text: str) -> InboundMessage:
        return InboundMessage(
            id=new_id(), address=self.at, sender=Sender(self.who, "Ada"), authority=self.authority, text=text
        )


OWNER = Scope.owner()
PERSON, NAMESAKE = Scope.person("telegram", "2"), Scope.person("telegram", "22")
GROUP, ELSEWHERE = Scope.group("telegram", "-100"), Scope.group("discord", "-100")
CANARIES = {OWNER: "kestrel", PERSON: "plover", NAMESAKE: "dunnock", GROUP: "bittern", ELSEWHERE: "siskin"}

FOR_ALL = ("Ring every bird.", "Be kind to birds.")
"""AGENTS.md and SOUL.md: what makes the bot what it is, for everybody."""


def viewer(who: str, role: Role, scope: Scope, at: Address) -> Viewer:
    return Viewer(who, at, Authority(role, scope, Origin.OWNER if role is Role.OWNER else Origin.PERSON))


VIEWERS = {
    "the owner in the terminal": Viewer("local", Address("cli", "default"), OWNER_IN_TERMINAL),
    "the owner alone": viewer("1", Role.OWNER, OWNER, Address("telegram", "1")),
    "a member alone": viewer("2", Role.MEMBER, PERSON, Address("telegram", "2")),
    "a member of a similar id": viewer("22", Role.MEMBER, NAMESAKE, Address("telegram", "22")),
    "the owner in a group": viewer("1", Role.OWNER, GROUP, Address("telegram", "-100")),
    "a member in a topic of it": viewer("2", Role.MEMBER, GROUP, Address("telegram", "-100", "7")),
    "the owner in a group of the same id": viewer("1", Role.OWNER, ELSEWHERE, Address("discord", "-100")),
}


class Planted(Bot):
    """The whole core on a workspace with a canary in every file of every scope, and in what was said there."""

    def __init__(self, root: Path, *, compact: bool = False, recalls: bool = False) -> None:
        workspace = Workspace(root)
        for scope, word in CANARIES.items():
            _plant(workspace, scope, word)
        self.llm = ScriptedLLM(says("fine"), info=ModelInfo("scripted", "scripted-1", 100_000, 1_000, compact=compact))
        self.tools = {
            tool.spec.name: tool
            for tool in builtin_tools(
                Sandbox(workspace), policy=ToolPolicy(Approval(Person()), ExecPolicy(owner="allow"))
            )
        }
        super().__init__(root, self.llm, tools=self.tools.values(), recalls=recalls)
        self.tools["recall"] = RecallTool(self.memories)

    def _router(self) -> Router:
        memory = [
            memory_command(MemoryView(self.shelves, CachedDocuments(), 32768)),
            remember_command(self.shelves),
            recall_command(self.memories),
        ]
        return Router([*super()._router().commands, *memory])

    async def tell(self, who: Viewer, text: str) -> OutboundMessage:
        await self.bus.publish(who.says(text))
        return await self.hear()

    async def talk(self) -> None:
        """Everybody says their canary, each where they talk."""
        for each in VIEWERS.values():
            await self.tell(each, f"my bird is the {CANARIES[each.authority.scope]}")

    async def use(self, tool: str, who: Viewer, **arguments: object) -> str:
        """What the model reads of a tool's result, a refusal included."""
        try:
            return (await self.tools[tool].run(arguments, who.caller)).text
        except ToolError as error:
            return str(error)


def _plant(workspace: Workspace, scope: Scope, word: str) -> None:
    folder = folder_of(scope.name)
    memory = workspace.memory_of(scope.name)
    files = {
        workspace.file("USER.md", scope.name): f"Likes the {word}.\n",
        memory: f"# Memory\n\n- The {word} sings.\n",
        memory.with_name(f"{word}.md"): f"---\nname: {word}\ndescription: about the {word}\n---\nThe {word} flies.\n",
        workspace.media / folder / f"{word}.txt": f"a picture of a {word}\n",
        workspace.spill / folder / f"exec-{word}.txt": f"output of a {word}\n",
        workspace.file("TOOLS.md", scope.name): f"Here the {word} nests.\n",
    }
    if scope == OWNER:
        files |= {
            workspace.agents: f"{FOR_ALL[0]}\n",
            workspace.soul: f"{FOR_ALL[1]}\n",
            workspace.root / "plans" / f"{word}.txt": word,
            workspace.heartbeat: f"Look after the {word}.\n",
            workspace.skills
            / "feeding"
            / "SKILL.md": f"---\ndescription: how to feed a {word}\n---\nFeed the {word}.\n",
        }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def files_of(workspace: Workspace, scope: Scope) -> list[PurePosixPath]:
    """Every planted file of a scope, relative to the workspace."""
    word = CANARIES[scope]
    found = (path for path in workspace.root.rglob("*") if path.is_file() and ".nanobot" not in path.parts)
    inside = (PurePosixPath(path.relative_to(workspace.root)) for path in found if word in path.read_text())
    return sorted(path for path in inside if path.parts[0] != "sessions")


def folders_of(root: Path) -> list[str]:
    """Every folder, hidden ones included, relative to the workspace."""
    return [".", *(str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir())]


def seen(text: object) -> set[Scope]:
    """Whose canaries are in a text."""
    return {scope for scope, word in CANARIES.items() if word in str(text).casefold()}


@pytest.fixture(params=VIEWERS)
def who(request: pytest.FixtureRequest) -> Viewer:
    return VIEWERS[request.param]


def own(who: Viewer) -> set[Scope]:
    return {who.authority.scope}


def others(who: Viewer) -> list[Scope]:
    return [scope for scope in CANARIES if scope != who.authority.scope]


@pytest.mark.parametrize("scope", CANARIES, ids=str)
@pytest.mark.parametrize("other", CANARIES, ids=str)
@pytest.mark.parametrize("role", Role)
def test_everybody_may_touch_their_own_scope_and_guests_none(scope: Scope, other: Scope, role: Role) -> None:
    may = may_touch(Authority(role, scope, Origin.PERSON), other)

    assert may == (scope == other and role is not Role.GUEST)


def test_every_scope_has_files_to_be_found(tmp_path: Path) -> None:
    bot = Planted(tmp_path)

    assert all(len(files_of(bot.workspace, scope)) >= 5 for scope in CANARIES)


@pytest.mark.parametrize("compact", [False, True], ids=["a large model", "a small model"])
async def test_the_prompt_holds_what_is_remembered_and_said_there_and_nothing_else(
    tmp_path: Path, who: Viewer, compact: bool
) -> None:
    bot = Planted(tmp_path, compact=compact)
    async with bot.running():
        await bot.talk()
        await bot.tell(who, "what do you know?")

    request = bot.llm.requests[-1]
    assert seen(request.messages) <= own(who)
    if not compact:  # a small model reads only what fits the question
        assert seen(request.messages[0].content) == own(who)


async def test_of_the_owners_files_only_soul_and_agents_are_in_everybodys_prompt(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    async with bot.running():
        await bot.tell(who, "what do you know?")

    prompt, word = bot.llm.requests[-1].messages[0].content or "", CANARIES[who.authority.scope]
    assert all(text in prompt for text in (*FOR_ALL, f"Likes the {word}.", f"The {word} sings.", f"about the {word}"))
    assert f"Here the {word} nests." in prompt
    assert prompt.count("# TOOLS.md") == 1
    assert (f"how to feed a {word}" in prompt) == (who.authority.scope == OWNER)
    assert "Look after" not in prompt  # nothing reads HEARTBEAT.md yet


async def test_who_has_no_tools_file_of_their_own_reads_nothing_in_its_place(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    bot.workspace.file("TOOLS.md", who.authority.scope.name).unlink()
    async with bot.running():
        await bot.tell(who, "what do you know?")

    prompt = bot.llm.requests[-1].messages[0].content or ""
    assert "# TOOLS.md" not in prompt
    assert "nests" not in prompt


async def test_a_person_who_becomes_an_owner_takes_nothing_along_and_the_other_way_round(tmp_path: Path) -> None:
    member, owner = VIEWERS["a member alone"], VIEWERS["the owner alone"]
    raised, lowered = replace(owner, at=member.at, who=member.who), replace(member, at=owner.at, who=owner.who)
    bot = Planted(tmp_path)
    async with bot.running():
        await bot.talk()
        for who in (raised, lowered):
            await bot.tell(who, "what do you know?")
            assert seen(bot.llm.requests[-1].messages) == own(who)


async def test_a_file_of_another_scope_is_neither_read_nor_changed(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    for scope in others(who):
        for path in files_of(bot.workspace, scope):
            before = (tmp_path / path).read_bytes()
            texts = [
                await bot.use("read_file", who, path=str(path)),
                await bot.use("write_file", who, path=str(path), content="gone"),
                await bot.use("edit_file", who, path=str(path), old_text="the", new_text="gone"),
                await bot.use("grep", who, pattern=".", path=str(path)),
            ]
            assert seen([text.replace(str(path), "") for text in texts]) == set(), path
            assert (tmp_path / path).read_bytes() == before


async def test_ones_own_files_are_read(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    for path in files_of(bot.workspace, who.authority.scope):
        assert seen(await bot.use("read_file", who, path=str(path))) == own(who)


async def test_a_search_from_anywhere_finds_ones_own_only(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    async with bot.running():
        await bot.talk()
        for folder in folders_of(tmp_path):
            found = [
                await bot.use("grep", who, pattern=".", path=folder),
                await bot.use("find_files", who, pattern="**", path=folder),
                await bot.use("list_dir", who, path=folder),
            ]
            assert seen(found) <= own(who), folder
        home = str(folder_of(who.authority.scope.name))
        at_home = [
            await bot.use("grep", who, pattern=".", path=home),
            await bot.use("find_files", who, pattern="**", path=home),
        ]

    assert [seen(text) for text in at_home] == [own(who), own(who)]


async def test_what_leads_elsewhere_by_a_link_or_by_dots_leads_nowhere(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    home = tmp_path / folder_of(who.authority.scope.name)
    for number, scope in enumerate(others(who)):
        for path in files_of(bot.workspace, scope):
            link = home / f"link{number}{path.suffix}"
            link.unlink(missing_ok=True)
            link.symlink_to(tmp_path / path)
            dots = f"{folder_of(who.authority.scope.name)}/../../{path}"
            for typed in (str(link.relative_to(tmp_path)), dots, str(tmp_path / path)):
                text = await bot.use("read_file", who, path=typed)
                assert seen(text.replace(str(path), "")) == set(), typed
    searched = await bot.use("grep", who, pattern=".", path=str(folder_of(who.authority.scope.name)))
    assert seen(searched) == own(who)


async def test_another_name_on_the_disk_opens_no_file_of_another_scope(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    home = tmp_path / folder_of(who.authority.scope.name)
    theirs = [path for scope in others(who) for path in files_of(bot.workspace, scope)]
    for number, path in enumerate(theirs):
        name = home / f"name{number}{path.suffix}"
        name.hardlink_to(tmp_path / path)
        typed, before = str(name.relative_to(tmp_path)), (tmp_path / path).read_bytes()
        texts = [
            await bot.use("read_file", who, path=typed),
            await bot.use("write_file", who, path=typed, content="gone"),
            await bot.use("edit_file", who, path=typed, old_text="the", new_text="gone"),
            await bot.use("grep", who, pattern=".", path=typed),
        ]
        assert seen(texts) == set(), path
        assert (tmp_path / path).read_bytes() == before
    searched = await bot.use("grep", who, pattern=".", path=str(folder_of(who.authority.scope.name)))
    assert seen(searched) == own(who)


async def test_whoever_looks_elsewhere_learns_where_their_own_files_are(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    home = str(folder_of(who.authority.scope.name))

    told = await bot.use("list_dir", who)

    assert who.authority.scope == OWNER or all(f"{part}{home}" in told for part in ("", "media/", "spill/"))


async def test_commands_run_for_the_owner_alone(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)

    text = await bot.use("exec", who, command="cat ../../*.md *.md ../../memory/* memory/* 2>&1")

    assert seen(text) == (own(who) if who.authority.scope == OWNER else set())


async def test_a_guest_reaches_nothing_by_tools(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    guest = replace(who, authority=replace(who.authority, role=Role.GUEST))
    texts = [await bot.use("grep", guest, pattern="."), await bot.use("exec", guest, command="cat *")]
    texts += [
        (await bot.use("read_file", guest, path=str(path))).replace(str(path), "")
        for scope in CANARIES
        for path in files_of(bot.workspace, scope)
    ]

    assert seen(texts) == set()


async def test_the_commands_show_ones_own_memory_only(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    async with bot.running():
        await bot.talk()
        asked = ["/memory", "/status", "/sessions", "/help", "/model"]
        asked += [f"/memory {CANARIES[scope]}" for scope in others(who)]
        answers = {text: (await bot.tell(who, text)).text for text in asked}
        note = (await bot.tell(who, f"/memory {CANARIES[who.authority.scope]}")).text

    for text, answer in answers.items():
        argument = text.partition(" ")[2]
        assert seen(answer.replace(argument, "") if argument else answer) <= own(who), text
    assert seen(answers["/memory"]) == own(who)
    assert "flies" in note


async def test_in_a_group_the_list_of_sessions_is_that_of_the_group(tmp_path: Path) -> None:
    bot = Planted(tmp_path)
    async with bot.running():
        await bot.talk()
        alone = (await bot.tell(VIEWERS["the owner alone"], "/sessions")).text
        in_group = (await bot.tell(VIEWERS["the owner in a group"], "/sessions")).text

    assert {row.split(" ")[1] for row in alone.splitlines()} == {each.at.session_key for each in VIEWERS.values()}
    assert {row.split(" ")[1] for row in in_group.splitlines()} == {"telegram:-100", "telegram:-100:7"}


async def test_what_is_remembered_goes_to_ones_own_memory(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    async with bot.running():
        before = {scope: bot.workspace.memory_of(scope.name).read_text() for scope in CANARIES}
        await bot.tell(who, "/remember The heron is grey")
        after = {scope: bot.workspace.memory_of(scope.name).read_text() for scope in CANARIES}

    assert {scope for scope in CANARIES if before[scope] != after[scope]} == own(who)
    assert "heron" in after[who.authority.scope]


async def test_recall_within_a_scope_finds_nothing_of_another(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path)
    async with bot.running():
        await bot.talk()

    found = await asyncio.to_thread(recalled, bot.workspace, who.authority.scope)

    assert seen(found) == own(who)


async def test_the_recall_tool_finds_ones_own_and_nothing_else(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path, recalls=True)
    async with bot.running():
        await bot.talk()
        found = await bot.use("recall", who, query=" ".join(CANARIES.values()), limit=20)
        each = [await bot.use("recall", who, query=f"my bird {CANARIES[scope]}") for scope in others(who)]
        guest = replace(who, authority=replace(who.authority, role=Role.GUEST))
        as_guest = await bot.use("recall", guest, query=" ".join(CANARIES.values()))

    assert seen(found) == own(who)
    assert all(seen(text) <= own(who) for text in each)
    assert seen(as_guest) == set()


async def test_the_recall_command_shows_ones_own_and_nothing_else(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path, recalls=True)
    async with bot.running():
        await bot.talk()
        answer = (await bot.tell(who, f"/recall {' '.join(CANARIES.values())}")).text

    assert seen(answer) == own(who)


async def test_a_message_comes_with_memories_of_ones_own_scope_only(tmp_path: Path, who: Viewer) -> None:
    bot = Planted(tmp_path, recalls=True)
    for number, viewer in enumerate(VIEWERS.values()):
        _write_past(bot.workspace, viewer, number)
    async with bot.running():
        await bot.memories.find("nothing", who.authority)
        await bot.tell(who, "Which feathers does my favourite bird have?")

    line = bot.llm.requests[-1].messages[-1]
    assert "<relevant_memories>" in (line.context or "")
    assert seen(line.context) == own(who)


def _write_past(workspace: Workspace, viewer: Viewer, number: int) -> None:
    """An earlier conversation of a viewer, in a session of its own."""
    key = f"{viewer.at.channel}:earlier{number}"
    word = CANARIES[viewer.authority.scope]
    told = [f"Number {other} is about a ship and its crew." for other in range(40)]
    told.append(f"My favourite bird, the {word}, has grey feathers.")
    said = [
        Message(
            role="user", id=new_id(), at="2026-02-01T09:00:00+00:00", turn=new_id(), content=text,
            scope=viewer.authority.scope.name,
        )
        for text in told
    ]  # fmt: skip
    path = SessionFiles(workspace).path(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines.header(key, said[0].at) + lines.encode(said)[0])


def recalled(workspace: Workspace, scope: Scope) -> str:
    """What a search for all canaries within a scope finds."""
    index = SqliteRecallIndex(workspace.recall_index)
    try:
        Indexer(index.database, workspace, words_of, written_reader(read_frontmatter)).sync()
        words, within = " ".join(CANARIES.values()), SearchLimits(scopes=frozenset({scope.name}))
        return str(LocalRecall(index).search(words, now=FakeClock().now(), k=50, within=within, around=3))
    finally:
        index.close()
