"""What was measured, and the table that shows it."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from unicodedata import east_asian_width

__all__ = ["FULL", "SMALL", "Figure", "Scale", "median", "milliseconds", "rows"]

_HEAD = ("", "median", "goal", "", "")


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
    """A median; `goal` is the most it should be, None where it is shown for comparison only."""

    what: str
    value: float
    unit: str
    goal: float | None = None
    note: str = ""

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
    widths = [max(_width(line[i]) for line in lines) for i in range(len(_HEAD))]
    return "\n".join(_line(line, widths).rstrip() for line in lines)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _row(figure: Figure) -> tuple[str, ...]:
    goal = "" if figure.goal is None else f"≤ {_number(figure.goal)}"
    verdict = "" if figure.goal is None else "missed" if figure.missed else "met"
    return f"  {figure.what}", f"{_number(figure.value)} {figure.unit}".strip(), goal, verdict, figure.note


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:.3g}"


def _line(line: tuple[str, ...], widths: Sequence[int]) -> str:
    what, value, goal, *rest = line
    cells = [what + " " * (widths[0] - _width(what)), value.rjust(widths[1]), goal.rjust(widths[2])]
    return "  ".join([*cells, *(text.ljust(width) for text, width in zip(rest, widths[3:], strict=True))])


def _width(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
