"""history.jsonl: appending an episode, and the newest ten of a scope, among many."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.bot import house
from bench.disk import bare_append
from bench.figures import Figure, Scale
from nanobot.authority import Origin, Scope
from nanobot.memory.episodes.history_file import EpisodeStore, encode
from nanobot.ports import Episode, Fact
from nanobot.workspace import Workspace

_GOAL = 0.5  # ms
_RARE = Scope.group("telegram", "-100")
_NEWEST = 10

Work = Callable[[], Coroutine[Any, Any, object]]


def measure(scale: Scale) -> Sequence[Figure]:
    return [figure for size in scale.sizes[-2:] for figure in _of_size(size, scale.runs)]


def _of_size(size: int, runs: int) -> Iterator[Figure]:
    with house() as home:
        workspace = Workspace(home.workspace)
        _write(workspace.history, size)
        opened = [_opened(workspace) for _ in range(runs)]
        what = f"among {size:,} episodes"
        yield Figure.of(f"{what}: the first newest {_NEWEST}", opened, "ms")
        for durable, note in ((True, "on the disk itself"), (False, "")):
            history = EpisodeStore(workspace, fsync=durable)
            appended = asyncio.run(_timed(lambda: history.append(_episode(_NEWEST)), runs))  # noqa: B023
            yield Figure.of(f"{what}: append", appended, "ms", None if durable else _GOAL, note)
        yield Figure.of("a bare append with fsync, for comparison", bare_append(home.root / "probe", runs), "ms")
        newest = asyncio.run(_timed(lambda: history.newest(Scope.owner(), _NEWEST), runs))
        yield Figure.of(f"{what}: newest {_NEWEST}", newest, "ms", _GOAL)
        first, *rest = asyncio.run(_timed(lambda: history.newest(_RARE, _NEWEST), runs + 1))
        yield Figure(f"{what}: newest {_NEWEST} of a scope that rarely speaks, once", first, "ms")
        yield Figure.of(f"{what}: the same, from then on", rest, "ms", _GOAL)


def _opened(workspace: Workspace) -> float:
    (took,) = asyncio.run(_timed(lambda: EpisodeStore(workspace).newest(Scope.owner(), _NEWEST), 1))
    return took


async def _timed(work: Work, runs: int) -> list[float]:
    """Milliseconds, in a program whose threads run already."""
    await asyncio.to_thread(os.getpid)
    times = []
    for _ in range(runs):
        began = perf_counter()
        await work()
        times.append((perf_counter() - began) * 1000)
    return times


def _write(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.writelines(encode(_episode(number)) for number in range(1, size + 1))


def _episode(number: int) -> Episode:
    return Episode(
        cursor=number,
        timestamp="2026-11-30T09:12:03+01:00",
        session=f"telegram:{number % 40}",
        scope=_RARE if number < _NEWEST else Scope.owner(),
        origin=Origin.OWNER,
        messages=("01JDAAAAAAAAAAAAAAAAAAAAAA", "01JEAAAAAAAAAAAAAAAAAAAAAA"),
        content="- prefers metric units\n- moved the standup to 9:30\n- wants the weekly report on one page",
        facts=[Fact("standup at 9:30", ("01JDAAAAAAAAAAAAAAAAAAAAAA",), "work", 0.9)],
    )
