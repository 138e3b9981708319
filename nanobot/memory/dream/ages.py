"""How old what is remembered is, and when it was said last: from the history of its files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from nanobot.memory import commits
from nanobot.memory.commits import Operation
from nanobot.memory.facts import compared
from nanobot.ports import Version

MOST = 2000
"""Versions that are looked at; what is older than those is of unknown age."""


@dataclass(frozen=True, slots=True)
class Age:
    """When something was first written down, and when it was last said or changed."""

    since: datetime
    confirmed: datetime


class Ages:
    """Of lines, by path and words, and of notes, by path."""

    def __init__(self, versions: Iterable[Version] = ()) -> None:
        """`versions`: the newest first."""
        self._lines: dict[tuple[str, str], Age] = {}
        self._files: dict[str, Age] = {}
        for version in reversed(list(versions)):
            commit = commits.parse(version.message)
            for operation in commit.operations if commit else ():
                self._take_in(operation, version.at)

    def of_line(self, path: str, line: str) -> Age | None:
        return self._lines.get((path, compared(line)))

    def of_note(self, path: str) -> Age | None:
        return self._files.get(path)

    def as_told(self, age: Age | None, now: datetime) -> Mapping[str, int]:
        """For the model: days since it was written down and since it was last confirmed."""
        if age is None:
            return {}
        return {"days_old": (now - age.since).days, "days_since_confirmed": (now - age.confirmed).days}

    def _take_in(self, operation: Operation, at: datetime) -> None:
        self._files[operation.file] = self._again(self._files.get(operation.file), at)
        for text in _said(operation):
            key = operation.file, compared(text)
            self._lines[key] = self._again(self._lines.get(key), at)

    def _again(self, age: Age | None, at: datetime) -> Age:
        return Age(age.since if age else at, at)


def _said(operation: Operation) -> Sequence[str]:
    return [operation.text] if operation.verb in ("add", "replace", "confirm") else []
