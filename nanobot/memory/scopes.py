"""The memory of each scope: its files, its facts, its notes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath

from nanobot.authority import Scope
from nanobot.memory.changes import VersionedWriter
from nanobot.memory.facts import Facts
from nanobot.memory.notes import Notebook
from nanobot.memory_files import BY_NAME, FILES, MEMORY, USER
from nanobot.ports import Clock, MemoryStore, ReadFrontmatter
from nanobot.workspace import Workspace, is_guarded, place_of, scope_of

# Paths of a scope's files.


@dataclass(frozen=True)
class ScopePaths:
    """Paths of a scope's files, relative to the workspace."""

    scope: Scope

    @cached_property
    def folder(self) -> str:
        """Folder of MEMORY.md and the notes."""
        return place_of(BY_NAME[MEMORY], self.scope.name).parent.as_posix()

    @cached_property
    def fixed(self) -> Mapping[str, str]:
        """Paths, by name, of the files that Dream writes and that are no notes; MEMORY.md first."""
        own = [file for file in FILES if file.dream and (file.of == "each" or self.scope.is_owner)]
        return {file.name: place_of(file, self.scope.name).as_posix() for file in reversed(own)}

    @cached_property
    def proposed(self) -> Mapping[str, str]:
        """Paths, by name, of the files among them that change only with an owner's yes."""
        return {name: path for name, path in self.fixed.items() if BY_NAME[name].dream == "proposes"}

    @property
    def within(self) -> Sequence[str]:
        """The files and folders in which they are."""
        return tuple(dict.fromkeys([*self.fixed.values(), self.folder]))

    def is_note(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        if folder != self.folder or path in self.fixed.values():
            return False
        return name.endswith(".md") and not is_guarded(PurePosixPath(path))


# Registry of the memories of all scopes.


KEPT = 256
"""Shelves kept in memory; one that was not used for long is opened anew."""

OpenMemory = Callable[[Path], MemoryStore]


@dataclass(frozen=True, slots=True)
class ScopeMemory:
    """Memory of one scope: its files of facts by name, and MEMORY.md with the notes beside it as a notebook."""

    files: Mapping[str, Path]
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
        writer: VersionedWriter | None = None,
    ) -> None:
        """`open_memory` makes the store around a path of MEMORY.md; `budget`: bytes of MEMORY.md in the prompt.

        `writer` makes what people ask to remember versions of its own.
        """
        self._workspace = workspace
        self._open_memory = open_memory
        self._read_frontmatter = read_frontmatter
        self._clock = clock
        self._budget = budget
        self._writer = writer
        self._opened = lru_cache(KEPT)(self._make)

    def of(self, scope: Scope) -> ScopeMemory:
        """The memory of a scope; nothing is made on disk before something is remembered."""
        return self._opened(scope)

    def written(self, path: Path) -> str:
        """Take in that a file was written; returns its line in the index of notes, "" if it is no note. Blocks."""
        inside = path.relative_to(self._workspace.root)
        return self.of(Scope(scope_of(PurePosixPath(inside)))).notebook.written(path)

    def _make(self, scope: Scope) -> ScopeMemory:
        path = self._workspace.memory_of(scope.name)
        store = self._open_memory(path)
        files = {file.name: self._workspace.file(file.name, scope.name) for file in FILES if file.is_of_scope}
        notebook = Notebook(
            store,
            self._read_frontmatter,
            self._clock,
            folder=path.parent.relative_to(self._workspace.root).as_posix(),
            user=place_of(BY_NAME[USER], scope.name).as_posix(),
        )
        facts = Facts(store, notebook, self._clock, budget=self._budget, writer=self._writer)
        return ScopeMemory(files, notebook, facts)
