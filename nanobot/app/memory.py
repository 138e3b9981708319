"""What is remembered and how it came about, wired as configured; none of it asks a model."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from threading import Lock

from nanobot.agent.archive import Archive
from nanobot.commands.history import History, IsDreaming, history_commands
from nanobot.commands.history_state import HistoryState
from nanobot.commands.history_words import told
from nanobot.commands.memory import View
from nanobot.commands.memory_shell import MemoryShell
from nanobot.commands.router import Command
from nanobot.config import Config
from nanobot.errors import StoreError, ToolError, VersionError
from nanobot.memory.commits import by_hand
from nanobot.memory.keeping import Keeping
from nanobot.memory.proposals import Proposals, WorkspaceFiles
from nanobot.memory.provenance import Provenance
from nanobot.memory.reverting import Reverting
from nanobot.memory.shelves import Shelves
from nanobot.memory.timeline import Timeline
from nanobot.memory.versioned import WithoutIndex
from nanobot.memory.witnesses import Witnesses
from nanobot.ports import Clock, Documents, Edit, Episodes, SessionStore, VersionStore
from nanobot.store.frontmatter import read_frontmatter
from nanobot.store.memory_folder import MemoryBeside, MemoryFolder
from nanobot.store.proposals import ProposalsFile
from nanobot.store.repo.versions import GitVersions, VersionsBeside
from nanobot.tools.disk import Disk
from nanobot.tools.paths import Place, Sandbox
from nanobot.workspace import Workspace, scope_of


@dataclass(frozen=True, slots=True)
class Remembered:
    """The parts. `files` is held by whoever replaces a file that the tools, the history and the index all write;
    `waiting` is where the proposals are.
    """

    workspace: Workspace
    files: Lock
    versions: VersionStore
    keeping: Keeping
    shelves: Shelves
    proposals: Proposals
    waiting: ProposalsFile
    history: History
    state: HistoryState

    @property
    def commands(self) -> Sequence[Command]:
        """The slash commands about the history."""
        return history_commands(self.history, told)

    def shell(self, view: View) -> MemoryShell:
        """What `nanobot memory` does; `view` shows what is remembered."""
        return MemoryShell(self.history, view, partial(asyncio.to_thread, _scopes, self.workspace))


@dataclass(frozen=True, slots=True)
class Records:
    """What was said, and what it was summarised to."""

    sessions: SessionStore
    episodes: Episodes
    is_beside: bool = False
    """Whether another process writes all this, and it is only read here."""


def build_memory(
    config: Config,
    workspace: Workspace,
    clock: Clock,
    documents: Documents,
    records: Records,
    is_dreaming: IsDreaming,
    archive: Archive,
) -> Remembered:
    """`is_dreaming`: whether memory is being changed from past conversations now."""
    files, passage = Lock(), archive.consolidator.passage
    kept, opened = (VersionsBeside, MemoryBeside) if records.is_beside else (GitVersions, MemoryFolder)
    versions = kept(workspace, WithoutIndex(), clock, by_hand, files)
    keeping = Keeping(versions, records.sessions, archive.recollection.origin)
    shelves = Shelves(
        workspace,
        lambda path: opened(path, documents, files),
        read_frontmatter,
        clock,
        budget=config.memory.budget.memory,
        keeping=keeping,
    )
    waiting = ProposalsFile(workspace.proposals)
    proposals = Proposals(waiting, keeping, workspace_files(workspace, files), shelves, clock, passage)
    timeline = Timeline(versions)
    history = History(
        timeline,
        Provenance(versions, Witnesses(records.episodes, records.sessions)),
        Reverting(versions, timeline, keeping, shelves, clock, passage),
        is_dreaming,
    )
    return Remembered(workspace, files, versions, keeping, shelves, proposals, waiting, history, HistoryState(versions))


def workspace_files(workspace: Workspace, lock: Lock) -> WorkspaceFiles:
    """Any file of the workspace, as the tools read and replace them: no link is followed."""
    disk = Disk(Sandbox(workspace), lock)

    def place(path: str) -> Place:
        return Place(disk.sandbox.root, PurePosixPath(path), in_workspace=True)

    def read(path: str) -> bytes | None:
        try:
            return disk.read_if_any(place(path))
        except ToolError as error:
            raise StoreError(str(error)) from error

    def replace(path: str, edit: Edit) -> None:
        try:
            if read(path) != edit.before:
                raise VersionError("conflict", f"changed meanwhile: {path}", paths=[path])
            if edit.after is None:
                disk.remove(place(path))
            else:
                disk.replace(place(path), edit.before, edit.after)
        except ToolError as error:
            raise StoreError(str(error)) from error

    return WorkspaceFiles(read, replace)


def _scopes(workspace: Workspace) -> Collection[str]:
    """The names of those who have a memory here."""
    folders = (folder for kind in ("people", "groups") for folder in (workspace.root / kind).glob("*"))
    inside = (PurePosixPath(folder.relative_to(workspace.root)) for folder in folders if folder.is_dir())
    return {"owner", *map(scope_of, inside)}
