"""The memory of a bot that has answered once."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.bot import Talker, converse, house
from bench.figures import Figure, Scale
from bench.process import NANOBOT, PYTHON, Spent, spend
from bench.written import write_session
from nanobot.workspace import Home, Workspace

_TURN = "import sys; from bench.memory import one_turn; one_turn(sys.argv[1], sys.argv[2])"
_OPENAI = [PYTHON, "-c", "import openai"]
_RATIO = 1.15
_CONFIG = """
model: loopback
models:
  loopback: {{base_url: "{url}", api_key: none, model: loopback-1}}
"""


def measure(scale: Scale) -> Sequence[Figure]:
    runs = max(1, scale.runs // 5)
    with house() as home:
        sizes = (scale.sizes[0], scale.sizes[-1])
        for size in sizes:
            write_session(Workspace(home.workspace), str(size), size)
        bare = [
            Figure(f"the bot alone, {size:,} messages", _memory([_alone(home, size) for _ in range(runs)]), "MB")
            for size in sizes
        ]
        with _endpoint() as url:
            home.config.write_text(_CONFIG.format(url=url), encoding="utf-8")
            pairs = [(_chat(home), spend(_OPENAI)) for _ in range(scale.runs)]
    whole, bare_client = zip(*pairs, strict=True)
    took = f"{median(one.seconds for one in whole):.2f} s from start to end, at best {min(whole).seconds:.2f} s"
    ratio = median(one.seconds for one in whole) / median(one.seconds for one in bare_client)
    best = min(whole).seconds / min(bare_client).seconds
    return [
        *bare,
        Figure("nanobot chat -m, with the client of a real endpoint", _memory(whole), "MB", note=took),
        Figure("nanobot chat -m : import openai", ratio, "times", _RATIO, least=best),
    ]


def one_turn(home: str, session: str) -> None:
    """What the process that is measured does."""

    async def talk(talker: Talker) -> None:
        await talker.ask(session)

    converse(Home(Path(home)), talk)


def _alone(home: Home, size: int) -> Spent:
    return spend([PYTHON, "-c", _TURN, str(home.root), str(size)])


def _chat(home: Home) -> Spent:
    return spend([*NANOBOT, "chat", "-m", "hello"], {"NANOBOT_HOME": str(home.root)})


def _memory(spent: Sequence[Spent]) -> float:
    return median(one.memory for one in spent)


@contextmanager
def _endpoint() -> Iterator[str]:
    """An endpoint on loopback, in a process of its own, that says what it was told."""
    command = [PYTHON, "-m", "tests.fakes.openai_server", "--echo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
