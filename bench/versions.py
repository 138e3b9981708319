"""The history of memory, when it is long: dreaming, looking, taking back."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.figures import Figure, Scale
from tests.commands.historian import Historian
from tests.fakes.dreamers import keen
from tests.memory.dream.bedroom import MEMORY, Bedroom

_VERSIONS = 1_000
_LINES = 60  # that MEMORY.md has
_UNNOTICED = 1_000.0  # ms; the model takes several seconds, and nobody waits for a dream
_PATIENCE = 2_000.0  # ms; somebody waits for the answer to a command


def measure(scale: Scale) -> Sequence[Figure]:
    small = scale.runs == 1
    with tempfile.TemporaryDirectory(prefix="nanobot-bench-") as folder:
        return asyncio.run(_measure(Path(folder), 6 if small else _VERSIONS, runs=1 if small else 7))


async def _measure(root: Path, versions: int, runs: int) -> Sequence[Figure]:
    bedroom = await Bedroom(root, git=True).began()
    ada = Historian(bedroom)
    young = [await _dream(bedroom, f"young {run}") for run in range(runs)]
    for number in range(versions // 2):
        await _change(bedroom, number)
    await _dream(bedroom, "half-way")
    half_way = (await ada.newest()).id
    for number in range(versions // 2):
        await _change(bedroom, number)
    old: list[float] = []
    undone: list[float] = []
    for run in range(runs):
        old.append(await _dream(bedroom, f"old {run}"))
        undo = f"/dream-undo {(await ada.newest()).id}"
        undone.append(await _timed(partial(ada.says, undo)))
    listed = [await _timed(partial(ada.says, "/dream-log")) for _ in range(runs)]
    restored = await _timed(partial(ada.says, f"/dream-restore {half_way}"))
    return [
        Figure.of("a dream but for its model, in a young history", young, "ms", _UNNOTICED),
        Figure.of(f"a dream but for its model, after {versions:,} versions", old, "ms", _UNNOTICED),
        Figure(f"the same, {versions:,} : young", median(old) / median(young), "times"),
        Figure.of("/dream-log", listed, "ms", _PATIENCE),
        Figure.of("/dream-undo", undone, "ms", _PATIENCE),
        Figure(f"/dream-restore, {versions // 2:,} versions back", restored, "ms", _PATIENCE),
    ]


async def _dream(bedroom: Bedroom, fact: str) -> float:
    """Of one new fact; the model answers at once."""
    await bedroom.happened(fact, facts=[fact])

    async def sleep() -> None:
        if not (await bedroom.sleep(keen)).version:
            raise RuntimeError("the dream changed nothing")

    return await _timed(sleep)


async def _change(bedroom: Bedroom, number: int) -> None:
    """One more version of MEMORY.md, in which one line is another."""
    lines = bedroom.read(MEMORY).splitlines()
    marked = f"- {number % _LINES} was changed by version {number}"
    kept = [line for line in lines if not line.startswith(f"- {number % _LINES} ")]
    await bedroom.edit(MEMORY, "\n".join([*kept, marked, ""]))


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds."""
    began = perf_counter()
    await work()
    return (perf_counter() - began) * 1000
