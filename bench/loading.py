"""Opening a long session, and what of it goes to the model."""

import asyncio
from collections.abc import Sequence

from bench.bot import Talker, converse, house
from bench.figures import Figure, Scale, median, milliseconds
from bench.written import write_session
from nanobot.agent.conversation import Conversations
from nanobot.app import BYTES_PER_TOKEN, WINDOW
from nanobot.ops.clock import SystemClock
from nanobot.store.sessions import SessionManager
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
        return [
            _load(home, "ours", WINDOW, scale.runs, f"load, {count}, {WINDOW // 1000}k window"),
            _load(home, "foreign", WINDOW, scale.runs, f"load, {count}, {WINDOW // 1000}k window, from elsewhere"),
            _load(home, "foreign", _LARGE_WINDOW, scale.runs, f"load, {count}, {_LARGE_WINDOW // 1000}k window"),
            _replay(home, scale.runs),
        ]


async def _one_turn(talker: Talker) -> None:
    await talker.ask("ours")  # now it says where its window begins


def _load(home: Home, name: str, window: int, runs: int, what: str) -> Figure:
    read = 0

    async def load() -> None:
        nonlocal read
        store = SessionManager(Workspace(home.workspace), replay_bytes=BYTES_PER_TOKEN * window)
        read = len((await store.load(f"cli:{name}")).messages)

    with asyncio.Runner() as runner:
        runner.run(load())
        times = milliseconds(lambda: runner.run(load()), runs * 4)
    return Figure(what, median(times), "ms", _LOAD, f"{read:,} messages read")


def _replay(home: Home, runs: int) -> Figure:
    store = SessionManager(Workspace(home.workspace), replay_bytes=BYTES_PER_TOKEN * WINDOW)
    conversation = asyncio.run(Conversations(store, SystemClock()).open("cli:ours"))
    tokens = TokenEstimator("instant-1")

    def replay() -> int:
        conversation.counts(tokens)
        return len(conversation.replay())

    count = replay()
    return Figure("history for a request", median(milliseconds(replay, runs * 40)), "ms", _REPLAY, f"{count} messages")
