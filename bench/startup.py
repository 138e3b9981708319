"""How long `nanobot` takes to say what it is."""

from collections.abc import Sequence
from statistics import median

from bench.figures import Figure, Scale
from bench.process import NANOBOT, PYTHON, Spent, spend

_SECONDS = 0.15
_RATIO = 3.0
_ASYNCIO = [PYTHON, "-c", "import asyncio"]
_COMMANDS = {option: [*NANOBOT, option] for option in ("--help", "--version")}


def measure(scale: Scale) -> Sequence[Figure]:
    for command in (_ASYNCIO, *_COMMANDS.values()):
        spend(command)  # compiles what is not yet compiled
    asyncio: list[Spent] = []
    spent: dict[str, list[Spent]] = {option: [] for option in _COMMANDS}
    for _ in range(scale.runs):
        asyncio.append(spend(_ASYNCIO))
        for option, command in _COMMANDS.items():
            spent[option].append(spend(command))
    unit = median(_seconds(asyncio))
    return [
        *(figure for option in _COMMANDS for figure in _figures(option, spent[option], unit)),
        Figure.of('python -c "import asyncio", for comparison', _seconds(asyncio), "s", note=_memory(asyncio)),
    ]


def _figures(option: str, spent: Sequence[Spent], unit: float) -> Sequence[Figure]:
    return [
        Figure.of(f"nanobot {option}", _seconds(spent), "s", _SECONDS, _memory(spent)),
        Figure(f"nanobot {option} : import asyncio", median(_seconds(spent)) / unit, "times", _RATIO),
    ]


def _seconds(spent: Sequence[Spent]) -> Sequence[float]:
    return [one.seconds for one in spent]


def _memory(spent: Sequence[Spent]) -> str:
    return f"{median(one.memory for one in spent):.0f} MB"
