"""kill -9 the process that has the spool: nothing that was acknowledged is lost, and nothing is doubled."""

import asyncio
import random
import time
from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Literal

import pytest

from tests.bus.life import PARTS, Death, live
from tests.contracts.bus import PATIENCE
from tests.fakes.forks import FORKS


class Lives:
    """One spool, and the processes that have it one after the other."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._acknowledged: set[str] = set()
        self._count = 0

    async def live(self, texts: int, *, seconds: float | None = None, death: Death | None = None) -> None:
        """A life in which so much is said; it is killed after so many seconds, if it has not ended by then."""
        said = [f"{self._count + number}" for number in range(texts)]
        self._count += texts
        ours, theirs = FORKS.Pipe(duplex=False)
        process = FORKS.Process(target=live, args=(self._folder, said, theirs, death))
        process.start()
        theirs.close()
        work = asyncio.to_thread(_listen, process, ours, seconds)
        self._acknowledged.update(await asyncio.wait_for(work, PATIENCE))

    async def check(self) -> int:
        """Live once more to the end, and look at what people have seen; how much had been acknowledged."""
        await self.live(1)
        seen = Counter((self._folder / "platform").read_text().split("\n")[:-1])
        assert {name: count for name, count in seen.items() if count > 1} == {}
        expected = {f"to {text} #{part}" for text in self._acknowledged for part in range(PARTS)}
        assert expected - set(seen) == set()
        return len(self._acknowledged)


def _listen(process: ForkServerProcess, pipe: Connection, seconds: float | None) -> list[str]:
    if seconds is not None:
        process.join(seconds)
        process.kill()
    texts: list[str] = []
    try:
        while True:
            texts.append(pipe.recv())
    except (EOFError, OSError):
        process.join()
    finally:
        process.close()
        pipe.close()
    return texts


async def kill_at_random(folder: Path, *, spools: int, kills: int, texts: int, seed: int) -> int:
    """So many lives of each spool end at moments spread over all of a life; how much was acknowledged."""
    chance, acknowledged = random.Random(seed), 0
    await Lives(folder / "first").live(1)  # from now on everything is imported
    start = time.monotonic()
    await Lives(folder / "measured").live(texts)
    length = time.monotonic() - start
    for number in range(spools):
        lives = Lives(folder / str(number))
        for _ in range(kills):
            await lives.live(texts, seconds=chance.uniform(0, length))
        acknowledged += await lives.check()
    return acknowledged


async def test_a_few_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path) -> None:
    assert await kill_at_random(tmp_path, spools=2, kills=4, texts=20, seed=1) > 0


@pytest.mark.parametrize("place", ["before", "in", "after"])
async def test_a_kill_in_one_piece_of_work_or_another_loses_and_doubles_nothing(
    tmp_path: Path, place: Literal["before", "in", "after"]
) -> None:
    lives = Lives(tmp_path / "spool")
    for work in range(1, 30, 3):
        await lives.live(2, death=Death(work, place))
    await lives.check()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["before", "in", "after"])
async def test_a_kill_in_any_piece_of_work_loses_and_doubles_nothing(
    tmp_path: Path, place: Literal["before", "in", "after"]
) -> None:
    for work in range(1, 45):
        lives = Lives(tmp_path / f"{work}")
        for _ in range(4):  # more often than a message may take the process with it
            await lives.live(2, death=Death(work, place))
        await lives.check()


@pytest.mark.slow
async def test_hundreds_of_kills_at_random_moments_lose_and_double_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    acknowledged = await kill_at_random(tmp_path, spools=12, kills=25, texts=60, seed=20261130)
    with capsys.disabled():
        print(f"\n300 kills, {acknowledged} messages acknowledged, none lost, none doubled")
