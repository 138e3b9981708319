"""Where what is remembered comes from: the line, the version that brought it, and what that rests on."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from nanobot.authority import Scope
from nanobot.memory import commits
from nanobot.memory.alike import content_words
from nanobot.memory.commits import Operation
from nanobot.memory.dream.head import facts_of
from nanobot.memory.facts import bare, compared
from nanobot.memory.files import Places
from nanobot.memory.index import lines_of
from nanobot.memory.operations import lines_brought
from nanobot.memory.timeline import Entry, entry_of, owned
from nanobot.memory.witnesses import Said, Testimony, Witnesses
from nanobot.ports import FileDiff, VersionStore

_ENOUGH = 0.5
"""The share of the words asked for that a line must hold."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a memory file: where it stands, what it says, and its bytes in the file."""

    path: str
    text: str
    raw: bytes

    @property
    def name(self) -> str:
        """By which it can be asked for exactly, for as long as it says that."""
        return "#" + hashlib.sha256(f"{self.path}\0{compared(self.text)}".encode("utf-8", "replace")).hexdigest()[:8]


@dataclass(frozen=True)
class Why:
    """Why a line is there.

    `entry` is the version that brought it, None if the history does not know; `back` the restore or undo, if it was
    such a one that brought it back. `operation` is what the version says of the line, if anything.
    """

    line: Line
    entry: Entry | None
    testimony: Testimony
    operation: Operation | None = None
    back: Entry | None = None


class Provenance:
    """Answers for one scope at a time; whoever asks has made sure that the scope may be seen."""

    def __init__(self, versions: VersionStore, witnesses: Witnesses) -> None:
        self._versions = versions
        self._witnesses = witnesses

    async def find(self, words: str, scope: Scope) -> Sequence[Line]:
        """The lines that fit best, several if they fit alike; `words` may be a line's name. Raises VersionError."""
        is_own = owned(scope)
        files = await self._versions.files(Places(scope).within)
        lines = list(_lines({path: data for path, data in files.items() if is_own(path)}))
        exact = [line for line in lines if words.strip() == line.name or compared(words) == compared(line.text)]
        return exact[:1] or _best(lines, words)

    async def why(self, line: Line, scope: Scope) -> Why:
        """What is known about a line. Raises VersionError and StoreError."""
        await self._versions.commit_hand_edits()
        version = await self._versions.origin(line.path, line.raw)
        entry = entry_of(version, scope) if version else None
        back = entry if entry and entry.is_reversal else None
        if back:
            entry = await self._before(back, line, scope)
        if entry is None:
            return Why(line, None, Testimony((), 0), back=back)
        told = [operation for operation in entry.operations if operation.file == line.path]
        exact = (one for one in told if _is_exactly(one, line))
        operation = next(exact, None) or next((one for one in told if _is_about(one, line)), None)
        names = operation.messages if operation else tuple(name for one in told for name in one.messages)
        testimony = await self._hear(entry, tuple(dict.fromkeys(names)), line, scope)
        return Why(line, entry, testimony, operation, back)

    async def _hear(self, entry: Entry, names: Sequence[str], line: Line, scope: Scope) -> Testimony:
        commit = commits.parse(entry.version.message)
        if entry.kind == "remember" and names and commit and not commit.turn:
            session = names[0].rpartition("#")[0]
            return Testimony([Said("command", bare(line.text), entry.version.at.isoformat(), session)], 0)
        return await self._witnesses.hear(names, scope, line.text, commit.cursor if commit else None)

    async def _before(self, back: Entry, line: Line, scope: Scope) -> Entry | None:
        """The version that had brought a line before it went and came back."""
        versions = await self._versions.log(within=[line.path])
        older = versions[[version.id for version in versions].index(back.version.id) + 1 :]
        entries = [
            entry for entry in (entry_of(version, scope) for version in older) if entry and not entry.is_reversal
        ]
        changes = await self._versions.diffs([entry.version for entry in entries])
        return next(
            (entry for entry, diffs in zip(entries, changes, strict=True) if _brought(entry, diffs, line)), None
        )


def _brought(entry: Entry, diffs: Sequence[FileDiff], line: Line) -> bool:
    if entry.operations:
        return any(one.file == line.path and _is_about(one, line) for one in entry.operations)
    brought = [text for diff in diffs if diff.path == line.path for text in lines_brought(diff.before, diff.after)]
    return compared(line.text) in map(compared, brought)


def _is_about(operation: Operation, line: Line) -> bool:
    """Whether an operation on the line's file may have brought it."""
    if operation.verb in ("write", "merge"):
        return True
    return _is_exactly(operation, line)


def _is_exactly(operation: Operation, line: Line) -> bool:
    return operation.verb in ("add", "replace") and compared(operation.text) == compared(line.text)


def _lines(files: Mapping[str, bytes]) -> Iterator[Line]:
    for path, data in files.items():
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            continue
        text = data.decode("utf-8", "surrogateescape")
        raw = lines_of(text)
        for number, said in facts_of(text):
            yield Line(path, said, raw[number].rstrip("\r\n").encode("utf-8", "surrogateescape"))


def _best(lines: Sequence[Line], words: str) -> Sequence[Line]:
    wanted = content_words(words)
    scores = [_score(line, wanted, words) for line in lines]
    best = max(scores, default=0.0)
    return [line for line, score in zip(lines, scores, strict=True) if score == best] if best >= _ENOUGH else []


def _score(line: Line, wanted: set[str], words: str) -> float:
    """The share of the words that the line holds, or its note's name; more if they stand there just so."""
    if not wanted:
        return 0.0
    there = wanted & content_words(line.text)
    named = (wanted - there) & content_words(PurePosixPath(line.path).stem)
    as_said = " ".join(words.casefold().split()) in " ".join(line.text.casefold().split())
    return (len(there) + len(named) / 2) / len(wanted) + as_said
