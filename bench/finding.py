"""Searching among many messages, and what the index costs when one is added."""

import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.figures import Figure, Scale
from bench.recall.home import Ours, write_sessions
from bench.recall.measure import times
from bench.recall.scale import append, question, timed_inside
from bench.recall.talk import synthetic_history
from nanobot.memory.recall.ports import SearchLimits
from nanobot.memory.recall.search import LocalRecall
from nanobot.workspace import Workspace

_SEARCH, _APPEND = 50.0, 0.5  # ms, the first for a hundred thousand messages
_QUESTIONS = 12  # for each run


def measure(scale: Scale) -> Sequence[Figure]:
    return [figure for size in scale.sizes[-2:] for figure in _of_size(max(size, 100), scale.runs)]


def _of_size(size: int, runs: int) -> Iterator[Figure]:
    chance = random.Random(3)
    what = f"among {size:,} messages"
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder))
        turns = list(synthetic_history(size))
        write_sessions(workspace, "history", turns)
        ours = Ours(workspace)
        yield Figure(f"{what}: the index, from nothing", ours.index_seconds, "s")
        recall, scope = LocalRecall(ours.index), SearchLimits(scopes=frozenset({"owner"}))
        taken = [timed_inside(recall, question(chance, turns), scope) for _ in range(runs * _QUESTIONS)]
        yield Figure.of(f"{what}: a question", taken, "ms")
        yield Figure(f"{what}: a question, 99 of 100", times(taken)[1], "ms", _SEARCH, "in one scope")
        added = [append(ours, workspace, number) for number in range(runs * _QUESTIONS)]
        yield Figure.of(f"{what}: one more message", added, "ms", _APPEND)
        ours.index.close()
        yield Figure(f"{what}: the index on disk", workspace.recall_index.stat().st_size / 1e6, "MB")
