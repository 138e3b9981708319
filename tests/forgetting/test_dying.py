"""Whenever the process is killed, the next one finishes what it began; before the yes is on disk, nothing was."""

import shutil
from itertools import count
from pathlib import Path

import pytest

from nanobot.memory.episodes.history_file import EpisodeStore
from tests.forgetting.dying import die
from tests.forgetting.household import OTHER, SECRET, Household, git

pytestmark = pytest.mark.slow  # each step is a process that dies


@pytest.mark.parametrize("step", [1, 7, 13, 19, 26])
async def test_killed_on_the_way_it_goes_on_at_the_next_start(furnished: Path, private_home: Path, step: int) -> None:
    assert await _killed_at(step, furnished, private_home)


@pytest.mark.slow
async def test_killed_at_any_step_it_goes_on_at_the_next_start(furnished: Path, private_home: Path) -> None:
    for step in count():
        if not await _killed_at(step, furnished, private_home):
            assert step > 30
            return


async def _killed_at(step: int, furnished: Path, root: Path) -> bool:
    """Whether it was killed; afterwards a next start must leave everything as if it had not been."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(furnished, root, symlinks=True)
    house = Household(root)
    stray = house.space.memory / "list.txt"
    stray.write_text(f"- the {OTHER}\n- more {SECRET}\n", encoding="utf-8")
    was_killed = await die(root, step)
    has_begun = house.space.forgetting.exists()
    notice = await house.bot().forgetting.resume()

    assert notice is None  # who asked at the shell is not there any more
    assert not house.space.forgetting.exists()
    if was_killed and not has_begun:
        assert SECRET in "".join(f"{one}" for one in await house.said("cli:default")) or house.holding(SECRET) == []
        await house.forget(SECRET)
    assert house.holding(SECRET) == []
    assert (await house.said("cli:default"))[0] == ("user", f"I live in a {OTHER}.")
    assert [one.cursor for one in await EpisodeStore(house.space).after(0, 9)] == [1, 2]
    assert f"- lives in a {OTHER} (2026-03-02)\n" in house.space.memory_file.read_text(encoding="utf-8")
    assert stray.read_text(encoding="utf-8") == f"- the {OTHER}\n"
    assert git(house.space, "status", "--porcelain").strip() in (b"", b"?? tombstones/")
    return was_killed
