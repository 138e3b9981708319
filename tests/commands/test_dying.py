"""Whatever a kill interrupts, a change is taken back with its tombstone, or not at all."""

import shutil
from pathlib import Path

from nanobot.memory.tombstones import FOLDER
from tests.commands.dying import die
from tests.commands.historian import Historian
from tests.fakes.dreamers import keen
from tests.memory.dream.bedroom import MEMORY, Bedroom

MOST_STEPS = 20


async def test_a_kill_at_any_step_leaves_files_and_tombstone_together(tmp_path: Path) -> None:
    bedroom = await Bedroom(tmp_path / "workspace", git=True).began()
    await bedroom.happened("the boat is blue", facts=["the boat is blue"])
    version = (await bedroom.sleep(keen)).version
    outcomes = []
    for step in range(MOST_STEPS):
        root = tmp_path / f"killed{step}"
        shutil.copytree(bedroom.root, root)
        died = await die(root, f"/dream-undo {version}", step)
        ada = Historian(Bedroom(root, git=True))
        await ada.bedroom.versions.ensure()
        is_undone = "boat" not in ada.bedroom.read(MEMORY)
        stones = list((root / FOLDER).glob("*.json"))
        assert len(stones) == is_undone
        assert [found.author for found in await ada.bedroom.versions.log()].count("nanobot") == is_undone

        again = await ada.types(f"/dream-undo {version}")

        assert again.failed == is_undone
        assert "boat" not in ada.bedroom.read(MEMORY)
        assert len(list((root / FOLDER).glob("*.json"))) == 1
        outcomes.append(is_undone)
        if not died:
            break

    assert outcomes == sorted(outcomes)
    assert (outcomes[0], outcomes[-1]) == (False, True)
