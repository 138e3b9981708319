"""Forgetting in history.jsonl."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nanobot.forgotten import beginning
from nanobot.ports import Episode, Found, Meant, Piece
from nanobot.store import episode_lines
from nanobot.store.erasing.log import lines_without
from nanobot.store.erasing.swapped import remove, swapped
from nanobot.store.history import History
from nanobot.store.jsonl import torn_path
from nanobot.store.private import remove_stale_temps
from nanobot.workspace import Workspace


class ErasableEpisodes:
    """Erasable over the episodes, what a crash tore off included."""

    place = "episodes"

    def __init__(self, history: History, workspace: Workspace) -> None:
        self._history = history
        self._path = workspace.history
        self._cursors = (workspace.history_cursor, workspace.dream_cursor)

    def owns(self, path: Path) -> bool:
        return path in (self._path, torn_path(self._path), *self._cursors)

    async def find(self, meant: Meant) -> Found:
        return await self._history.revise(lambda path: _look(path, meant))

    async def erase(self, meant: Meant) -> None:
        await self._history.revise(lambda path: _erase(path, meant))


def _look(path: Path, meant: Meant) -> Found:
    torn = lines_without(torn_path(path), _unreadable(meant), write=False)
    changed = [raw for raw in _lines(path) if _changed(raw, meant) is not raw]
    return Found(len(changed) + torn, [_piece(path, raw) for raw in changed])


def _piece(path: Path, raw: bytes) -> Piece:
    where = f"{path.parent.name}/{path.name}"
    try:
        episode = episode_lines.decode(raw)
    except ValueError:
        return Piece(where)
    return Piece(f"{where}:{episode.cursor}", beginning(episode.content))


def _erase(path: Path, meant: Meant) -> None:
    remove_stale_temps(path.parent)
    lines_without(torn_path(path), _unreadable(meant), write=True)
    lines = list(_lines(path))
    kept = [_changed(raw, meant) for raw in lines]
    if all(new is old for new, old in zip(kept, lines, strict=True)):
        return
    if not any(kept):
        remove(path)
        return
    with swapped(path) as file:
        for line in kept:
            file.write(line or b"")


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def _changed(raw: bytes, meant: Meant) -> bytes | None:
    """The line as it may stay: the same object if nothing changes, None if it goes."""
    try:
        episode = episode_lines.decode(raw)
    except ValueError:
        return None if raw.strip() and _unreadable(meant)(raw) else raw
    new = _episode(episode, meant)
    if new is None:
        return None
    after = episode_lines.encode(new)
    return raw if after == episode_lines.encode(episode) else after


def _episode(episode: Episode, meant: Meant) -> Episode | None:
    if not meant.reaches(episode.scope.name):
        return episode
    if episode.cursor in meant.episodes:
        return meant.episodes[episode.cursor]
    facts = tuple(fact for fact in episode.facts if not meant.traces.name(fact.text))
    content = meant.traces.without(episode.content) if meant.traces.name(episode.content) else episode.content
    return replace(episode, content=content, facts=facts) if content.strip() or facts else None


def _unreadable(meant: Meant) -> Callable[[bytes], bool]:
    """Whether a line that cannot be read goes; whose it is cannot be told, so that only the owner reaches it."""
    return lambda raw: meant.of_owner and meant.traces.stand_in(raw)
