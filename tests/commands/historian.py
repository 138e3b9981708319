"""Somebody who asks about the history of what is remembered, in a workspace where dreams are dreamt."""

import re
from pathlib import Path
from threading import Lock

from nanobot.aio import ReadersWriterLock
from nanobot.app.memory import workspace_files
from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.commands.history import HistoryCommands, history_commands
from nanobot.commands.history_words import told
from nanobot.commands.memory import remember_command
from nanobot.core.commands import CommandAnswer, CommandCall, Router
from nanobot.i18n import Language
from nanobot.memory.changes import VersionedWriter
from nanobot.memory.history import Revert, Timeline
from nanobot.memory.proposals import Proposals
from nanobot.memory.provenance import MessageLookup, Provenance
from nanobot.memory.scopes import MemoryRegistry
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.ports import Version
from nanobot.store.documents import CachedDocuments, MemoryFolder, read_frontmatter
from nanobot.store.state import ProposalsFile
from nanobot.workspace import Workspace
from tests.memory.dream.bedroom import OWNER, Bedroom

ADA = Authority(Role.OWNER, OWNER, Origin.OWNER)
BOB = Authority(Role.MEMBER, Scope.person("telegram", "7"), Origin.PERSON)
IN_GROUP = Authority(Role.MEMBER, Scope.group("telegram", "-1"), Origin.PERSON)
ADA_IN_GROUP = Authority(Role.OWNER, Scope.group("telegram", "-1"), Origin.OWNER)


class Historian:
    """Types commands. Everything behind them is real."""

    def __init__(self, bedroom: Bedroom) -> None:
        self.bedroom = bedroom
        self.is_dreaming = False
        self.erasure_lock = ReadersWriterLock()
        workspace, versions = Workspace(bedroom.root), bedroom.versions
        documents = CachedDocuments()
        self.writer = VersionedWriter(versions, bedroom.sessions)
        self.shelves = MemoryRegistry(
            workspace,
            lambda path: MemoryFolder(path, documents),
            read_frontmatter,
            bedroom.clock,
            32_768,
            self.writer,
        )
        files = workspace_files(workspace, Lock())
        store = ProposalsFile(workspace.proposals)
        self.proposals = Proposals(store, self.writer, files, self.shelves, bedroom.clock, self.erasure_lock)
        timeline = Timeline(versions)
        self.history = HistoryCommands(
            timeline,
            Provenance(versions, MessageLookup(bedroom.episodes, bedroom.sessions)),
            Revert(versions, timeline, self.writer, self.shelves, bedroom.clock, self.erasure_lock),
            self._is_dreaming,
        )
        self._router = Router([*history_commands(self.history, told), remember_command(self.shelves)])

    async def types(self, text: str, authority: Authority = ADA, language: Language = "en") -> CommandAnswer:
        """What the bot answers to a command."""
        found = self._router.find(text)
        assert found is not None
        command, argument = found
        message = InboundMessage(
            id="telegram:1:99", address=Address("telegram", "1"), sender=Sender("1"), authority=authority, text=text
        )
        return await command.handler(CommandCall(message, argument, language))

    async def says(self, text: str, authority: Authority = ADA, language: Language = "en") -> str:
        """What it says, if it did what it was asked."""
        answer = await self.types(text, authority, language)
        assert not answer.failed, answer.text
        return answer.text

    async def refuses(self, text: str, authority: Authority = ADA) -> str:
        """Why it does not."""
        answer = await self.types(text, authority)
        assert answer.failed, answer.text
        return answer.text

    async def newest(self) -> Version:
        return (await self.bedroom.versions.log(1))[0]

    async def _is_dreaming(self) -> bool:
        return self.is_dreaming


def memory_of(root: Path) -> dict[str, bytes]:
    """The long-term files as they are on disk, without tombstones."""
    found = (path for path in root.rglob("*.md") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def version_in(text: str) -> str:
    """The last number of a version that a text names."""
    found: list[str] = re.findall(r"\b[0-9a-f]{7}\b", text)
    return found[-1]
