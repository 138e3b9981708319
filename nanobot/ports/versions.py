"""The history of what is remembered: every version of its files, who made it and why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

Author = Literal["person", "nanobot", "dream"]
"""Who made a version: somebody by hand, the bot on somebody's word, or Dream."""

Owned = Callable[[str], bool]
"""Whether a file, by its path, is one of those that somebody may change."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Change of a file: its bytes as they were read, and as they shall be. None: there is no such file."""

    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Version:
    """One commit.

    `parent` is None for the first. `name` is its author's own; `at` when it was made; `paths` what it changed,
    relative to the workspace. `message` is text as it stands there, line ends included.
    """

    id: str
    parent: str | None
    author: Author
    name: str
    at: datetime
    message: str
    paths: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FileDiff:
    """Change of a file by a version; None where there was, or is, none."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class HandEdits:
    """Hand edits since the last version, now a version of their own; None if there are none.

    `skipped` tells of files that are not versioned, with the reason: `large`, `binary`, `link`, `unreadable`, or
    `repository` for a folder with a history of its own.
    """

    version: Version | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """Way back: what to commit, and what that takes back.

    `edits` is empty if nothing is to be done, or nothing can be: then `conflicts` names the files in which later
    changes touch the same lines. `undone` are the versions whose changes it takes back, the newest first.
    """

    edits: Mapping[str, Edit] = field(default_factory=dict)
    undone: Sequence[Version] = ()
    conflicts: Sequence[str] = ()


class VersionStore(Protocol):
    """The history of the workspace's long-term files.

    Paths are relative to the workspace, with slashes. Contents are the versioned part of a file; bytes in are
    bytes out. All methods raise VersionError; whatever happens, a change is made whole or not at all.
    """

    @property
    def problem(self) -> str:
        """Reason why the last try to keep a version failed, "" if it did not: for /status."""
        ...

    async def ensure(self) -> HandEdits:
        """Finish what a crash interrupted, then take in hand edits. The first time, what is found is the base."""
        ...

    async def files(self, within: Sequence[str] = ()) -> Mapping[str, bytes]:
        """The files as they are on disk now, in these files and folders or everywhere."""
        ...

    async def commit_hand_edits(self) -> HandEdits:
        """Keep what people changed as a version of theirs, so that nobody else takes the credit or the blame."""
        ...

    async def commit(self, edits: Mapping[str, Edit], message: str, author: Author = "nanobot") -> str | None:
        """Change files, as one version; hand edits are committed first. Returns its id; None if nothing changes.

        Raises VersionError `conflict` if a file is not as the edit says that it was: read it, and apply anew.
        A `failed` with `paths` is a version that was made; those files follow when the disk lets them.
        """
        ...

    async def write(self, edits: Mapping[str, Edit]) -> None:
        """Change files where no version can be made of it. Raises VersionError `conflict` as `commit` does."""
        ...

    async def log(
        self, limit: int | None = None, within: Sequence[str] = (), author: Author | None = None
    ) -> Sequence[Version]:
        """Versions that changed these files or folders, the newest first."""
        ...

    async def resolve(self, abbreviated: str) -> str:
        """The full id of a version, from at least 4 of its first digits. Ids from before a purge are followed."""
        ...

    async def show(self, version: str) -> tuple[Version, Sequence[FileDiff]]:
        """A version, and what it changed."""
        ...

    async def diffs(self, versions: Sequence[Version]) -> Sequence[Sequence[FileDiff]]:
        """Return the diffs of these versions, in their order: for many, much cheaper than one after the other."""
        ...

    async def files_at(self, version: str, within: Sequence[str] = ()) -> Mapping[str, bytes]:
        """The files as they were in a version."""
        ...

    async def look_back(self, look: Callable[[str, bytes], None]) -> None:
        """Show every content that a file has in any version, each once. `look` is called from a thread."""
        ...

    async def origin(self, path: str, line: bytes) -> Version | None:
        """The version that brought a line, as it is now, into a file; None if it is not in there."""
        ...

    async def plan_restore(self, version: str, owned: Owned) -> Plan:
        """The owned files exactly as they were before a version; hand edits are committed first."""
        ...

    async def plan_undo(self, version: str, owned: Owned) -> Plan:
        """The owned files without what one version did, all later changes kept; hand edits are committed first."""
        ...

    async def purge(
        self, erase: Callable[[str, bytes], bytes | None], reword: Callable[[str, Mapping[str, str]], str]
    ) -> Mapping[str, str]:
        """Rewrite every version, and the files as they are now, as if what is erased had never been.

        `erase(path, content)` gives what may stay, None if nothing; `reword(message, ids)` a message, where `ids`
        leads from old ids of earlier versions to new ones. Returns all ids that changed, old to new. Afterwards
        nothing of the old is on the disk. Interrupted, it is either done at the next `ensure`, or as if not begun.
        """
        ...
