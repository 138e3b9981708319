"""What one turn writes, and how often it waits for the disk."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from unittest.mock import patch

from bench.bot import LOOK, Talker, converse, house
from bench.figures import Figure, Scale, milliseconds
from bench.written import write_session
from nanobot.workspace import Home, Workspace

_BYTES = 64_000
_FSYNCS = 6
_IO = Path("/proc/self/io")  # Linux only
_LINE = b"x" * 400 + b"\n"  # about what a message takes

_KINDS = (("a question", "What would you do first?"), ("with a tool", LOOK))


def measure(scale: Scale) -> Sequence[Figure]:
    sizes = (scale.sizes[0], scale.sizes[-1])
    with house() as home:
        for size in sizes:
            write_session(Workspace(home.workspace), str(size), size)
        return [figure for size in sizes for figure in _of_size(home, size, scale.runs)]


def bare_append(path: Path, runs: int) -> list[float]:
    """Milliseconds to open a file, append a line, have it on the disk itself, and close it."""

    def append() -> None:
        with path.open("ab", buffering=0) as file:
            file.write(_LINE)
            os.fsync(file.fileno())

    return milliseconds(append, runs)


def _of_size(home: Home, size: int, runs: int) -> Iterator[Figure]:
    written: dict[str, list[int]] = {kind: [] for kind, _ in _KINDS}
    synced: dict[str, list[int]] = {kind: [] for kind, _ in _KINDS}

    async def talk(talker: Talker) -> None:
        await talker.ask(str(size))  # the first turn of a session may make its file and move its window
        for _ in range(runs):
            for kind, text in _KINDS:
                with _counting_fsyncs() as fsyncs:
                    before = _written(home)
                    await talker.ask(str(size), text)
                    written[kind].append(_written(home) - before)
                synced[kind].append(fsyncs())

    converse(home, talk)
    for kind, _ in _KINDS:
        note = f"at most {max(written[kind]):,}"
        yield Figure(f"{kind}, {size:,} messages: written", median(written[kind]), "bytes", _BYTES, note)
        note = f"at most {max(synced[kind])}"
        yield Figure(f"{kind}, {size:,} messages: fsync", median(synced[kind]), "times", _FSYNCS, note)


def _written(home: Home) -> int:
    """Bytes that this process has handed to write(2) so far; elsewhere than on Linux, the size of all files."""
    if _IO.exists() and (found := re.search(r"wchar: (\d+)", _IO.read_text(encoding="ascii"))):
        return int(found[1])
    return sum(path.stat().st_size for path in home.root.rglob("*") if path.is_file())


@contextmanager
def _counting_fsyncs() -> Iterator[Callable[[], int]]:
    with patch("os.fsync", wraps=os.fsync) as fsync:
        yield lambda: fsync.call_count
