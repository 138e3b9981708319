"""Whatever a kill interrupts, a dream is there as a whole or not at all, and is dreamt once."""

import shutil
from pathlib import Path

from tests.fakes.dreamers import keen
from tests.memory.dream.bedroom import MEMORY, Bedroom
from tests.memory.dream.dying import die

MOST_STEPS = 40


async def test_a_kill_at_any_step_leaves_none_or_all_and_the_next_run_makes_it_once(
    git_bedroom: Bedroom, tmp_path: Path
) -> None:
    await git_bedroom.happened("thing 1 is blue", "I like rain", facts=["thing 1 is blue", "likes rain"])
    git_bedroom.write("USER.md", "# The user\n\n- likes green tea\n")
    outcomes = []
    for step in range(MOST_STEPS):
        root = tmp_path / f"killed{step}"
        shutil.copytree(git_bedroom.root, root)
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
        outcomes.append(is_made)
        if not died:
            break

    assert outcomes == sorted(outcomes)
    assert (outcomes[0], outcomes[-1]) == (False, True)
    assert len(outcomes) >= 8
