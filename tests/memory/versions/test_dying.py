"""Whatever a kill interrupts, afterwards there is all of it or nothing."""

import shutil
from pathlib import Path

import pytest

from nanobot.memory.versions.worktree import versioned_part
from tests.memory.versions.desk import BASE, INDEX, MEMORY, Desk
from tests.memory.versions.dying import AFTER, die
from tests.memory.versions.test_purging import everything_in

pytestmark = pytest.mark.slow  # each step is a process that dies

MOST_STEPS = 30


def again(begun: Path, root: Path) -> Desk:
    """A copy of the workspace with a history, with an index."""
    shutil.copytree(begun, root)
    desk = Desk(root)
    desk.write(MEMORY, BASE[MEMORY] + INDEX)
    return desk


def on_disk(desk: Desk) -> dict[str, bytes | None]:
    """The files, as far as they are versioned."""
    found = {path: desk.read(path) for path in {**BASE, **AFTER}}
    return {path: None if data is None else versioned_part(path, data) for path, data in found.items()}


async def test_a_change_is_whole_or_never_was_and_never_looks_like_a_hand_edit(begun: Path, tmp_path: Path) -> None:
    before = dict.fromkeys(AFTER) | BASE
    outcomes = []
    for step in range(MOST_STEPS):
        desk = again(begun, tmp_path / f"change{step}")
        died = await die(desk.root, "change", step)

        assert (await desk.started_again().ensure()).version is None
        is_made = (await desk.subjects())[0] == "dream: dreamt"
        assert len(await desk.subjects()) == 1 + is_made
        assert on_disk(desk) == ({**before, **AFTER} if is_made else before)
        assert (desk.read(MEMORY) or b"").endswith(INDEX)
        assert await desk.git("status", "--porcelain") == ""
        assert not list(desk.root.rglob("*.tmp"))
        outcomes.append(is_made)
        if not died:
            break
        assert is_made or await desk.change(AFTER, "dreamt", "dream")

    assert sorted(outcomes) == outcomes
    assert (outcomes[0], outcomes[-1]) == (False, True)
    assert len(outcomes) >= 8


async def test_what_a_person_edits_after_a_kill_is_theirs_and_stays(begun: Path, tmp_path: Path) -> None:
    for step in range(1, MOST_STEPS):
        desk = again(begun, tmp_path / f"edited{step}")
        died = await die(desk.root, "change", step)
        mine = (desk.read(MEMORY) or b"").replace(b"# Memory", b"# My memory")
        desk.write(MEMORY, mine)

        await desk.started_again().ensure()

        assert b"# My memory" in (desk.read(MEMORY) or b"")
        is_made = "dream: dreamt" in await desk.subjects()
        assert (b"- changed" in (desk.read(MEMORY) or b"")) == is_made
        assert (await desk.subjects())[0] == "person: Edited by hand: MEMORY.md"
        assert (await desk.store.log(1))[0].paths == (MEMORY,)
        if not died:
            break


async def test_a_hand_edit_and_a_beginning_are_made_once(begun: Path, tmp_path: Path) -> None:
    for step in range(MOST_STEPS):
        desk = Desk(tmp_path / f"begun{step}")
        for path, data in BASE.items():
            desk.write(path, data)
        died = await die(desk.root, "base", step)
        await desk.started_again().ensure()
        desk.write("SOUL.md", b"mine\n")
        died |= await die(desk.root, "hand", step)
        await desk.started_again().ensure()

        assert await desk.subjects() == [
            "person: Edited by hand: SOUL.md",
            "person: What was here when the history began",
        ]
        assert await desk.git("status", "--porcelain") == ""
        if not died:
            break


async def test_a_purge_is_done_or_never_begun(begun: Path, tmp_path: Path) -> None:
    outcomes = []
    for step in range(MOST_STEPS):
        desk = again(begun, tmp_path / f"purge{step}")
        told = (await desk.store.log())[0].id
        died = await die(desk.root, "purge", step)

        await desk.started_again().ensure()

        repository = desk.root / "memory" / ".git"
        is_done = b"- two" not in b"".join(everything_in(repository))
        assert (b"- two" not in (desk.read(MEMORY) or b"")) == is_done
        assert (await desk.store.resolve(told) != told) == is_done
        assert len(await desk.store.log()) == 1
        assert await desk.git("status", "--porcelain") == ""
        assert not (repository / "purge").exists()
        outcomes.append(is_done)
        if not died:
            break

    assert sorted(outcomes) == outcomes
    assert (outcomes[0], outcomes[-1]) == (False, True)
