"""Forgetting in what is derived: it is made anew from files that do not hold it any more."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from nanobot.errors import StoreError
from nanobot.ports import Found, Meant
from nanobot.store.erasing.swapped import remove
from nanobot.workspace import Workspace

Rebuild = Callable[[], Awaitable[None]]


class ErasableIndex:
    """Erasable over .nanobot/cache."""

    place = "recall"

    def __init__(self, workspace: Workspace, rebuild: Callable[[], Rebuild | None]) -> None:
        """`rebuild` gives what makes the index anew beside the old one, None if nobody has it open: then it goes."""
        self._folder = workspace.cache
        self._rebuild = rebuild

    def owns(self, path: Path) -> bool:
        return path.is_relative_to(self._folder)

    async def find(self, meant: Meant) -> Found:
        """Nothing of its own: what is found here stands elsewhere."""
        return Found()

    async def erase(self, meant: Meant) -> None:
        if rebuild := self._rebuild():
            await rebuild()
        else:
            await asyncio.to_thread(self._remove)

    def _remove(self) -> None:
        try:
            for path in self._folder.glob("*"):
                remove(path)
        except OSError as error:
            raise StoreError(f"{self._folder} could not be emptied: {error.strerror or error}") from error
