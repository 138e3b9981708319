"""The memory of each scope: its files, its facts, its notes."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from nanobot.authority import Scope
from nanobot.memory.changes import VersionedWriter
from nanobot.memory.facts import Facts
from nanobot.memory.notes import Notebook
from nanobot.ports import Clock, MemoryStore, ReadFrontmatter
from nanobot.workspace import Workspace, folder_of, is_guarded, scope_of

# The files of memory by name, and where those of a scope lie.


MEMORY, USER, SOUL = "MEMORY.md", "USER.md", "SOUL.md"


@dataclass(frozen=True)
class ScopePaths:
    """Paths of a scope's files, relative to the workspace."""

    scope: Scope

    @cached_property
    def folder(self) -> str:
        """Folder of MEMORY.md and the notes."""
        return "memory" if self.scope.is_owner else folder_of(self.scope.name).as_posix()

    @cached_property
    def fixed(self) -> Mapping[str, str]:
        """The paths of the files that are no notes, by name."""
        if self.scope.is_owner:
            return {MEMORY: f"{self.folder}/{MEMORY}", USER: USER, SOUL: SOUL}
        return {MEMORY: f"{self.folder}/{MEMORY}", USER: f"{self.folder}/{USER}"}

    @property
    def within(self) -> Sequence[str]:
        """The files and folders in which they are."""
        return tuple(dict.fromkeys([*self.fixed.values(), self.folder]))

    def is_note(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        if folder != self.folder or path in self.fixed.values():
            return False
        return name.endswith(".md") and not is_guarded(PurePosixPath(path))


# What is remembered, scope by scope.


KEPT = 256
"""Shelves kept in memory; one that was not used for long is opened anew."""

OpenMemory = Callable[[Path], MemoryStore]


@dataclass(frozen=True, slots=True)
class ScopeMemory:
    """One scope's memory: USER.md, and MEMORY.md with the notes beside it."""

    user: Path
    notebook: Notebook
    facts: Facts


class MemoryRegistry:
    """Opens the memory of a scope; whoever asks has made sure that the scope may be touched."""

    def __init__(
        self,
        workspace: Workspace,
        open_memory: OpenMemory,
        read_frontmatter: ReadFrontmatter,
        clock: Clock,
        budget: int,
        keeping: VersionedWriter | None = None,
    ) -> None:
        """`open_memory` makes the store around a path of MEMORY.md; `budget`: bytes of MEMORY.md in the prompt.

        `keeping` makes what people ask to remember versions of its own.
        """
        self._workspace = workspace
        self._open_memory = open_memory
        self._read_frontmatter = read_frontmatter
        self._clock = clock
        self._budget = budget
        self._keeping = keeping
        self._open: OrderedDict[Scope, ScopeMemory] = OrderedDict()

    def of(self, scope: Scope) -> ScopeMemory:
        """The shelf of a scope; nothing is made on disk before something is remembered."""
        shelf = self._open.get(scope)
        if shelf is None:
            shelf = self._open[scope] = self._make(scope)
            if len(self._open) > KEPT:
                self._open.popitem(last=False)
        self._open.move_to_end(scope)
        return shelf

    def written(self, path: Path) -> str:
        """Take in that a file was written; returns its line in the index of notes, "" if it is no note. Blocks."""
        inside = path.relative_to(self._workspace.root)
        return self.of(Scope(scope_of(PurePosixPath(inside)))).notebook.written(path)

    def _make(self, scope: Scope) -> ScopeMemory:
        path = self._workspace.memory_of(scope.name)
        store = self._open_memory(path)
        folder = path.parent.relative_to(self._workspace.root).as_posix()
        user = self._workspace.user_of(scope.name)
        notebook = Notebook(
            store,
            self._read_frontmatter,
            self._clock,
            folder=folder,
            user=user.relative_to(self._workspace.root).as_posix(),
        )
        facts = Facts(store, notebook, self._clock, budget=self._budget, keeping=self._keeping)
        return ScopeMemory(user, notebook, facts)
