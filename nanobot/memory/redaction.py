"""Redaction of memory files, and of what versions say of themselves."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from nanobot.memory import changes
from nanobot.memory.changes import Commit, Operation
from nanobot.memory.facts import facts_in
from nanobot.memory.markdown import lines_of
from nanobot.memory.tombstones import FOLDER, decode
from nanobot.memory_files import FACT_FILES
from nanobot.nlp.matcher import plain
from nanobot.ports import ErasurePlan
from nanobot.workspace import is_note, scope_of

_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_SKILLS = "skills"
_OURS = ("base", "hand", "forget", "undo", "restore")
_FENCE = "---"
_HEAD = re.compile(
    r"(?:name|summary|description|updated|relations):\s*"
    r"|type:(?:\s*(?:user|preference|project|feedback|workflow|reference|note)\s*$)?"
)
_NOTHING_LEFT = "(forgotten)"


class Redaction:
    """Redaction of one erasure. Looks only at what belongs to the scopes that are meant."""

    def __init__(self, meant: ErasurePlan) -> None:
        self._meant = meant
        # Versions made by hand name the files that were changed.
        self._gone = {PurePosixPath(note).name for note in meant.notes if not note.endswith("/")} - FACT_FILES

    def file(self, path: str, data: bytes) -> bytes | None:
        """Return the redacted file of a version; the same bytes if all stays, None if nothing does."""
        meant = self._meant
        if path.startswith(f"{FOLDER}/"):
            return self._tombstone(data)
        if not meant.reaches(_scope(path)):
            return data
        if meant.takes_file(path) or self._is_named(path):
            return None
        mark = data[:2]
        encoding = _UTF16.get(mark, "utf-8")
        errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
        head = mark if mark in _UTF16 else b""
        text = data[len(head) :].decode(encoding, errors)
        kept = self.text(path, text)
        if kept == text:
            return data
        left = head + kept.encode(encoding, errors)
        is_empty = PurePosixPath(path).name not in FACT_FILES and is_note(PurePosixPath(path)) and not facts_in(left)
        return None if is_empty else left

    def text(self, path: str, text: str) -> str:
        """The lines that stay. What is indented below a line that goes belongs to it."""
        return "".join(line for line, goes in self._lines(path, text) if not goes)

    def going(self, path: str, data: bytes) -> Sequence[tuple[int, str]]:
        """The lines of a file that go, each with its number from 1; 0 for a file that goes for its name alone."""
        if not self._meant.reaches(_scope(path)):
            return []
        text = data.decode("utf-8", "replace")
        is_whole = self._meant.takes_file(path) or self._is_named(path)
        if not is_whole and not self._may_take(path, text):
            return []
        lines = [
            (number, line.strip())
            for number, (line, goes) in enumerate(self._lines(path, text), 1)
            if (goes or is_whole) and line.strip() not in ("", _FENCE)
        ]
        return lines or [(0, path)] * is_whole

    def _may_take(self, path: str, text: str) -> bool:
        """A quick look, for what has thousands of versions."""
        return path in self._meant.claims or self._meant.traces.may_name(text)

    def message(self, message: str, ids: Mapping[str, str]) -> str:
        """Return the redacted message of a version; `ids` maps old ids of versions to new ones."""
        followed = changes.following(message, ids)
        if (commit := changes.parse(followed)) and commit.kind == "hand":
            commit = replace(commit, subject=_without_names(commit.subject, self._gone))
            followed = changes.write(commit)
        if commit is None:
            return self._free(followed) if self._meant.of_owner else followed
        new = self._commit(commit)
        return followed if new == commit else changes.write(new)

    def is_told_by(self, message: str) -> bool:
        """True if what a version says of itself must not stay as it is; of some the program writes all of it."""
        commit = changes.parse(message)
        is_ours = commit is not None and commit.kind in _OURS
        return not is_ours and self._meant.traces.may_name(message) and self.message(message, {}) != message

    def _commit(self, commit: Commit) -> Commit:
        meant = self._meant
        operations = tuple(new for old in commit.operations if (new := self._operation(old)))
        commit = replace(
            commit,
            operations=operations,
            turn="" if commit.turn in meant.turns else commit.turn,
            agreed="" if commit.agreed in meant.people else commit.agreed,
        )
        if not all(map(meant.reaches, commit.scopes or ("owner",))):
            return commit
        return replace(
            commit,
            subject=self._free(commit.subject),
            reason=meant.traces.without(commit.reason, quoted=True),
            scopes=tuple(scope for scope in commit.scopes if scope not in meant.emptied),
        )

    def _operation(self, operation: Operation) -> Operation | None:
        """An operation as it may still be told; None if it may not."""
        meant, file = self._meant, operation.file
        if not meant.reaches(_scope(file)):
            return operation
        if meant.takes_file(file) or self._is_named(file):
            return None
        merged = tuple(path for path in operation.merged if not (meant.takes_file(path) or self._is_named(path)))
        messages = tuple(name for name in operation.messages if not meant.takes_evidence(name))
        if operation.verb in ("write", "merge", "confirm") and operation.messages and not messages:
            return None
        told = replace(operation, merged=merged, messages=messages)
        is_new_gone = bool(told.text) and meant.takes(file, told.text)
        is_old_gone = bool(told.before) and meant.takes(file, told.before)
        if is_new_gone and told.before and not is_old_gone:
            return replace(told, verb="remove", text=told.before, before="")
        if is_new_gone:
            return None
        return replace(told, verb="add", before="") if is_old_gone else told

    def _lines(self, path: str, text: str) -> Sequence[tuple[str, bool]]:
        found: list[tuple[str, bool]] = []
        lines, claims = lines_of(text), self._meant.claims.get(path, ())
        named = self._meant.traces.named(_values([line.rstrip("\r\n") for line in lines]))
        for line, is_named in zip(lines, named, strict=True):
            is_below = line[:1] in " \t" and bool(line.strip()) and not line.lstrip().startswith(("-", "*", "+"))
            is_meant = is_named or (bool(claims) and plain(line) in claims)
            found.append((line, is_meant or (is_below and bool(found) and found[-1][1])))
        return found

    def _tombstone(self, data: bytes) -> bytes | None:
        stone = decode(data)
        if stone is None or stone.salt or not self._meant.reaches(stone.scope):
            return data
        told = any(self._meant.traces.tell_all(line) for line in stone.claim.split("\n"))
        return None if told or any(map(self._meant.takes_evidence, stone.evidence)) else data

    def _free(self, text: str) -> str:
        """Words that follow no form: a message of somebody's own."""
        return self._meant.traces.without(text, quoted=True) or _NOTHING_LEFT

    def _is_named(self, path: str) -> bool:
        """True if the name of a note, or of a skill that did not come with the program, tells it."""
        inside = PurePosixPath(path)
        if is_note(inside) and inside.name not in FACT_FILES:
            return self._tells(inside.stem)
        is_skill = inside.parts[0] == _SKILLS and path not in self._meant.traces.shipped.files
        return is_skill and any(map(self._tells, inside.with_suffix("").parts[1:]))

    def _tells(self, name: str) -> bool:
        return self._meant.traces.name(name.replace("-", " ").replace("_", " "))


def _values(lines: Sequence[str]) -> Sequence[str]:
    """The lines; those of a note's head without the words that every head has."""
    if not lines or lines[0].strip() != _FENCE:
        return lines
    end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == _FENCE), 0)
    return [_HEAD.sub("", line) if number < end else line for number, line in enumerate(lines)]


def _without_names(subject: str, names: Collection[str]) -> str:
    for name in names:
        subject = re.sub(rf"(?<![^ ]){re.escape(name)}(?![^ ,])", _NOTHING_LEFT, subject)
    return subject


def _scope(path: str) -> str:
    return scope_of(PurePosixPath(path))
