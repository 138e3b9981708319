"""Forgetting in the conversations."""

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from nanobot.errors import StoreError
from nanobot.ports import Found, Meant, Piece
from nanobot.store.erasing.log import lines_without, look, rewrite
from nanobot.store.erasing.messages import Changing
from nanobot.store.jsonl import torn_path
from nanobot.store.private import remove_stale_temps
from nanobot.store.session_files import SessionFiles
from nanobot.store.sessions import SessionManager
from nanobot.transcript import Message
from nanobot.uncancelled import to_the_end
from nanobot.workspace import Workspace

_PIECE = 8 << 20  # bytes that are looked at in one go

_AT = re.compile(rb'"at":\s*"([^"]+)"')

_QUEUED = '"type":"waiting"'

MayHold = Callable[[str], bool]


class ErasableSessions:
    """Erasable and Transcripts over sessions/. Every file is looked at, those that cannot be read by us, too."""

    place = "sessions"

    def __init__(self, manager: SessionManager, workspace: Workspace) -> None:
        self._manager = manager
        self._files = SessionFiles(workspace)
        self._folder = workspace.sessions

    def owns(self, path: Path) -> bool:
        return path.is_relative_to(self._folder)

    async def keys(self) -> Sequence[str]:
        return [key for key, _ in await asyncio.to_thread(lambda: sorted(self._files.all()))]

    async def read(self, key: str, may_hold: MayHold) -> Sequence[Message]:
        path = self._files.path(key)
        if not await asyncio.to_thread(_may_hold, path, may_hold):
            return ()
        return await self._manager.messages(key)

    async def find(self, meant: Meant) -> Found:
        return await asyncio.to_thread(self._find, meant)

    async def erase(self, meant: Meant) -> None:
        for key, path in await asyncio.to_thread(lambda: list(self._files.all())):
            if await asyncio.to_thread(_is_whole, key, path, meant):
                await self._manager.delete(key)
            elif await asyncio.to_thread(self._changes, key, path, meant):
                await self._manager.revise(key, partial(self._revise, key=key, meant=meant))
        await to_the_end(asyncio.to_thread(self._rest, meant, write=True))

    def _find(self, meant: Meant) -> Found:
        """A conversation whose name tells it stays: it goes by its key."""
        every = list(self._files.all())
        counts = {key: self._changes(key, path, meant) for key, path in every}
        only_cut = [key for key, count in counts.items() if count and key not in {*meant.dropped, *meant.blanked}]
        count = sum(counts.values()) + self._rest(meant, write=False)
        named = [f"{path}:1" for key, path in every if meant.of_owner and meant.traces.name(_as_words(key))]
        return Found(count, [Piece(key) for key in only_cut], named)

    def _changes(self, key: str, path: Path, meant: Meant) -> int:
        """How many lines of a conversation go, or change."""
        if _is_whole(key, path, meant):
            return look(path, lambda _: None, lambda _: True).count or 1
        if not self._concerns(key, path, meant):
            return 0
        is_meant = unreadable(key, meant)
        count = look(path, Changing(meant, key), is_meant).count
        return count + lines_without(torn_path(path), is_meant, write=False)

    def _concerns(self, key: str, path: Path, meant: Meant) -> bool:
        """Whether the conversation has to be read line by line."""
        if key in meant.dropped or key in meant.blanked:
            return True
        if meant.since and meant.hears(key) and _may_hold(path, lambda text: _QUEUED in text):
            return True
        files = (path, torn_path(path))
        return meant.hears(key) and any(_may_hold(file, meant.traces.may_show) for file in files)

    def _revise(self, path: Path, key: str, meant: Meant) -> None:
        """One of which nothing stays goes with all that was set aside from it."""
        is_meant = unreadable(key, meant)
        found = look(path, Changing(meant, key), is_meant)
        if not found.stays:
            self._files.delete(key)
            return
        if found.count:
            rewrite(path, Changing(meant, key), is_meant, found)
        lines_without(torn_path(path), is_meant, write=True)

    def _rest(self, meant: Meant, *, write: bool) -> int:
        """What lies here and is no conversation of ours: only the owner, whose machine it is, reaches it."""
        if not meant.of_owner or not self._folder.is_dir():
            return 0
        known = {path for _, path in self._files.all()}
        torn = set(map(torn_path, known))
        count = 0
        for path in self._folder.rglob("*"):
            if path.is_dir() and write:
                remove_stale_temps(path)
            elif path.is_file() and not path.is_symlink() and path not in known | torn:
                count += lines_without(path, meant.traces.stand_in, write=write)
        return count


def _is_whole(key: str, path: Path, meant: Meant) -> bool:
    """Whether nothing stays of a conversation. One in which others speak, too, is never deleted."""
    if key not in meant.sessions or meant.scopes is None:
        return key in meant.sessions
    changing = Changing(meant, key)
    return not look(path, lambda message: None if changing.reaches(message) else message, lambda _: False).stays


def _as_words(key: str) -> str:
    """The name of a conversation; of a chat on a platform it is a number."""
    return key.partition(":")[2].replace("-", " ").replace("_", " ")


def unreadable(key: str, meant: Meant) -> Callable[[bytes], bool]:
    """Whether a line that cannot be read goes: if it shows it, or cannot be told to be older than what goes."""

    def is_meant(raw: bytes) -> bool:
        if not meant.hears(key):
            return False
        at = _AT.search(raw)
        is_late = bool(meant.since) and (at is None or not _is_before(at[1].decode("ascii", "replace"), meant.since))
        return is_late or meant.traces.stand_in(raw)

    return is_meant


def _is_before(at: str, since: str) -> bool:
    try:
        return datetime.fromisoformat(at) < datetime.fromisoformat(since)
    except (ValueError, TypeError):
        return False


def _may_hold(path: Path, may_hold: MayHold) -> bool:
    """Ask about a file piece by piece; pieces end where lines do."""
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                if not piece.endswith(b"\n"):
                    piece += file.readline()
                if may_hold(piece.decode("utf-8", "replace")):
                    return True
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"{path} could not be read: {error.strerror or error}") from error
    return False
