"""What is remembered, scope by scope."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nanobot.authority import Scope
from nanobot.memory.facts import Facts
from nanobot.memory.keeping import Keeping
from nanobot.memory.notebook import Notebook
from nanobot.ports import Clock, MemoryStore, ReadFrontmatter
from nanobot.workspace import Workspace, scope_of

KEPT = 256
"""Shelves kept in memory; one that was not used for long is opened anew."""

OpenMemory = Callable[[Path], MemoryStore]


@dataclass(frozen=True, slots=True)
class Shelf:
    """One scope's memory: USER.md, and MEMORY.md with the notes beside it."""

    user: Path
    notebook: Notebook
    facts: Facts


class Shelves:
    """Opens the memory of a scope; whoever asks has made sure that the scope may be touched."""

    def __init__(
        self,
        workspace: Workspace,
        open_memory: OpenMemory,
        read_frontmatter: ReadFrontmatter,
        clock: Clock,
        budget: int,
        keeping: Keeping | None = None,
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
        self._open: OrderedDict[Scope, Shelf] = OrderedDict()

    def of(self, scope: Scope) -> Shelf:
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

    def _make(self, scope: Scope) -> Shelf:
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
        return Shelf(user, notebook, facts)
