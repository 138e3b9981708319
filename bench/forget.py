"""Forgetting one thing in a home full of conversations: showing what would go, and erasing it everywhere."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from time import perf_counter

from bench.bot import house
from bench.figures import Figure, Scale
from nanobot.app.bot import build_bot
from nanobot.app.context import AppContext
from nanobot.bus.memory import MemoryBus
from nanobot.commands.forget import forget_at_shell
from nanobot.config import load
from nanobot.schedule.scheduler import SystemClock
from nanobot.sessions import lines
from nanobot.store.template import prepare, template_folder
from nanobot.workspace import Home, Workspace

_AT = "2026-11-30T09:12:03.000+01:00"
_MB = 1 << 20
_FULL = 1024  # MB
_SMALL = 3
_FILE = 2  # MB
_EVERY = 100  # of the conversations one in so many holds it
_VOCABULARY = 20_000
_GOALS = {"show": 30.0, "erase": 90.0}  # seconds: a person waits for it, and does it rarely


def measure(scale: Scale) -> Sequence[Figure]:
    size = _FULL if scale.loaded >= 10_000 else _SMALL
    with house() as home:
        workspace = Workspace(home.workspace)
        prepare(workspace, template_folder())
        conversations = max(1, size // _FILE)
        held = sum(_write(workspace.sessions / "cli" / f"c{n}.jsonl", n) for n in range(conversations))
        show, erase = asyncio.run(_forget(home))
        note = f"{size:,} MB, {conversations:,} conversations, {held} of them hold it"
        return [
            Figure("show what would go", show, "s", _GOALS["show"], note),
            Figure("erase it, and look through everything once more", erase, "s", _GOALS["erase"]),
        ]


async def _forget(home: Home) -> tuple[float, float]:
    config = load(home, env={})
    bot = build_bot(AppContext(config, home, Workspace(home.workspace), SystemClock(), MemoryBus()), "en")
    began = perf_counter()
    shown = await forget_at_shell(bot.forgetting, ["en", "*", "show", "marzipan"])
    middle = perf_counter()
    done = await forget_at_shell(bot.forgetting, ["en", "*", "yes", shown.token, str(shown.number or "")])
    if done.failed:
        raise RuntimeError(done.text)
    return middle - began, perf_counter() - middle


def _write(path: Path, number: int) -> bool:
    """A conversation of turns with a tool each; whether it holds what is to be forgotten."""
    path.parent.mkdir(parents=True, exist_ok=True)
    holds = number % _EVERY == 0
    with path.open("wb") as file:
        file.write(lines.header(f"cli:{path.stem}", _AT))
        turn = 0
        while file.tell() < _FILE * _MB:
            file.writelines(_turn(f"{number}x{turn}", holds=holds and turn == 0))
            turn += 1
    return holds


def _turn(name: str, *, holds: bool) -> Iterator[bytes]:
    chance = Random(name)
    words = " ".join(f"word{chance.randrange(_VOCABULARY)}" for _ in range(40))
    said = f"{words} marzipan" if holds else words
    call = {"id": f"c{name}", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    rows: list[dict[str, object]] = [
        {"role": "user", "origin": "owner", "content": said, "context": f"<context>\ntime: {_AT}\n</context>"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "origin": "tool", "content": f"{words}\n" * 6, "tool_call_id": f"c{name}"},
        {"role": "assistant", "content": words},
    ]
    for number, row in enumerate(rows):
        fields = {"type": "message", "id": f"m{name}-{number}", "at": _AT, "turn": f"t{name}", **row}
        yield json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
