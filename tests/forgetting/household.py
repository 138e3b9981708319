"""A home in which everything is used, and everything tells of one thing that somebody wants to have forgotten."""

import asyncio
import logging
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from nanobot.app.bot import Bot, build_bot
from nanobot.app.context import AppContext
from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.bus.memory import MemoryBus
from nanobot.bus.spool import Spool
from nanobot.commands.forget import ForgetAnswer, ForgetRequester, forget_at_shell
from nanobot.config import load
from nanobot.forgetting.request import Reach
from nanobot.memory.changes import Commit, Operation, write
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.memory.recall.index.indexer import open_recall
from nanobot.memory.recall.service import written_reader
from nanobot.messages import Address, InboundMessage, OutboundMessage, Quote, Sender
from nanobot.nlp.words import words_of
from nanobot.ops.logs import log_to
from nanobot.ports import Bus, Edit, Fact, ProposedChange
from nanobot.ports.people import Paired, PeopleBook
from nanobot.sessions.media import MediaFolder
from nanobot.sessions.store import SessionManager
from nanobot.store.documents import read_frontmatter
from nanobot.store.state import PeopleFile
from nanobot.store.template import prepare, template_folder
from nanobot.transcript import Archived, Message, ToolCall
from nanobot.workspace import Home, Workspace
from tests.fakes.clock import START, FakeClock
from tests.fakes.episodes import episode

SECRET = "marzipan"
"""The word that is to be forgotten."""

OTHER = "lighthouse"
"""A word that stands beside it everywhere, and is to stay."""

MEMBER = Authority(Role.MEMBER, Scope.person("telegram", "555"), Origin.PERSON)
OWNER_TELEGRAM = Address("telegram", "7")
MEMBER_TELEGRAM = Address("telegram", "555")

_MEMORY = "memory/MEMORY.md"


def at(minutes: float = 0.0, *, days: int = 0) -> str:
    return (START + timedelta(minutes=minutes, days=days)).isoformat(timespec="milliseconds")


class Household:
    """Opens the bot there, as the program does, with a bus in memory or the spool."""

    def __init__(self, root: Path, *, config: str = "") -> None:
        self.home = Home(root)
        self.space = Workspace(self.home.workspace)
        self.clock = FakeClock()
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.home.config.exists():
            self.home.config.write_text(config or "language: en\n", encoding="utf-8")
        prepare(self.space, template_folder())

    def bot(self, bus: Bus | None = None) -> Bot:
        config = load(self.home, env={})
        return build_bot(AppContext(config, self.home, self.space, self.clock, bus or MemoryBus()), "en")

    async def furnish(self) -> None:
        """Use everything."""
        log_to(self.home.log, "info", "text", str)
        await self._talk()
        await self._remember()
        await self._put_by()
        await self._wait()
        await asyncio.to_thread(self.index)

    def index(self) -> None:
        """Bring the search index up to the files. Blocks."""
        index, keeper = open_recall(self.space, words_of, written_reader(read_frontmatter))
        keeper.sync()
        keeper.close()
        assert index

    async def _talk(self) -> None:
        history = EpisodeStore(self.space, fsync=False)
        picture = await MediaFolder(self.space).save(Scope.owner(), "scan.txt", "text/plain", _pieces(b"a picture"))
        await self.say(
            "cli:default",
            user("m1", "t1", f"My blood type is {SECRET}, you know.", files=(picture,)),
            answer("m2", "t1", "I shall keep that in mind."),
            user("m3", "t2", f"I live in a {OTHER}."),
            answer("m4", "t2", "How nice."),
            Archived(at=at(), through="m4", cursor=1),
            user("m5", "t3", "What do you know of me?", context=_context()),
            answer("m6", "t3", f"You live in a {OTHER}, and there is {SECRET}."),
            user("m7", "t4", "Look it up.", quotes=(Quote(f"the {SECRET} affair", by="Eve"),)),
            answer("m8", "t4", "", calls=(ToolCall("c1", "search", f'{{"words": "{SECRET}"}}'),)),
            tool("m9", "t4", f"1\t- the blood type is {SECRET}\n2\t- lives in a {OTHER}\n"),
            answer("m10", "t4", "Done."),
        )
        path = self.space.sessions / "cli" / "default.jsonl"
        with path.open("ab") as file:
            file.write(f'{{"type":"message","id":"broken {SECRET}\n'.encode())
        path.with_name("default.jsonl.torn").write_bytes(f'{{"type":"message","content":"{SECRET}'.encode())
        await self.say(
            OWNER_TELEGRAM.session_key,
            user("n1", "u1", "Good morning, how are you today?", scope="owner"),
            answer("n2", "u1", "Fine."),
        )
        await self.say(
            MEMBER_TELEGRAM.session_key,
            user("k1", "v1", "I am Bob, and I like walnuts.", scope=MEMBER.scope.name, sender=Sender("555", "Bob")),
            answer("k2", "v1", "Hello Bob."),
        )
        await history.append(
            episode(
                f"- told the blood type ({SECRET})\n- lives in a {OTHER}",
                session="cli:default",
                messages=("m1", "m4"),
                facts=[Fact(f"the blood type is {SECRET}", ("m1",)), Fact(f"lives in a {OTHER}", ("m3",))],
            )
        )
        await history.append(
            episode("- Bob likes walnuts", session="telegram:555", scope=MEMBER.scope.name, messages=("k1", "k2"))
        )

    async def say(self, key: str, *lines: Message | Archived) -> None:
        sessions = SessionManager(self.space, fsync=False)
        await sessions.append(await sessions.load(key), *lines)

    async def _remember(self) -> None:
        versions = self.bot().keep.memory.versions
        await versions.ensure()
        await self._change(
            f"# Memory\n\n- the blood type is {SECRET} (2026-03-02)\n- lives in a {OTHER} (2026-03-02)\n",
            Operation("add", _MEMORY, text=f"the blood type is {SECRET}", messages=("m1",)),
            Operation("add", _MEMORY, text=f"lives in a {OTHER}", messages=("m3",)),
        )
        await self._change(
            f"# Memory\n\n- lives in a {OTHER} (2026-03-02)\n- should not give blood (2026-03-02)\n",
            Operation(
                "replace", _MEMORY, before=f"the blood type is {SECRET}", text="should not give blood", messages=("m1",)
            ),
        )
        note = "memory/health.md"
        await versions.commit(
            {note: Edit(None, f"---\nsummary: health and {SECRET}\n---\n{SECRET} it is.\n".encode())},
            write(Commit(kind="tool", subject="A note", operations=(Operation("write", note, messages=("m1",)),))),
        )
        self.bot().keep.memory.shelves.of(Scope.owner()).notebook.update()

    async def _change(self, text: str, *operations: Operation) -> None:
        versions = self.bot().keep.memory.versions
        before = (await versions.files([_MEMORY])).get(_MEMORY)
        commit = Commit(kind="dream", subject="A dream", operations=operations, scopes=("owner",))
        await versions.commit({_MEMORY: Edit(before, text.encode())}, write(commit), "dream")

    async def _put_by(self) -> None:
        """Files of the program's own, and of the person's."""
        space, home = self.space, self.home
        space.spill.mkdir(mode=0o700, exist_ok=True)
        (space.spill / "search-1.txt").write_text(f"much about {SECRET}\n" * 9, encoding="utf-8")
        (space.spill / "search-2.txt").write_text(f"much about a {OTHER}\n", encoding="utf-8")
        home.terminal_history.write_text(
            f"\n# 2026-03-02 10:15:00.1\n+my blood type is {SECRET}\n"
            f"\n# 2026-03-02 10:16:00.1\n+I live in a {OTHER}\n+and like it\n"
            f"\n# 2026-03-02 10:17:00.1\n+/forget {SECRET}\n",
            encoding="utf-8",
        )
        log = logging.getLogger("nanobot.test")
        log.warning("by mishap: %s", SECRET)
        log.warning("nothing of note about a %s", OTHER)
        home.log.with_name("nanobot.log.1").write_text(f"2026-03-01 old {SECRET}\n", encoding="utf-8")
        (space.state / "people.json.damaged").write_text(f'{{"name": "{SECRET}', encoding="utf-8")
        space.heartbeat.write_text(f"- ask about {SECRET}\n- look at the {OTHER}\n", encoding="utf-8")
        before = (await self.bot().keep.memory.versions.files([_MEMORY]))[_MEMORY]
        for name, line in {"A": f"hates {SECRET}", "B": f"has seen a {OTHER}"}.items():
            edit = Edit(before, before + f"- {line}\n".encode())
            idea = ProposedChange(
                id=name, scope="owner", edits={_MEMORY: edit}, at=at(), turn=name, address=OWNER_TELEGRAM
            )
            assert await self.bot().keep.memory.proposals.put(idea) == ""
        await self.bot().keep.models.choose("cli:default", "embedded")
        bob = Paired(channel="telegram", id="555", chat="555", role=Role.MEMBER, at=START, by="machine", name="Bob")
        await PeopleFile(space).write(PeopleBook(people=(bob,)))

    async def _wait(self) -> None:
        """Messages on their way."""
        async with Spool(self.space.spool, self.clock) as spool:
            await spool.publish(inbound("in1", f"and the {SECRET}?"))
            await spool.publish(inbound("in2", f"and the {OTHER}?"))
            await spool.publish(inbound("in3", f"{SECRET} is mine", MEMBER, MEMBER_TELEGRAM))
            await spool.send(OutboundMessage(id="out1", address=OWNER_TELEGRAM, text=f"{SECRET}!", turn="u1"))
            await spool.send(OutboundMessage(id="out2", address=OWNER_TELEGRAM, text=f"{OTHER}!", turn="u1"))
            await spool.mark("telegram:held:9", f'{{"text": "{SECRET}"}}')
            await spool.mark("telegram:offset", "12")

    # What is done with it.

    async def forget(self, *words: str, scope: str = "*", bus: Bus | None = None) -> ForgetAnswer:
        """At the shell: show, then yes; the receipt."""
        forgetting = self.bot(bus).forgetting
        shown = await forget_at_shell(forgetting, ["en", scope, "show", *words])
        if not shown.token:
            return shown
        return await forget_at_shell(forgetting, ["en", scope, "yes", shown.token, str(shown.number or "")])

    async def forget_as(self, authority: Authority, words: str) -> ForgetAnswer:
        """In a chat."""
        forgetting = self.bot().forgetting
        asker = ForgetRequester("x", Reach(frozenset({authority.scope.name})), "en", "/forget", MEMBER_TELEGRAM)
        shown = await forgetting.show(words, asker)
        return await forgetting.yes(shown.token, str(shown.number or ""), asker) if shown.token else shown

    async def said(self, key: str) -> Sequence[tuple[str, str | None]]:
        """Role and content of the messages of a conversation."""
        messages = await SessionManager(self.space, fsync=False).messages(key)
        return [(message.role, message.content) for message in messages]

    def spool(self) -> Spool:
        return Spool(self.space.spool, self.clock)

    def holding(self, word: str) -> Sequence[str]:
        """Every file in the home in which a word stands, and the history if it does in any object."""
        found = [str(path.relative_to(self.home.root)) for path in files_in(self.home.root) if _holds(path, word)]
        return sorted([*found, *(["(git objects)"] if word.encode() in self._objects() else [])])

    def _objects(self) -> bytes:
        return git(self.space, "cat-file", "--batch-all-objects", "--batch")


def files_in(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file())


def git(space: Workspace, *arguments: str) -> bytes:
    command = ["git", f"--git-dir={space.versions}", *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout


def _holds(path: Path, word: str) -> bool:
    return word.casefold().encode() in path.read_bytes().lower()


def user(name: str, turn: str, text: str, **more: Any) -> Message:
    fields = {"sender": Sender("local", "Ada"), "origin": Origin.OWNER, "scope": "owner", "at": at(), **more}
    return Message(role="user", content=text, id=name, turn=turn, **fields)


def answer(name: str, turn: str, text: str, *, calls: Sequence[ToolCall] = (), when: str = "") -> Message:
    return Message(role="assistant", content=text or None, id=name, at=when or at(), turn=turn, tool_calls=calls)


def tool(name: str, turn: str, text: str) -> Message:
    return Message(role="tool", content=text, id=name, at=at(), turn=turn, tool_call_id="c1", origin=Origin.TOOL)


def inbound(
    name: str, text: str, authority: Authority = OWNER_IN_TERMINAL, address: Address = OWNER_TELEGRAM
) -> InboundMessage:
    return InboundMessage(id=name, address=address, sender=Sender("7", "Ada"), authority=authority, text=text)


def _context() -> str:
    memories = f"<relevant_memories>\n- My blood type is {SECRET}, you know.\n</relevant_memories>"
    return f"<context>\ntime: now\n</context>\n{memories}"


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data
