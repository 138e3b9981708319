"""`nanobot dream`, but for the shell around it."""

from pathlib import Path

from nanobot.commands.memory import dream_at_shell
from nanobot.memory.episodes.consolidator import Archiving
from tests.fakes.dreamers import keen
from tests.memory.dream.bedroom import MEMORY, Bedroom


async def test_what_was_said_a_moment_ago_is_archived_first_and_then_dreamt_of(tmp_path: Path) -> None:
    bedroom = await Bedroom(tmp_path / "workspace").began()
    bedroom.answers(keen)
    told = list[str]()

    async def archive() -> list[Archiving]:
        await bedroom.happened("the boat is blue", facts=["the boat is blue"])
        return [Archiving(is_whole=True)]

    answer = await dream_at_shell(bedroom.dream, archive, "en", told.append)

    assert not answer.failed
    assert "the boat is blue" in answer.text
    assert "the boat is blue" in bedroom.read(MEMORY)
    assert len(told) == 1
