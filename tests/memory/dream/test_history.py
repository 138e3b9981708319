"""Dreams in a real history."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.fakes.dreamers import add, change, keen, note, wants
from tests.memory.dream.bedroom import BASE, MEMORY, Bedroom

OUTER = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, env=OUTER, capture_output=True, check=True).stdout.decode()


async def test_a_dream_is_a_commit_of_its_own_with_what_it_changed_and_no_more(git_bedroom: Bedroom) -> None:
    await git_bedroom.happened("the robot needs two motors")

    report = await git_bedroom.sleep(wants(note("robot", "the robot needs two motors", 1), add("two motors", 1)))

    version, diffs = await git_bedroom.versions.show(report.version)
    assert (version.author, version.name) == ("dream", "nanobot dream")
    assert sorted(diff.path for diff in diffs) == [MEMORY, "memory/robot.md"]
    assert (await git_bedroom.versions.commit_hand_edits()).version is None


async def test_a_person_who_edits_while_the_model_thinks_keeps_it(git_bedroom: Bedroom) -> None:
    await git_bedroom.happened("the pump hangs on pin 5, the roses are white")

    def thinks(request: object, stream: object) -> object:
        git_bedroom.write(MEMORY, BASE[MEMORY].replace("- the roses are red", "- the roses are pink"))
        return wants(
            change("the roses are red", "the roses are white", 1),
            change("the pump hangs on pin 4", "the pump hangs on pin 5", 1),
        )

    report = await git_bedroom.sleep(thinks)  # type: ignore[arg-type]  # its types are wider than they need to be

    assert "- the roses are pink\n" in git_bedroom.read(MEMORY)
    assert "pin 5" in git_bedroom.read(MEMORY)
    assert [left.kind for left in report.left] == ["late"]
    assert [version.author for version in await git_bedroom.versions.log()] == ["dream", "person", "person"]


async def test_in_somebodys_repository_nothing_of_theirs_is_touched(tmp_path: Path) -> None:
    root = tmp_path / "theirs"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / ".gitignore").write_text("node_modules\n")
    git(root, "add", ".gitignore")
    git(root, "commit", "-q", "-m", "first")
    git(root, "checkout", "-q", "-b", "feature")
    (root / "user.txt").write_text("staged\n")
    git(root, "add", "user.txt")
    bedroom = await Bedroom(root, git=True).began()
    before = [git(root, "diff", "--cached", "--name-only"), git(root, "rev-parse", "HEAD"), git(root, "branch")]
    await bedroom.happened("the user likes rain")

    report = await bedroom.sleep(wants(add("likes rain", 1, file="USER.md")))

    after = [git(root, "diff", "--cached", "--name-only"), git(root, "rev-parse", "HEAD"), git(root, "branch")]
    assert after == before
    assert (root / ".gitignore").read_text() == "node_modules\n"
    _, diffs = await bedroom.versions.show(report.version)
    assert [diff.path for diff in diffs] == ["USER.md"]


async def test_without_git_it_is_remembered_all_the_same_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    bedroom = await Bedroom(tmp_path / "workspace", git=True).began()
    await bedroom.happened("thing 1 is blue", facts=["thing 1 is blue"])

    report = await bedroom.sleep(keen)
    again = await bedroom.sleep(keen)

    assert bedroom.read(MEMORY).count("thing 1 is blue") == 1
    assert (report.outcome, report.version, again.outcome) == ("changed", "", "nothing")
    assert await bedroom.book.cursor() == 1
    assert "missing" in bedroom.versions.problem
