"""Looks whether all is well: a list of checks, each with findings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from nanobot.errors import NanobotError


class Verdict(StrEnum):
    """How a finding is meant; a problem keeps the bot from working, a warning does not."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check saw. `sentence` is a key of the catalogue; it says what was seen and, if not ok, what to do."""

    verdict: Verdict
    sentence: str
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at. `title` is a key of the catalogue; `look` reads, and changes nothing."""

    title: str
    look: Callable[[], Iterable[Finding]]


def ok(sentence: str, **values: object) -> Finding:
    """All is well."""
    return Finding(Verdict.OK, sentence, values)


def warning(sentence: str, **values: object) -> Finding:
    """It works, but."""
    return Finding(Verdict.WARNING, sentence, values)


def problem(sentence: str, **values: object) -> Finding:
    """It does not work."""
    return Finding(Verdict.PROBLEM, sentence, values)


def examine(checks: Iterable[Check]) -> Iterator[tuple[Check, Sequence[Finding]]]:
    """Run the checks one after the other; one that cannot look does not keep the others from it."""
    for check in checks:
        try:
            findings = list(check.look())
        except (OSError, NanobotError) as error:
            findings = [problem("doctor.cannot_look", error=error)]
        yield check, findings
