"""A person edits what Dream is changing at the same moment: both stand there, and the history says who did what."""

import subprocess
import sys
from pathlib import Path

import pytest

from nanobot.memory.dream.operations import DreamLimits
from nanobot.ports import FileDiff
from tests.fakes.dreamers import add, wants
from tests.memory.dream import editor
from tests.memory.dream.bedroom import MEMORY, Bedroom


def brought(diff: FileDiff) -> tuple[set[str], set[str]]:
    """The lines that came, and those that went."""
    before, after = (set((side or b"").decode().splitlines()) for side in (diff.before, diff.after))
    return after - before, before - after


async def told(bedroom: Bedroom) -> dict[str, list[str]]:
    """Of each fact, which authors brought it and which took it away, as the history has it."""
    found: dict[str, list[str]] = {}
    for version in reversed(await bedroom.versions.log()):
        for diff in (await bedroom.versions.show(version.id))[1]:
            came, went = brought(diff)
            for line in came | went:
                found.setdefault(line, []).append(f"{'+' if line in came else '-'}{version.author}")
    return found


@pytest.mark.parametrize("where", ["first", "middle", "last"])
@pytest.mark.parametrize("times", [14, pytest.param(170, marks=pytest.mark.slow)])
async def test_a_line_of_a_person_and_one_of_a_dream_at_the_same_moment_both_stay(
    tmp_path: Path, where: str, times: int
) -> None:
    bedroom = await Bedroom(tmp_path / "workspace", git=True, limits=DreamLimits(runs_per_day=times)).began()
    command = [sys.executable, editor.__file__, str(bedroom.root / MEMORY), f"{where}{times}", where]
    lost: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as person:  # noqa: ASYNC220
        assert person.stdin is not None
        assert person.stdout is not None
        for number in range(1, times + 1):
            dreamt, typed = f"the dream brought thing number {number}", f"somebody typed line number {number}"
            await bedroom.happened(f"{dreamt}.")
            print(typed, file=person.stdin, flush=True)
            await bedroom.sleep(wants(add(dreamt, f"m{number}")))
            person.stdout.readline()
            await bedroom.versions.commit_hand_edits()
            lines = [line.removeprefix("- ").partition(" (")[0] for line in bedroom.read(MEMORY).splitlines()]
            lost += [line for line in (dreamt, typed) if line not in lines]
        person.stdin.close()
    authors = {line: by for line, by in (await told(bedroom)).items() if "number" in line}

    assert lost == []
    assert {tuple(by) for line, by in authors.items() if "typed" in line} == {("+person",)}
    assert {tuple(by) for line, by in authors.items() if "dream" in line} == {("+dream",)}
