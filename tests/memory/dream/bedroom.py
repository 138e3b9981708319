"""A workspace in which conversations become episodes, and dreams are dreamt."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock

from nanobot.aio import ReadersWriterLock
from nanobot.app.memory import workspace_files
from nanobot.authority import Origin, Scope, least
from nanobot.memory.changes import Commit, VersionedWriter, parse
from nanobot.memory.dream.dream import Dream, DreamModelSlot
from nanobot.memory.dream.input import DreamStores
from nanobot.memory.dream.operations import DreamLimits
from nanobot.memory.dream.report import DreamReport
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.memory.proposals import Proposals
from nanobot.memory.scopes import MemoryRegistry
from nanobot.memory.versions.store import GitVersions
from nanobot.ports import LLM, Edit, Episode, Fact, VersionStore
from nanobot.ports.models import at_once
from nanobot.sessions.store import SessionManager
from nanobot.store.documents import CachedDocuments, MemoryFolder, read_frontmatter
from nanobot.store.state import DreamFiles, ProposalsFile
from nanobot.tokens import TokenEstimator
from nanobot.transcript import Message, MessageRole
from nanobot.workspace import Workspace
from tests.fakes.clock import FakeClock
from tests.fakes.llm import Answer, ScriptedLLM
from tests.fakes.versions import InMemoryVersions

OWNER = Scope.owner()
MEMORY = "memory/MEMORY.md"
BASE = {
    "SOUL.md": "You are calm.\n",
    "USER.md": "# The user\n\n- likes tea\n",
    "AGENTS.md": "Be kind.\n",
    MEMORY: "# Memory\n\n## Garden\n- the pump hangs on pin 4\n- the roses are red\n",
}


@dataclass(frozen=True)
class Line:
    """A message: who said it, and how far it can be trusted."""

    text: str
    role: MessageRole = "user"
    origin: Origin = Origin.OWNER


def by_tool(text: str, origin: Origin = Origin.WEB) -> Line:
    return Line(text, "tool", origin)


class Bedroom:
    """Everything around Dream is real but the model, which is the test's, and the history unless `git` is wanted."""

    def __init__(self, root: Path, *, limits: DreamLimits | None = None, git: bool = False) -> None:
        self.root = root
        self._git = git
        self.clock = FakeClock()
        self.limits = limits or DreamLimits()
        self.told = 0
        self.llm = ScriptedLLM()
        self.next_at: datetime | None = None
        self._ids = 0
        self.wake()

    def wake(self) -> None:
        """A new process."""
        workspace = Workspace(self.root)
        self.episodes = EpisodeStore(workspace, fsync=False)
        self.sessions = SessionManager(workspace, fsync=False)
        self.versions: VersionStore = (
            GitVersions(workspace, self.clock) if self._git else InMemoryVersions(self.root, self.clock)
        )
        self._build()

    def _build(self) -> None:
        workspace = Workspace(self.root)
        self.book = DreamFiles(workspace)
        self.shelves = MemoryRegistry(
            workspace, lambda path: MemoryFolder(path, CachedDocuments()), read_frontmatter, self.clock, 32_768
        )
        keeping = VersionedWriter(self.versions, self.sessions)
        files = workspace_files(workspace, Lock())
        waiting = ProposalsFile(workspace.proposals)
        self.proposals = Proposals(waiting, keeping, files, self.shelves, self.clock, ReadersWriterLock())
        stores = DreamStores(self.episodes, self.sessions, self.versions, self.book, self.proposals)
        mind = DreamModelSlot(lambda: (self._mind(), TokenEstimator()), at_once, lambda: self.next_at)
        self.dream = Dream(stores, self.shelves, mind, self.clock, self.limits, self._changed)

    async def began(self) -> "Bedroom":
        """With the files of BASE as the first version."""
        for path, text in BASE.items():
            self.write(path, text)
        await self.versions.ensure()
        return self

    def write(self, path: str, text: str) -> None:
        """As an editor does."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def read(self, path: str) -> str:
        file = self.root / path
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def files(self) -> dict[str, bytes]:
        """All files that a person sees, but for the history."""
        found = (path for path in self.root.rglob("*") if path.is_file() and "memory/.git" not in path.as_posix())
        return {str(path.relative_to(self.root)): path.read_bytes() for path in found}

    async def happened(
        self,
        *lines: Line | str,
        facts: Sequence[str] = (),
        scope: Scope = OWNER,
        session: str = "telegram:1",
        content: str = "",
    ) -> Episode:
        """Something is said, and becomes an episode. The fact of each number rests on the line of that number."""
        said = [Line(line) if isinstance(line, str) else line for line in lines]
        messages = [self._message(line, scope) for line in said]
        await self.sessions.append(await self.sessions.load(session), *messages)
        return await self.episodes.append(
            Episode(
                cursor=0,
                timestamp=messages[0].at,
                session=session,
                scope=scope,
                origin=least(*(line.origin for line in said)),
                messages=(messages[0].id, messages[-1].id),
                content=content or "\n".join(f"- {line.text}" for line in said),
                facts=[Fact(text, [message.id]) for text, message in zip(facts, messages, strict=False)],
            )
        )

    async def sleep(self, *answers: Answer) -> DreamReport:
        """Dream with a model that answers so."""
        self.answers(*answers)
        return await self.dream.run("asked")

    def keeps_history_in(self, versions: VersionStore) -> None:
        """Use this history from now on."""
        self.versions = versions
        self._build()

    async def commits(self) -> list[Commit]:
        """What Dream has committed, the newest first."""
        found = [parse(version.message) for version in await self.versions.log(author="dream")]
        return [commit for commit in found if commit]

    async def edit(self, path: str, text: str | None, message: str = "x") -> None:
        """A change by the program on somebody's word."""
        files = await self.versions.files([path])
        await self.versions.commit({path: Edit(files.get(path), None if text is None else text.encode())}, message)

    def answers(self, *answers: Answer) -> None:
        self.llm = ScriptedLLM(*answers, info=self.llm.info)

    def _mind(self) -> LLM:
        return self.llm

    async def _changed(self) -> None:
        self.told += 1

    def _message(self, line: Line, scope: Scope) -> Message:
        self._ids += 1
        name = f"m{self._ids}"
        at = self.clock.now().isoformat(timespec="milliseconds")
        is_user = line.role == "user"
        return Message(
            role=line.role,
            content=line.text,
            id=name,
            at=at,
            turn=name,
            origin=line.origin,
            scope=scope.name if is_user else None,
            tool_call_id=None if is_user else "c1",
        )
