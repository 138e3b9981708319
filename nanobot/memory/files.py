"""The files of memory by name, and where those of a scope lie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from nanobot.authority import Scope
from nanobot.workspace import folder_of, is_guarded

MEMORY, USER, SOUL = "MEMORY.md", "USER.md", "SOUL.md"


@dataclass(frozen=True)
class Places:
    """Where the files of a scope lie, relative to the workspace."""

    scope: Scope

    @cached_property
    def folder(self) -> str:
        """Where MEMORY.md and the notes are."""
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
