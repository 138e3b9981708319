"""Forgetting in what is remembered: the files, and every version of them."""

import asyncio
import logging
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

from nanobot.authority import Scope
from nanobot.errors import VersionError
from nanobot.forgetting.plan import Claim
from nanobot.memory import changes, tombstones
from nanobot.memory.changes import Commit
from nanobot.memory.facts import bare
from nanobot.memory.redaction import Redaction
from nanobot.memory.scopes import MemoryRegistry
from nanobot.memory.tombstones import Tombstone
from nanobot.memory_files import FILES
from nanobot.nlp.matcher import MOST_OF_A_LINE, beginning
from nanobot.ports import Edit, ErasedPiece, ErasurePlan, StoreFindings, VersionStore
from nanobot.workspace import Workspace, is_versioned, scope_of

log = logging.getLogger(__name__)

MOST_STONES = 500

_OWN = tuple(file.name for file in FILES if file.guarded and file.versioned)
_SUBJECT = "Something was forgotten"

T = TypeVar("T")

Stones = Mapping[str, str]
"""The tombstones that a forget leaves, by path, as they stand in their files: nothing but salted hashes."""


@dataclass(frozen=True)
class MemoryErasure:
    """Erasable over the history of memory; `shelves` hear that files have changed."""

    versions: VersionStore
    shelves: MemoryRegistry
    workspace: Workspace

    place = "memory"

    def owns(self, path: Path) -> bool:
        space = self.workspace
        if any(path.is_relative_to(folder) for folder in (space.versions, space.versions_aside)):
            return True
        if path in (space.versions_journal, space.version_ids):
            return True
        return path.is_relative_to(space.root) and is_versioned(PurePosixPath(path.relative_to(space.root)))

    async def find(self, meant: ErasurePlan) -> StoreFindings:
        now = await self._going(meant)
        past = await self._past(meant, {(path, line) for path, _, line in now})
        pieces = [
            ErasedPiece(f"{path}:{n}" if n else path, beginning(_said(line), MOST_OF_A_LINE), is_own=_is_own(path))
            for path, n, line in now
        ]
        pieces += [ErasedPiece(path, beginning(_said(line)), is_past=True) for path, line in past]
        pieces = pieces or list(await self._told(meant))
        return StoreFindings(len(pieces), pieces)

    async def erase(self, meant: ErasurePlan) -> None:
        """Raises VersionError `missing` if there is a history, and no git to rewrite it, `damaged` if nobody can: only
        the files are then.
        """
        rewriting = Redaction(meant)
        try:
            await self.versions.purge(rewriting.file, rewriting.message)
        except VersionError as error:
            if error.kind not in ("missing", "damaged"):
                raise
            await self._without_history(rewriting)
            await self._index(meant)
            if error.kind == "damaged" or self.workspace.versions.is_dir() or self.workspace.versions_aside.is_dir():
                raise
        else:
            await self._index(meant)

    async def stones(self, meant: ErasurePlan, claims: Iterable[Claim], at: str) -> Stones:
        """Return the tombstones left of erased claims, and of tombstones that hold them; none for a person."""
        if meant.people:
            return {}
        files, going = await self.versions.files(), await self._going(meant)
        made = [
            Tombstone(scope=claim.scope, undone="add", at=at, claim=claim.text, evidence=claim.evidence)
            for claim in [*claims, *(Claim(path, _scope(path), bare(line)) for path, _, line in going)]
        ]
        rewriting = Redaction(meant)
        old = [stone for path, stone in tombstones.read(files).items() if rewriting.file(path, files[path]) is None]
        unique = {(stone.scope, stone.undone, stone.claim): stone for stone in [*reversed(made), *old]}
        hashed = [stone.forgotten() for stone in list(unique.values())[:MOST_STONES]]
        return {stone.path: tombstones.encode(stone).decode() for stone in hashed}

    async def bury(self, stones: Stones) -> None:
        """Put them there, as a version that says no more than that something was forgotten."""
        known = await self.versions.files([tombstones.FOLDER])
        edits = {path: Edit(None, text.encode()) for path, text in stones.items() if path not in known}
        if edits:
            names = tuple(PurePosixPath(path).stem for path in sorted(edits))
            await self.versions.commit(edits, changes.write(Commit(kind="forget", subject=_SUBJECT, buried=names)))

    async def _going(self, meant: ErasurePlan) -> Sequence[tuple[str, int, str]]:
        """The lines that go, each with its file and number."""
        rewriting = Redaction(meant)
        files = await self.versions.files()
        return [
            (path, number, line)
            for path, data in sorted(files.items())
            if not path.startswith(f"{tombstones.FOLDER}/")
            for number, line in rewriting.going(path, data)
        ]

    async def _past(self, meant: ErasurePlan, known: Collection[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        """The lines that go from older versions, but for what is known, each with its file."""
        rewriting = Redaction(meant)
        found: dict[tuple[str, str], None] = {}

        def look(path: str, data: bytes) -> None:
            if not path.startswith(f"{tombstones.FOLDER}/"):
                found.update(dict.fromkeys((path, line) for _, line in rewriting.going(path, data)))

        await _if_kept(self.versions.look_back(look))
        return [each for each in found if each not in known]

    async def _told(self, meant: ErasurePlan) -> Sequence[ErasedPiece]:
        """Return the messages of versions that must change where no line of theirs shows it."""
        rewriting = Redaction(meant)
        versions = await _if_kept(self.versions.log()) or ()
        place = f"{self.workspace.memory.name}/{self.workspace.versions.name}"
        told = [version.message for version in versions if rewriting.is_told_by(version.message)]
        return [ErasedPiece(place, beginning(message.partition("\n")[0])) for message in told]

    async def _without_history(self, rewriting: Redaction) -> None:
        files = await self.versions.files()
        changed = {path: Edit(data, rewriting.file(path, data)) for path, data in files.items()}
        edits = {path: edit for path, edit in changed.items() if edit.before != edit.after}
        if edits:
            await self.versions.write(edits)

    async def _index(self, meant: ErasurePlan) -> None:
        """The index of notes is derived, and may still tell of one."""
        scopes = meant.scopes or {"owner", *map(_scope, await self.versions.files())}
        for scope in scopes:
            if self.workspace.memory_of(scope).parent.is_dir():
                await asyncio.to_thread(self.shelves.of(Scope(scope)).notebook.update)


async def _if_kept(work: Awaitable[T]) -> T | None:
    """Return the result; None where no history is kept, or none could be read."""
    try:
        return await work
    except VersionError as error:
        if error.kind not in ("missing", "unknown", "damaged"):
            raise
    return None


def _said(line: str) -> str:
    """A line without its bullet."""
    return line.lstrip("-*+ ") or line


def _is_own(path: str) -> bool:
    """True if it is a file that people write, and the program only where they ask it to."""
    return path in _OWN or path.startswith("skills/")


def _scope(path: str) -> str:
    return scope_of(PurePosixPath(path))
