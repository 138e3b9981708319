"""Health of memory: lines that a person should look at, and whether a scope is seen from another."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from itertools import combinations
from pathlib import PurePosixPath
from typing import Literal

from nanobot.authority import Origin
from nanobot.languages import tables
from nanobot.memory.changes import parse
from nanobot.memory.facts import bare, compared, is_told_of_others
from nanobot.memory.history import Ages
from nanobot.memory.markdown import facts_of, lines_of, shown_of
from nanobot.memory.provenance import MemoryLine
from nanobot.memory_files import SOUL
from nanobot.nlp.instructions import is_instruction
from nanobot.nlp.secrets import refusal
from nanobot.nlp.words import content_words, difference, overlap
from nanobot.ports import Version
from nanobot.workspace import is_note, scope_of

# Leaks: lines of one scope that are seen from another.


LEAST = 12
"""Characters of a line that tells one memory from another."""

MOST_SEARCHED = 25
"""Lines of each scope that are searched for from each other."""

Door = Literal["prompt", "search"]
Search = Callable[[str, str], Collection[str]]
"""The texts that are found from a scope, by its name, for these words."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A line of `scope` that is seen from `other`."""

    scope: str
    other: str
    door: Door
    line: str


def leaks(lines: Mapping[str, Sequence[str]], prompts: Mapping[str, str], search: Search) -> Iterator[Leak]:
    """Every line that is seen from where it does not belong.

    Args:
        lines: what each scope remembers.
        prompts: what a model is told at the beginning, by the scope of whoever talks to it.
        search: how each scope's memory is searched.
    """
    own = {scope: {compared(line) for line in said} for scope, said in lines.items()}
    for scope, said in lines.items():
        canaries = [line for line in said if len(compared(line)) >= LEAST]
        for other in prompts.keys() - {scope}:
            foreign = [line for line in canaries if compared(line) not in own.get(other, ())]
            yield from _seen(scope, other, foreign, prompts[other], search)


def _seen(scope: str, other: str, canaries: Sequence[str], prompt: str, search: Search) -> Iterator[Leak]:
    shown = " ".join(prompt.casefold().split())
    for number, line in enumerate(canaries):
        if compared(line) in shown:
            yield Leak(scope, other, "prompt", line)
        if number < MOST_SEARCHED and compared(line) in map(compared, search(other, line)):
            yield Leak(scope, other, "search", line)


# Findings: lines that a person should look at.


AilmentKind = Literal["duplicate", "contradiction", "stale", "unsourced", "oversized", "secret", "directive", "foreign"]

_SAME = 0.9
_ALIKE = 0.6
"""Shares of the words of two lines: that say the same, and that speak of the same."""

_TELLING = ("number", "date", "negation")
"""Differences that make a contradiction of it; two names are often two things."""

_OWN = (None, Origin.OWNER, Origin.PERSON)
"""Whose words a version rests on that no stranger, page or tool had a part in; Dream, which names none, takes others'
words from nobody.
"""

_COMMON = 40
"""A word that stands in more lines than this does not bring two of them together."""


@dataclass(frozen=True, slots=True)
class HealthLine:
    """A line of a memory file, with its number."""

    path: str
    number: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.number}"


@dataclass(frozen=True, slots=True)
class Ailment:
    """Fault of a line; `other` is the one that it conflicts with.

    `detail` is the kind of secret, the difference of two lines, the days, the size in bytes, or the name by which
    `/why` knows a line that nobody is known to have said.
    """

    kind: AilmentKind
    line: HealthLine
    other: HealthLine | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Norms:
    """`stale`: days without a confirmation; `budgets`: bytes of files by name, of others as of "note"."""

    stale: int
    budgets: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MemoryHistory:
    """The history of memory, the newest version first, and the lines that people wrote by hand, by path.

    Without versions neither age nor source is known.
    """

    versions: Sequence[Version] = ()
    by_hand: Mapping[str, Collection[str]] = field(default_factory=dict)


def examine(files: Mapping[str, bytes], past: MemoryHistory, norms: Norms, now: datetime) -> Iterator[Ailment]:
    """Return the lines of these memory files that a person should look at, scope by scope. Changes nothing."""
    lines = {path: _lines(path, data) for path, data in sorted(files.items())}
    yield from (ailment for path, data in files.items() for ailment in _oversized(path, data, norms))
    by_scope: defaultdict[str, list[HealthLine]] = defaultdict(list)
    for path, said in lines.items():
        by_scope[scope_of(PurePosixPath(path))] += said
    sourced, vouched, ages = _sourced(past), _sourced(past, only_own=True), Ages(past.versions)
    for said in by_scope.values():
        yield from (ailment for line in said for ailment in _secret(line))
        open_lines = [line for line in said if not refusal(line.text)]  # a secret is not shown again
        yield from _pairs(open_lines)
        for line in open_lines:
            yield from _old(line, ages, norms, now)
            known = {(line.path, compared(line.text)), (line.path, "")}
            if past.versions and not known & vouched:
                yield Ailment(_source_of(line, is_known=bool(known & sourced)), line)


def _lines(path: str, data: bytes) -> list[HealthLine]:
    text = data.decode("utf-8", "replace")
    return [HealthLine(path, number + 1, words) for number, words in facts_of(text)]


def _oversized(path: str, data: bytes, norms: Norms) -> Iterator[Ailment]:
    name = PurePosixPath(path).name
    budget = norms.budgets.get(name) or (norms.budgets["note"] if is_note(PurePosixPath(path)) else 0)
    if budget and len(data) > budget:
        yield Ailment("oversized", HealthLine(path, 1, name), detail=f"{len(data):,} > {budget:,}")


def _secret(line: HealthLine) -> Iterator[Ailment]:
    if kind := refusal(line.text):
        yield Ailment("secret", HealthLine(line.path, line.number, ""), detail=kind)


def _old(line: HealthLine, ages: Ages, norms: Norms, now: datetime) -> Iterator[Ailment]:
    age = ages.of_line(line.path, line.text)
    if age and now - age.confirmed > timedelta(days=norms.stale):
        yield Ailment("stale", line, detail=str((now - age.confirmed).days))


def _pairs(lines: Sequence[HealthLine]) -> Iterator[Ailment]:
    for one, other in _neighbours(lines):
        if compared(one.text) == compared(other.text):
            yield Ailment("duplicate", other, one)
            continue
        share, differs = overlap(one.text, other.text), difference(one.text, other.text)
        if share >= _SAME and differs is None:
            yield Ailment("duplicate", other, one)
        elif differs in _TELLING and overlap(_wordy(one.text), _wordy(other.text)) >= _ALIKE:
            yield Ailment("contradiction", other, one, differs)
        elif _are_two_names(one.text, other.text):
            yield Ailment("contradiction", other, one, "name")


def _are_two_names(one: str, other: str) -> bool:
    """True if both say what the same thing is called, and not the same."""
    mine, yours = _name_of(one), _name_of(other)
    return mine is not None and yours is not None and mine[0] == yours[0] and mine[1] != yours[1]


def _name_of(text: str) -> tuple[str, str] | None:
    match = next((found for form in _naming_forms() if (found := form.fullmatch(bare(text)))), None)
    if match is None:
        return None
    return match["what"].strip().casefold(), match["name"].strip().casefold()


@cache
def _naming_forms() -> Sequence[re.Pattern[str]]:
    """Compile the forms that say what one thing is called: "my dog is Pixel"."""
    forms = [each["called"].replace("\n", "") for each in tables("talk") if "called" in each]
    return [re.compile(form, re.IGNORECASE) for form in forms]


def _wordy(text: str) -> str:
    """Without the numbers, in which two lines may differ."""
    return re.sub(r"\d+", "", text)


def _neighbours(lines: Sequence[HealthLine]) -> Iterable[tuple[HealthLine, HealthLine]]:
    """Pairs of lines that share a word: only those can be about the same."""
    holding: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        for word in content_words(line.text):
            holding[word].append(number)
    pairs = {pair for numbers in holding.values() if len(numbers) <= _COMMON for pair in combinations(numbers, 2)}
    return [(lines[one], lines[other]) for one, other in sorted(pairs)]


def _source_of(line: HealthLine, *, is_known: bool) -> AilmentKind:
    """Return the remark about a line that nobody whose memory it is has said or agreed to.

    The bot's character is made of lines that read like instructions to it.
    """
    if line.path != SOUL and is_instruction(line.text):
        return "directive"
    return "foreign" if is_known else "unsourced"


def _sourced(past: MemoryHistory, *, only_own: bool = False) -> set[tuple[str, str]]:
    """The lines of which a version says what they rest on. What people wrote by hand, they know themselves.

    With `only_own`: on words of theirs, or on their yes.
    """
    found = {(path, compared(line)) for path, lines in past.by_hand.items() for line in lines}
    for version in past.versions:
        commit = parse(version.message)
        if only_own and commit and commit.origin not in _OWN and not commit.agreed:
            continue
        for operation in commit.operations if commit else ():
            if operation.messages and operation.verb in ("write", "merge"):
                found.add((operation.file, ""))
            elif operation.messages:
                found.add((operation.file, compared(operation.text)))
    return found


# Lines that read like an instruction to the bot: a hint to people. Who said a line decides, and no word here does.


def instructions(files: Mapping[str, bytes]) -> Iterator[tuple[int, MemoryLine]]:
    """The lines that read like an instruction to the bot, with their numbers; whoever said them.

    Not those of the bot's character, which is made of such lines, nor those that tell what somebody said as theirs.
    """
    for number, line in shown_lines(files):
        if line.path != SOUL and not is_told_of_others(line.text) and is_instruction(line.text):
            yield number, line


def shown_lines(files: Mapping[str, bytes]) -> Iterator[tuple[int, MemoryLine]]:
    """Lines that prompts may carry, with their numbers."""
    for path, data in sorted(files.items()):
        text = data.decode("utf-8", "surrogateescape")
        raw = lines_of(text)
        for number, words in shown_of(text):
            line = raw[number].rstrip("\r\n").encode("utf-8", "surrogateescape")
            yield number + 1, MemoryLine(path, words, line)
