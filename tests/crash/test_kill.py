"""kill -9, and then start again."""

import random
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.crash.driver import Death, Place
from tests.crash.lives import LAST_WORDS, Lives, Model, Tally
from tests.fakes.openai_server import FakeOpenAI

PLACES: tuple[Place, ...] = ("before", "half", "written")
TURNS = ("turn 1", "turn 2")
LINES = 22
"""What two turns leave in the session, at most."""


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        server.otherwise = Model().answer
        yield server


async def kill_at_random(server: FakeOpenAI, folder: Path, workspaces: int, kills: int, seed: int) -> Tally:
    """In each new workspace, end so many lives of two turns at moments spread over all of a life."""
    chance, tally = random.Random(seed), Tally()
    await Lives(folder / "first", server).live(LAST_WORDS)  # from now on everything is imported
    start = time.monotonic()
    await Lives(folder / "measured", server).live(*TURNS)
    length = time.monotonic() - start
    for workspace in range(workspaces):
        lives = Lives(folder / str(workspace), server)
        for _ in range(kills):
            await lives.check(await lives.live(*TURNS, seconds=chance.uniform(0, length)), tally)
    return tally


async def test_a_few_kills_at_random_moments_cost_nothing_that_was_acknowledged(
    tmp_path: Path, server: FakeOpenAI
) -> None:
    await kill_at_random(server, tmp_path, workspaces=1, kills=4, seed=1)


@pytest.mark.parametrize("place", PLACES)
async def test_a_kill_in_the_middle_of_an_append_costs_that_line_at_most(
    tmp_path: Path, server: FakeOpenAI, place: Place
) -> None:
    lives = Lives(tmp_path / "bot", server)
    for append in (2, 5):
        await lives.check(await lives.live(*TURNS, death=Death(append, place)), Tally())


@pytest.mark.slow
async def test_two_hundred_kills_at_random_moments_cost_nothing_that_was_acknowledged(
    tmp_path: Path, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = await kill_at_random(server, tmp_path, workspaces=8, kills=25, seed=20261130)
    with capsys.disabled():
        print(f"\n\n{tally.table()}")


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
async def test_a_kill_at_any_line_of_the_session_costs_that_line_at_most(
    tmp_path: Path, server: FakeOpenAI, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally()
    for append in range(1, LINES + 1):
        lives = Lives(tmp_path / str(append), server)
        await lives.check(await lives.live(*TURNS, death=Death(append, place)), tally)
    with capsys.disabled():
        print(f"\n\nin an append, {place}:\n\n{tally.table()}")


@pytest.mark.slow
async def test_a_kill_right_behind_any_line_keeps_that_line(
    tmp_path: Path, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    tally, lives = Tally(), Lives(tmp_path / "bot", server)
    for lines in range(LINES):
        killed = await lives.live(*TURNS, lines=lines)
        assert len(killed.kept) >= lines
        await lives.check(killed, tally)
    with capsys.disabled():
        print(f"\n\nas soon as a line was acknowledged:\n\n{tally.table()}")


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("append", range(1, 6))
async def test_a_kill_while_the_start_cleans_up_after_a_kill_is_no_worse(
    tmp_path: Path, server: FakeOpenAI, append: int, place: Place
) -> None:
    lives = Lives(tmp_path / "bot", server)
    first = await lives.live(*TURNS, death=Death(3, "written"))  # four calls are open
    await lives.live(*TURNS, death=Death(append, place))
    await lives.check(first, Tally())
