"""A VersionStore that keeps its versions in memory, beside real files."""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nanobot.errors import VersionError
from nanobot.memory.versions.worktree import WorkTree
from nanobot.ports import Author, Clock, Edit, FileDiff, HandEdits, Owned, Plan, Version

Files = Mapping[str, bytes]


class InMemoryVersions:
    """Knows no git and nothing that needs one: undo, restore and purge are tested on the real store."""

    problem = ""

    def __init__(self, root: Path, clock: Clock) -> None:
        self._clock = clock
        self._worktree = WorkTree(root, threading.Lock())
        self._made: list[tuple[Version, Files]] = []

    async def ensure(self) -> HandEdits:
        return await self.commit_hand_edits()

    async def files(self, within: Sequence[str] = ()) -> Files:
        return {path: data for path, (data, _) in self._worktree.scan(within).files.items()}

    async def commit_hand_edits(self) -> HandEdits:
        now, skipped = await self.files(), self._worktree.scan().skipped
        before = self._made[-1][1] if self._made else {}
        changed = [path for path in {**before, **now} if before.get(path) != now.get(path)]
        return HandEdits(self._make("by hand", "person", changed, now) if changed else None, skipped)

    async def commit(self, edits: Mapping[str, Edit], message: str, author: Author = "nanobot") -> str | None:
        wanted = self._worktree.checked(edits)
        await self.commit_hand_edits()
        self._worktree.expect(wanted)
        changed = {path: edit for path, edit in wanted.items() if edit.before != edit.after}
        for path, edit in changed.items():
            self._worktree.write(path, edit.before, edit.after)
        return self._make(message, author, list(changed), await self.files()).id if changed else None

    async def write(self, edits: Mapping[str, Edit]) -> None:
        raise NotImplementedError

    async def log(
        self, limit: int | None = None, within: Sequence[str] = (), author: Author | None = None
    ) -> Sequence[Version]:
        def is_in(version: Version) -> bool:
            return not within or any(f"{path}/".startswith(f"{top}/") for path in version.paths for top in within)

        newest = [version for version, _ in reversed(self._made) if author in (None, version.author) and is_in(version)]
        return newest[:limit]

    async def resolve(self, abbreviated: str) -> str:
        raise NotImplementedError

    async def show(self, version: str) -> tuple[Version, Sequence[FileDiff]]:
        raise NotImplementedError

    async def diffs(self, versions: Sequence[Version]) -> Sequence[Sequence[FileDiff]]:
        raise NotImplementedError

    async def files_at(self, version: str, within: Sequence[str] = ()) -> Files:
        return next((files for made, files in self._made if made.id == version), {})

    async def look_back(self, look: Callable[[str, bytes], None]) -> None:
        for path, data in {(path, data): None for _, files in self._made for path, data in files.items()}:
            look(path, data)

    async def origin(self, path: str, line: bytes) -> Version | None:
        raise NotImplementedError

    async def plan_restore(self, version: str, owned: Owned) -> Plan:
        raise NotImplementedError

    async def plan_undo(self, version: str, owned: Owned) -> Plan:
        raise NotImplementedError

    async def purge(
        self, erase: Callable[[str, bytes], bytes | None], reword: Callable[[str, Mapping[str, str]], str]
    ) -> Mapping[str, str]:
        raise NotImplementedError

    def _make(self, message: str, author: Author, paths: Sequence[str], files: Files) -> Version:
        number = f"{len(self._made) + 1:040x}"
        parent = self._made[-1][0].id if self._made else None
        version = Version(number, parent, author, author, self._clock.now(), message, tuple(paths))
        self._made.append((version, files))
        return version


class BrokenVersions(InMemoryVersions):
    """Fails at the next commits, in these ways."""

    def __init__(self, root: Path, clock: Clock, *failures: VersionError) -> None:
        super().__init__(root, clock)
        self.failures = list(failures)

    async def commit(self, edits: Mapping[str, Edit], message: str, author: Author = "nanobot") -> str | None:
        if self.failures:
            raise self.failures.pop(0)
        return await super().commit(edits, message, author)
