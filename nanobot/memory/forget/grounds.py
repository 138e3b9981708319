"""What is remembered, and rests on nothing but what goes."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from nanobot.errors import VersionError
from nanobot.forgotten import plain
from nanobot.memory import commits
from nanobot.memory.commits import Commit, Operation
from nanobot.memory.forget.picking import Picked
from nanobot.memory.operations import lines_brought
from nanobot.ports import Version, VersionStore
from nanobot.workspace import scope_of

_BRINGS = ("add", "replace", "confirm", "write", "merge")
_EPISODE = "episode:"

Reaches = Callable[[str], bool]
Told = Sequence[tuple[Version, Commit, Operation]]
"""Operations, each with its version and what that says of itself."""


@dataclass(frozen=True)
class Claim:
    """A line of memory that goes, with the names of all that it rested on; `file` is "" for a fact of an episode."""

    file: str
    scope: str
    text: str
    evidence: tuple[str, ...] = ()


@dataclass
class Gone:
    """All names under which what goes may be cited."""

    sessions: frozenset[str] = frozenset()
    since: datetime | None = None
    episodes: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def add(self, picked: Picked) -> None:
        """The messages of one conversation, alone and as `session#id`."""
        for name in (*picked.gone, *picked.inbound):
            self.names |= {name, f"{picked.session}#{name}"}

    def holds(self, name: str) -> bool:
        """Whether this piece of evidence goes."""
        number = name.removeprefix(_EPISODE)
        if number != name and number.isdecimal():
            return int(number) in self.episodes
        return name in self.names or name.rpartition("#")[0] in self.sessions

    def all_of(self, names: Collection[str]) -> bool:
        """Whether nothing stays of what something rests on; of what rests on nothing, this cannot be said."""
        return bool(names) and all(map(self.holds, names))


class Grounds:
    """The operations that made memory what it is, with their evidence."""

    def __init__(self, versions: VersionStore) -> None:
        self._versions = versions

    async def told(self, reaches: Reaches) -> Told:
        """All operations on files of these scopes, the newest first; none where no history is kept, or can be read."""
        try:
            versions = await self._versions.log()
        except VersionError as error:
            if error.kind in ("missing", "unknown", "damaged"):
                return []
            raise
        return list(_operations(versions, reaches))

    async def groundless(self, told: Sequence[tuple[Version, Commit, Operation]], gone: Gone) -> Sequence[Claim]:
        """The lines, in whatever version they stood, of which all evidence goes. Raises VersionError."""
        evidence: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        texts: dict[tuple[str, str], str] = {}
        notes: list[tuple[Version, Operation]] = []
        for version, commit, operation in told:
            key = operation.file, plain(operation.text)
            names = _names(version, commit, operation, gone)
            evidence[key] |= names
            texts[key] = operation.text
            if operation.verb in ("write", "merge") and gone.all_of(names):
                notes.append((version, operation))
        found = [
            Claim(file, _scope(file), texts[file, text], tuple(sorted(names)))
            for (file, text), names in evidence.items()
            if text and gone.all_of(names)
        ]
        return [*found, *await self._of_notes(notes)]

    async def _of_notes(self, written: Sequence[tuple[Version, Operation]]) -> Sequence[Claim]:
        """The lines that these versions brought into notes."""
        claims: list[Claim] = []
        changes = await self._versions.diffs([version for version, _ in written])
        for (_, operation), diffs in zip(written, changes, strict=True):
            for diff in diffs:
                if diff.path == operation.file:
                    lines = lines_brought(diff.before, diff.after)
                    claims += [Claim(diff.path, _scope(diff.path), line, operation.messages) for line in lines]
        return claims


def evidence_of(told: Told, file: str) -> frozenset[str]:
    """All that a file rests on."""
    return frozenset(name for _, _, operation in told if operation.file == file for name in operation.messages)


def messages_by_session(names: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """The messages among these names, by session; "" for those that do not say of which."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        if not name.startswith(_EPISODE):
            session, _, message = name.rpartition("#")
            found[session].add(message)
    return {session: frozenset(ids) for session, ids in found.items()}


def _operations(versions: Sequence[Version], reaches: Reaches) -> Iterator[tuple[Version, Commit, Operation]]:
    for version in versions:
        commit = commits.parse(version.message) if version.author != "person" else None
        for operation in commit.operations if commit else ():
            if commit and operation.verb in _BRINGS and reaches(_scope(operation.file)):
                yield version, commit, operation


def _names(version: Version, commit: Commit, operation: Operation, gone: Gone) -> frozenset[str]:
    """What an operation rests on. What was asked for with a command stands in no session: its time tells."""
    names = frozenset(operation.messages)
    is_command = commit.kind == "remember" and not commit.turn
    if is_command and gone.since and version.at >= gone.since:
        gone.names |= names
    return names


def _scope(file: str) -> str:
    return scope_of(PurePosixPath(file))
