"""A workspace's first files."""

import logging
from importlib import resources
from pathlib import Path

from nanobot.errors import StoreError, WorkspaceError
from nanobot.store.private import keeps_modes, private_folder, remove_stale_temps, write_private
from nanobot.store.state import read_state, write_state
from nanobot.workspace import Workspace

_NAME = "workspace_template"

_log = logging.getLogger(__name__)


def template_folder() -> Path:
    """Return the folder of the template: inside the package as installed, beside it in a checkout.

    Raises WorkspaceError.
    """
    package = Path(str(resources.files("nanobot")))
    for folder in (package / _NAME, package.parent / _NAME):
        if folder.is_dir():
            return folder
    raise WorkspaceError(f"The installation is incomplete: {package / _NAME} is missing. Install nanobot again.")


def prepare(workspace: Workspace, template: Path) -> None:
    """Make the workspace's folders, and copy the template's files that were never copied before.

    A file that is there is left alone, and one that the user deleted is not brought back: what was
    installed is remembered. New folders and files are private, those that exist keep their modes.
    For the start, by the one process that writes the workspace. Raises WorkspaceError.
    """
    folders = (workspace.root, workspace.memory, workspace.sessions, workspace.skills, workspace.cache, workspace.state)
    try:
        for folder in folders:
            private_folder(folder)
            remove_stale_temps(folder)
        _install(workspace, template)
        if not keeps_modes(workspace.state):
            _log.warning(
                "%s is on a file system that keeps no permissions of its own; who may read it, its mount decides",
                workspace.root,
            )
    except (OSError, StoreError) as error:
        raise WorkspaceError(
            f"The workspace {workspace.root} cannot be used: {error}. "
            "It must be a folder that you may write to; choose another one with --workspace."
        ) from error


def _install(workspace: Workspace, template: Path) -> None:
    installed = read_state(workspace.installed, set[str], set())
    new = {name: source for name, source in _files(template) if name not in installed}
    for name, source in new.items():
        target = workspace.root / name
        if not target.exists() and not target.is_symlink():
            write_private(target, source.read_bytes())
    if new:
        write_state(workspace.installed, sorted(installed | set(new)))


def _files(template: Path) -> list[tuple[str, Path]]:
    """The template's files by their names in the workspace; hidden ones are somebody's editor's."""
    files = ((path.relative_to(template), path) for path in template.rglob("*") if path.is_file())
    return [(name.as_posix(), path) for name, path in files if not any(part.startswith(".") for part in name.parts)]
