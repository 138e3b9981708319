"""A workspace is filled once, and belongs to its user from then on."""

import json
from pathlib import Path

import pytest

import nanobot
from nanobot.errors import WorkspaceError
from nanobot.store.template import prepare, template_folder
from nanobot.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "home" / "workspace")


@pytest.fixture
def template(tmp_path: Path) -> Path:
    folder = tmp_path / "template"
    (folder / "memory").mkdir(parents=True)
    (folder / "SOUL.md").write_text("Be kind.")
    (folder / "memory" / "MEMORY.md").write_text("# Memory")
    (folder / ".DS_Store").write_text("Finder was here")
    return folder


def test_a_new_workspace_is_private_and_complete(workspace: Workspace, template: Path) -> None:
    (template / "SOUL.md").chmod(0o644)
    prepare(workspace, template)
    assert workspace.soul.read_text() == "Be kind."
    assert workspace.memory_file.read_text() == "# Memory"
    for folder in (
        workspace.root,
        workspace.memory,
        workspace.sessions,
        workspace.skills,
        workspace.state,
        workspace.cache,
    ):
        assert folder.stat().st_mode & 0o777 == 0o700
    for file in (path for path in workspace.root.rglob("*") if path.is_file()):
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.name != ".DS_Store"


def test_an_upgrade_adds_what_is_new_and_touches_nothing_else(workspace: Workspace, template: Path) -> None:
    prepare(workspace, template)
    workspace.soul.write_text("Be rude.")
    workspace.memory_file.unlink()
    (template / "SOUL.md").write_text("Be kinder.")
    (template / "USER.md").write_text("Who are you?")
    prepare(workspace, template)
    assert workspace.soul.read_text() == "Be rude."
    assert not workspace.memory_file.exists()
    assert workspace.user.read_text() == "Who are you?"


def test_the_folder_of_somebody_keeps_its_files_and_modes(workspace: Workspace, template: Path, tmp_path: Path) -> None:
    workspace.root.mkdir(parents=True, mode=0o755)
    workspace.root.chmod(0o755)
    (tmp_path / "soul of mine").write_text("Mine.")
    workspace.soul.symlink_to(tmp_path / "soul of mine")
    workspace.memory.mkdir()
    workspace.memory_file.symlink_to(tmp_path / "not mounted today")
    prepare(workspace, template)
    assert workspace.root.stat().st_mode & 0o777 == 0o755
    assert workspace.soul.read_text() == "Mine."
    assert workspace.memory_file.is_symlink()


def test_a_start_removes_what_a_killed_one_left(workspace: Workspace, template: Path) -> None:
    prepare(workspace, template)
    left = workspace.state / ".nanobot-99999999-0a.tmp"
    left.touch()
    prepare(workspace, template)
    assert not left.exists()


def test_a_damaged_list_of_installed_files_is_set_aside(
    workspace: Workspace, template: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(workspace, template)
    workspace.installed.write_text('["SOUL.md"')
    prepare(workspace, template)
    assert workspace.installed.with_name("installed.json.damaged").read_text() == '["SOUL.md"'
    assert json.loads(workspace.installed.read_text()) == ["SOUL.md", "memory/MEMORY.md"]
    assert "is damaged" in caplog.text


def test_a_place_that_cannot_be_a_workspace_is_a_clear_error(workspace: Workspace, template: Path) -> None:
    workspace.root.parent.mkdir()
    workspace.root.write_text("a file")
    with pytest.raises(WorkspaceError, match=r"cannot be used.*--workspace"):
        prepare(workspace, template)


def test_the_template_of_this_project_is_found() -> None:
    assert (template_folder() / "SOUL.md").is_file()


def test_the_template_in_an_installed_package_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "nanobot"
    monkeypatch.setattr("nanobot.store.template.resources.files", lambda name: tmp_path / name)
    with pytest.raises(WorkspaceError, match="incomplete"):
        template_folder()
    (tmp_path / "workspace_template").mkdir()
    assert template_folder() == tmp_path / "workspace_template"
    (package / "workspace_template").mkdir(parents=True)
    assert template_folder() == package / "workspace_template"
    assert nanobot.__version__
