"""The model presets that people chose for single sessions."""

import asyncio
from functools import cached_property

from nanobot.store.state import read_state, write_state
from nanobot.uncancelled import to_the_end
from nanobot.workspace import Workspace


class SessionModels:
    """Remembers choices in the workspace's state, which is read when first needed and written by one process."""

    def __init__(self, workspace: Workspace) -> None:
        self._path = workspace.session_models
        self._lock = asyncio.Lock()

    def get(self, key: str) -> str | None:
        """The preset chosen for a session; None if nothing was. Raises StoreError if what is there cannot be read."""
        return self._chosen.get(key)

    async def set(self, key: str, preset: str | None) -> None:
        """Remember the choice; None forgets it. Raises StoreError; then the old one holds."""
        async with self._lock:
            await to_the_end(self._set(key, preset))

    @cached_property
    def _chosen(self) -> dict[str, str]:
        return read_state(self._path, dict[str, str], {})

    async def _set(self, key: str, preset: str | None) -> None:
        chosen = {known: value for known, value in self._chosen.items() if known != key}
        if preset is not None:
            chosen[key] = preset
        if chosen != self._chosen:
            await asyncio.to_thread(write_state, self._path, chosen)
            self._chosen = chosen
