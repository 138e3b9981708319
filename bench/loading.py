"""Opening a long session, and what of it goes to the model."""

import asyncio
import time
from collections.abc import Sequence

from bench.bot import Talker, converse, house
from bench.figures import Figure, Scale, milliseconds
from bench.written import write_session
from nanobot.app.context import BYTES_PER_TOKEN, WINDOW
from nanobot.core.conversation import Conversations
from nanobot.core.window import layered
from nanobot.schedule.scheduler import SystemClock
from nanobot.sessions.store import SessionManager
from nanobot.tokens import TokenEstimator
from nanobot.workspace import Home, Workspace

_LOAD = 10.0  # ms
_REPLAY = 1.0
_LARGE_WINDOW = 128_000  # tokens


def measure(scale: Scale) -> Sequence[Figure]:
    with house() as home:
        for name in ("ours", "foreign"):
            write_session(Workspace(home.workspace), name, scale.loaded)
        converse(home, _one_turn)
        count = f"{scale.loaded:,} messages"
        small, large = (f"load, {count}, {window // 1000}k window" for window in (WINDOW, _LARGE_WINDOW))
        return [
            asyncio.run(_load(home, "ours", WINDOW, scale.runs, small)),
            asyncio.run(_load(home, "foreign", WINDOW, scale.runs, f"{small}, from elsewhere")),
            asyncio.run(_load(home, "foreign", _LARGE_WINDOW, scale.runs, f"{large}, from elsewhere", None)),
            _replay(home, scale.runs),
        ]


async def _one_turn(talker: Talker) -> None:
    await talker.ask("ours")  # now it says where its window begins


async def _load(home: Home, name: str, window: int, runs: int, what: str, goal: float | None = _LOAD) -> Figure:
    times: list[float] = []
    for _ in range(runs * 4):
        store = SessionManager(Workspace(home.workspace), replay_bytes=BYTES_PER_TOKEN * window)
        began = time.perf_counter()
        session = await store.load(f"cli:{name}")
        times.append((time.perf_counter() - began) * 1000)
    return Figure.of(what, times, "ms", goal, f"{len(session.messages):,} messages read")


def _replay(home: Home, runs: int) -> Figure:
    store = SessionManager(Workspace(home.workspace), replay_bytes=BYTES_PER_TOKEN * WINDOW)
    conversation = asyncio.run(Conversations(store, SystemClock(), layered).open("cli:ours"))
    tokens = TokenEstimator("instant-1")

    def replay() -> int:
        conversation.counts(tokens)
        return len(conversation.replay())

    count = replay()
    return Figure.of("history for a request", milliseconds(replay, runs * 40), "ms", _REPLAY, f"{count} messages")
