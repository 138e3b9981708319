"""What was measured, and the table that shows it."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self

_HEAD = ("", "median", "least", "goal", "", "")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: messages in a session, repetitions, messages in the session that is loaded, talkers."""

    sizes: Sequence[int]
    runs: int
    loaded: int
    talkers: int


FULL = Scale(sizes=(0, 100, 1_000, 10_000, 100_000), runs=25, loaded=10_000, talkers=500)
SMALL = Scale(sizes=(0, 600), runs=1, loaded=600, talkers=5)


@dataclass(frozen=True, slots=True)
class Figure:
    """A median; `goal` is the most it should be, None where it is shown for comparison only.

    `least` is the best of the runs: what it costs while the machine does nothing else.
    """

    what: str
    value: float
    unit: str
    goal: float | None = None
    note: str = ""
    least: float | None = None

    @classmethod
    def of(cls, what: str, values: Sequence[float], unit: str, goal: float | None = None, note: str = "") -> Self:
        """Of several runs."""
        return cls(what, median(values), unit, goal, note, min(values))

    @property
    def missed(self) -> bool:
        return self.goal is not None and self.value > self.goal


def milliseconds(work: Callable[[], object], runs: int) -> list[float]:
    """How long each of so many runs took."""
    return [_timed(work) for _ in range(runs)]


def rows(title: str, figures: Iterable[Figure]) -> list[tuple[str, ...]]:
    """The part of the table for one benchmark."""
    return [(title, *_HEAD[1:]), *map(_row, figures), ("",) * len(_HEAD)]


def table(lines: Sequence[tuple[str, ...]]) -> str:
    """The rows in columns; numbers stand at the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_line(line, widths).rstrip() for line in lines)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _row(figure: Figure) -> tuple[str, ...]:
    least = "" if figure.least is None else _number(figure.least)
    goal = "" if figure.goal is None else f"≤ {_number(figure.goal)}"
    verdict = "" if figure.goal is None else "missed" if figure.missed else "met"
    return f"  {figure.what}", f"{_number(figure.value)} {figure.unit}".strip(), least, goal, verdict, figure.note


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:.3g}"


def _line(line: tuple[str, ...], widths: Sequence[int]) -> str:
    what, value, least, goal, verdict, note = line
    cells = [what.ljust(widths[0]), value.rjust(widths[1]), least.rjust(widths[2]), goal.rjust(widths[3])]
    return "  ".join([*cells, verdict.ljust(widths[4]), note])
