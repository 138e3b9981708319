"""Building the prompt from the files of the workspace."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict

from bench.bot import house
from bench.figures import Figure, Scale
from nanobot.authority import Scope
from nanobot.config import load
from nanobot.core.prompt import ContextBuilder, Skills
from nanobot.memory.scopes import MemoryRegistry
from nanobot.ports import ModelInfo
from nanobot.schedule.scheduler import SystemClock
from nanobot.store.documents import CachedDocuments, MemoryFolder, read_frontmatter
from nanobot.workspace import Home, Workspace

_WARM = 1.0  # ms
_NOTES = 30
_NOTE = """---
type: reference
summary: What is known about matter number {number}, in one line of usual length.
---
Matter number {number} was decided in spring. The papers are in the blue folder.
"""
_SETTLED = 0.1  # seconds; a file that was written just now is read again to be sure
_MODEL = ModelInfo("instant", "instant-1", 32_000, 8_000)


def measure(scale: Scale) -> Sequence[Figure]:
    with house() as home:
        notes = Workspace(home.workspace).memory
        for number in range(_NOTES):
            (notes / f"matter-{number}.md").write_text(_NOTE.format(number=number), encoding="utf-8")
        return asyncio.run(_measure(home, scale.runs))


async def _measure(home: Home, runs: int) -> Sequence[Figure]:
    await _build(_builder(home))  # writes the index of notes
    await asyncio.sleep(_SETTLED)
    cold = [await _build(_builder(home)) for _ in range(runs)]
    context = _builder(home)
    await _build(context)
    warm = [await _build(context) for _ in range(runs * 20)]
    size = len(context.prompt(_MODEL, Scope.owner()).message.content or "")
    return [
        Figure.of("warm", warm, "ms", _WARM, f"{_NOTES} notes, {size:,} characters"),
        Figure.of("cold, all files read", cold, "ms"),
    ]


async def _build(context: ContextBuilder) -> float:
    began = time.perf_counter()
    await context.refresh(Scope.owner())
    context.messages(_MODEL, context.prompt(_MODEL, Scope.owner()), [])
    return (time.perf_counter() - began) * 1000


def _builder(home: Home) -> ContextBuilder:
    config, documents, clock = load(home, env={}), CachedDocuments(), SystemClock()
    workspace = Workspace(home.workspace)
    shelves = MemoryRegistry(
        workspace,
        lambda path: MemoryFolder(path, documents),
        read_frontmatter,
        clock,
        budget=config.memory.budget.memory,
    )
    skills = Skills(workspace.skills, documents, read_frontmatter)
    return ContextBuilder(workspace, documents, shelves, skills, asdict(config.memory.budget), clock)
