"""Forgetting in the small files that the program keeps for itself."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from nanobot.errors import StoreError
from nanobot.ports import Found, Meant, Piece
from nanobot.store.erasing.swapped import remove
from nanobot.store.private import remove_stale_temps
from nanobot.store.state import read_state, write_state
from nanobot.workspace import Workspace

_DAMAGED = ".damaged"

ForgetChoice = Callable[[str], Awaitable[None]]
"""Takes away what was chosen in a session."""

ForgetNames = Callable[[Callable[[str, str], bool]], Awaitable[None]]
"""Takes away the names of people and groups that are meant, given their `channel:id` and their name."""


class ErasableState:
    """Erasable over .nanobot/state, but for what has an owner of its own: the choices of models by session, names of
    people and groups, names of sessions, and what was set aside as damaged.

    The other files hold times, numbers and names of files, or nothing.
    """

    place = "state"

    def __init__(self, workspace: Workspace, forget_choice: ForgetChoice, forget_names: ForgetNames) -> None:
        self._folder = workspace.state
        self._others = (
            workspace.spool.name,
            workspace.versions_journal.name,
            workspace.version_ids.name,
            workspace.proposals.name,
        )
        self._models_path = workspace.session_models
        self._names = workspace.session_names
        self._forget_choice = forget_choice
        self._forget_names = forget_names

    def owns(self, path: Path) -> bool:
        return path.parent == self._folder and not path.name.startswith(self._others)

    async def find(self, meant: Meant) -> Found:
        return await asyncio.to_thread(self._find, meant)

    async def erase(self, meant: Meant) -> None:
        for key in meant.sessions:
            await self._forget_choice(key)
        await self._forget_names(lambda who, name: who in meant.people or (meant.of_owner and meant.traces.name(name)))
        try:
            await asyncio.to_thread(self._erase, meant)
        except OSError as error:
            raise StoreError(f"{self._folder} could not be written: {error.strerror or error}") from error

    def _find(self, meant: Meant) -> Found:
        pieces = [Piece(str(path)) for path in self._damaged(meant)]
        pieces += [Piece(key) for key in self._named(meant)]
        return Found(len(pieces), pieces)

    def _erase(self, meant: Meant) -> None:
        if self._folder.is_dir():
            remove_stale_temps(self._folder)
        for path in list(self._damaged(meant)):
            remove(path)
        names = read_state(self._names, dict[str, str], {})
        kept = {path: key for path, key in names.items() if key not in meant.sessions}
        if kept != names:
            write_state(self._names, kept)

    def _named(self, meant: Meant) -> list[str]:
        chosen = read_state(self._models_path, dict[str, str], {})
        names = read_state(self._names, dict[str, str], {})
        return [key for key in meant.sessions if key in chosen or key in names.values()]

    def _damaged(self, meant: Meant) -> Iterator[Path]:
        """What could not be read, and cannot be searched by what it means: it goes as a whole."""
        for path in self._folder.glob(f"*{_DAMAGED}") if meant.of_owner else ():
            data = path.read_bytes()
            if meant.traces.stand_in(data) or any(key.encode() in data for key in meant.sessions):
                yield path
