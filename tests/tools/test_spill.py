"""Results that are too long for the context."""

from pathlib import Path

import pytest

from nanobot.authority import Scope
from nanobot.tools import spill
from nanobot.tools.disk import Disk
from nanobot.tools.paths import Sandbox
from nanobot.tools.spill import Spill
from nanobot.workspace import Workspace
from tests.tools.desk import ADA, Desk


def make(root: Path) -> Spill:
    root.mkdir(exist_ok=True)
    workspace = Workspace(root)
    return Spill(workspace, Disk(Sandbox(workspace)), max_result=100)


async def test_what_fits_is_passed_on_as_it_is(tmp_path: Path) -> None:
    assert await make(tmp_path / "ws").fit("x" * 100, Scope.owner(), "exec") == "x" * 100
    assert not (tmp_path / "ws/spill").exists()


async def test_what_does_not_fit_is_kept_whole(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(100))
    shown = await make(tmp_path / "ws").fit(text, Scope.owner(), "exec")
    (file,) = (tmp_path / "ws/spill").iterdir()
    assert file.read_text() == text
    assert shown.startswith("line 0\n")
    assert shown.endswith("line 99\n")
    assert f"path spill/{file.name}, start" in shown


async def test_only_the_scope_that_made_it_can_read_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    await make(desk.root).fit("x" * 101, ADA.authority.scope, "exec")
    (file,) = (desk.root / "spill/people/telegram-12").iterdir()
    path = str(file.relative_to(desk.root))
    assert await desk.text("read_file", ADA, path=path) == "x" * 101
    assert "does not belong" in await desk.refusal("read_file", path=path)


async def test_old_results_make_room_for_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "MAX_KEPT", 1_000)
    kept = make(tmp_path / "ws")
    for letter in "abcdefgh":
        await kept.fit(letter * 400, Scope.owner(), "exec")
    files = list((tmp_path / "ws/spill").iterdir())
    assert sum(file.stat().st_size for file in files) <= 1_000
    assert "h" * 400 in {file.read_text() for file in files}


async def test_a_result_that_cannot_be_kept_says_so(tmp_path: Path) -> None:
    kept = make(tmp_path / "ws")
    (tmp_path / "ws/spill").write_text("in the way")
    shown = await kept.fit("x" * 500, Scope.owner(), "exec")
    assert "could not be kept" in shown
    assert shown.startswith("xxx")
