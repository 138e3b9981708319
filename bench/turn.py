"""One turn, from a person's words to the bot's answer, in sessions of different lengths."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.bot import Talker, converse, house
from bench.disk import bare_append
from bench.figures import Figure, Scale
from bench.written import write_session
from nanobot.workspace import Home, Workspace

_GOAL = 5.0  # ms
_FLAT = 1.5
_WARM_UP = 5

Times = dict[int, list[float]]


def measure(scale: Scale) -> Sequence[Figure]:
    with house() as home:
        files = {size: write_session(Workspace(home.workspace), str(size), size) for size in scale.sizes}
        foreign = _first_turns(home, scale, _originals(home, files))
        opened = _first_turns(home, scale, {})
        running, appends = _turns(home, scale)
        undisturbed, _ = _turns(home, scale, durable=False)
    return [
        *_figures("in a running bot", running),
        Figure.of("two bare appends with fsync, in between", [2 * append for append in appends], "ms"),
        *_figures("the same without waiting for the disk", undisturbed),
        *_figures("the first after a start", opened),
        *_figures("the first in a session from elsewhere", foreign, has_goal=False),
    ]


def _originals(home: Home, files: dict[int, Path]) -> dict[Path, Path]:
    """Copies of the session files as nobody has continued them, by what they are copies of."""
    copies = {path: home.root / f"{size}.original" for size, path in files.items() if path.exists()}
    for path, copy in copies.items():
        shutil.copyfile(path, copy)
    return copies


def _first_turns(home: Home, scale: Scale, originals: dict[Path, Path]) -> Times:
    """Of a bot that was started for it, in each session; `originals` are put back before each turn."""
    times: Times = {size: [] for size in scale.sizes}
    for _ in range(scale.runs):
        for size in scale.sizes:

            async def talk(talker: Talker, size: int = size) -> None:
                times[size].append(await talker.ask(str(size)))

            for path, copy in originals.items():
                if path.stem == str(size):
                    _put_back(copy, path)
            converse(home, talk)
    return times


def _put_back(copy: Path, path: Path) -> None:
    """To the disk itself, or the turn would wait for that."""
    shutil.copyfile(copy, path)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _turns(home: Home, scale: Scale, *, durable: bool = True) -> tuple[Times, list[float]]:
    """One after the other through all sessions, so that what else the machine does hits all alike.

    Also returns what it costs at the same time to append a line and wait for the disk.
    """
    times: Times = {size: [] for size in scale.sizes}
    appends: list[float] = []

    async def talk(talker: Talker) -> None:
        for turn in range(_WARM_UP + 2 * scale.runs):
            for size in scale.sizes:
                took = await talker.ask(str(size))
                if turn >= _WARM_UP:
                    times[size].append(took)
            appends.extend(bare_append(home.root / "probe", 2))

    converse(home, talk, durable=durable)
    return times, appends


def _figures(what: str, times: Times, *, has_goal: bool = True) -> Sequence[Figure]:
    medians = {size: median(taken) for size, taken in times.items()}
    smallest, *_, largest = medians
    return [
        *(
            Figure.of(f"{what}, {size:,} messages", taken, "ms", _GOAL if has_goal else None)
            for size, taken in times.items()
        ),
        Figure(
            f"{what}, {largest:,} : {smallest:,}",
            medians[largest] / medians[smallest],
            "times",
            _FLAT if has_goal else None,
        ),
    ]
