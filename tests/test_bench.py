"""Each benchmark runs, on a small scale; how fast is not asked here."""

import importlib

import pytest

from bench.__main__ import BENCHMARKS
from bench.figures import SMALL, Figure, rows, table

LONG = ("forget", "gateway", "memory", "startup", "turn", "versions")
"""Start the program anew several times, or have much to prepare."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in BENCHMARKS])
def test_a_benchmark_runs(name: str) -> None:
    figures = importlib.import_module(f"bench.{name}").measure(SMALL)

    assert figures
    assert all(figure.value > 0 for figure in figures)


def test_the_table_says_which_goals_are_missed() -> None:
    figures = [
        Figure("quick", 0.5, "ms", 1.0),
        Figure.of("slow", [3.0, 1.0, 2.0], "ms", 1.0, "why"),
        Figure("just so", 1234.5, "ms"),
    ]

    first, quick, slow, other, _ = (line.split() for line in table(rows("a title", figures)).split("\n"))

    assert first == ["a", "title", "median", "least", "goal"]
    assert quick == ["quick", "0.5", "ms", "≤", "1", "met"]
    assert slow == ["slow", "2", "ms", "1", "≤", "1", "missed", "why"]
    assert other == ["just", "so", "1,234", "ms"]
