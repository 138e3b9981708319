"""The presets that people chose for their sessions."""

import asyncio
from pathlib import Path

import pytest

from nanobot.errors import StoreError
from nanobot.store.state import StoredSessionModels
from nanobot.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


async def test_a_choice_is_there_tomorrow_until_it_is_taken_back(workspace: Workspace) -> None:
    models = StoredSessionModels(workspace)
    assert models.get("cli:default") is None
    await models.set("cli:default", "large")
    await models.set("cli:\udc88", "small")
    assert models.get("cli:default") == StoredSessionModels(workspace).get("cli:default") == "large"
    assert StoredSessionModels(workspace).get("cli:\udc88") == "small"
    await models.set("cli:default", None)
    assert StoredSessionModels(workspace).get("cli:default") is None
    assert workspace.session_models.stat().st_mode & 0o777 == 0o600


async def test_choices_made_at_once_are_all_kept(workspace: Workspace) -> None:
    models = StoredSessionModels(workspace)
    await asyncio.gather(*(models.set(f"cli:{n}", "large") for n in range(10)))
    anew = StoredSessionModels(workspace)
    assert [anew.get(f"cli:{n}") for n in range(10)] == ["large"] * 10


async def test_a_choice_that_cannot_be_kept_is_not_made(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "file")
    models = StoredSessionModels(workspace)
    assert models.get("cli:default") is None
    workspace.root.touch()
    with pytest.raises(StoreError):
        await models.set("cli:default", "large")
    assert models.get("cli:default") is None


async def test_a_damaged_file_is_set_aside(workspace: Workspace, caplog: pytest.LogCaptureFixture) -> None:
    workspace.state.mkdir(parents=True)
    workspace.session_models.write_text('{"cli:default": 7}')
    assert StoredSessionModels(workspace).get("cli:default") is None
    assert workspace.session_models.with_name("session_models.json.damaged").exists()
    assert "session_models.json" in caplog.text
