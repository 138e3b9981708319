"""Whatever a kill interrupts, a dream is there as a whole or not at all, and is dreamt once."""

import shutil
from pathlib import Path

import pytest

from tests.fakes.dreamers import keen
from tests.memory.dream.bedroom import MEMORY, Bedroom
from tests.memory.dream.dying import die

SOME_STEPS = (0, 4, 8)
MOST_STEPS = 40


@pytest.mark.parametrize("step", SOME_STEPS)
async def test_a_kill_leaves_none_or_all_and_the_next_run_makes_it_once(git_bedroom: Bedroom, step: int) -> None:
    await _begin(git_bedroom)
    await _killed_at(step, git_bedroom.root)


@pytest.mark.slow
async def test_a_kill_at_any_step_leaves_none_or_all_and_the_next_run_makes_it_once(
    git_bedroom: Bedroom, tmp_path: Path
) -> None:
    await _begin(git_bedroom)
    outcomes = []
    for step in range(MOST_STEPS):
        root = tmp_path / f"killed{step}"
        shutil.copytree(git_bedroom.root, root)
        died, is_made = await _killed_at(step, root)
        outcomes.append(is_made)
        if not died:
            break

    assert outcomes == sorted(outcomes)
    assert (outcomes[0], outcomes[-1]) == (False, True)
    assert len(outcomes) >= 8


async def _begin(bedroom: Bedroom) -> None:
    await bedroom.happened("thing 1 is blue", "I like rain", facts=["thing 1 is blue", "likes rain"])
    bedroom.write("USER.md", "# The user\n\n- likes green tea\n")


async def _killed_at(step: int, root: Path) -> tuple[bool, bool]:
    """Whether it was killed, and whether the dream was there as a whole; the next run must make it if not."""
    died = await die(root, step)
    bedroom = Bedroom(root, git=True)
    await bedroom.versions.ensure()
    is_made = bool(await bedroom.commits())
    assert ("thing 1 is blue" in bedroom.read(MEMORY)) == ("likes rain" in bedroom.read(MEMORY)) == is_made
    assert (await bedroom.book.cursor() == 1) <= is_made
    assert "green tea" in bedroom.read("USER.md")

    await bedroom.sleep(keen)

    assert bedroom.read(MEMORY).count("thing 1 is blue") == bedroom.read(MEMORY).count("likes rain") == 1
    assert await bedroom.book.cursor() == 1
    authors = [version.author for version in await bedroom.versions.log()]
    assert authors == ["dream", "person", "person"]
    assert [len(commit.operations) for commit in await bedroom.commits()] == [2]
    assert bool(bedroom.llm.requests) == (not is_made)
    return died, is_made
