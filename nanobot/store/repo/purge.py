"""A history written anew without what is to be forgotten, and put in the place of the old one."""

import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from nanobot.errors import VersionError
from nanobot.store.private import sync_folder
from nanobot.store.repo.git import Repository, initialise
from nanobot.store.repo.journal import Entry, Journal, Step
from nanobot.store.repo.rewriter import Erase, Reword, Rewriter
from nanobot.store.state import read_state, write_state

log = logging.getLogger(__name__)

_FOLDER = "purge"
_READY = "ready.json"
_CARRIED = ("objects", "refs", "packed-refs", "HEAD")
_KEPT = (*_CARRIED, "config", "info", "hooks", "description", ".gitignore", _FOLDER)


def build(repo: Repository, erase: Erase, reword: Reword) -> Mapping[str, str]:
    """Write the new history beside the old one, ready to take its place.

    Returns the ids that changed, old to new. Raises VersionError; then nothing has changed.
    """
    folder = repo.git_dir / _FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    log.debug("purge: the new history begins")
    try:
        initialise(folder)
        with Repository(folder, repo.work_tree) as new:
            ids = Rewriter(repo, new, erase, reword).run()
            shutil.copyfile(repo.git_dir / "HEAD", folder / "HEAD")
            new.run("pack-refs", "--all", "--prune")
            entry = Entry(new.run("rev-parse", "HEAD").decode().strip(), _steps(repo, new))
    except OSError as error:
        raise VersionError("failed", f"{folder} cannot be written: {error.strerror or error}") from error
    os.sync()  # all of the new must be on the disk before anything of the old goes
    steps = [[step.path, step.before, step.after] for step in entry.steps]
    write_state(folder / _READY, {"commit": entry.commit, "steps": steps, "ids": dict(ids)})
    log.debug("purge: the new history is ready")
    return ids


def finish(git_dir: Path, journal: Journal, ids_path: Path) -> None:
    """Put a history that is ready in the place of the old one, and leave nothing of that; one half built goes.

    Can be begun again after a crash at any point. Raises StoreError.
    """
    folder = git_dir / _FOLDER
    if not folder.is_dir():
        return
    match read_state(folder / _READY, dict[str, object], {}):
        case {"commit": str(commit), "steps": list(rows), "ids": dict(ids)}:
            _remember(ids_path, ids)
            journal.write(Entry(commit, [Step(*row) for row in rows]))
            _swap(git_dir, folder)
    shutil.rmtree(folder)
    sync_folder(git_dir)
    log.debug("purge: the old history is gone")


def renamed(ids_path: Path) -> Mapping[str, str]:
    """What ids of versions became, over all purges. Raises StoreError."""
    return read_state(ids_path, dict[str, str], {})


def _remember(ids_path: Path, ids: Mapping[str, str]) -> None:
    known = renamed(ids_path)
    write_state(ids_path, {old: ids.get(new, new) for old, new in known.items()} | dict(ids))


def _swap(git_dir: Path, folder: Path) -> None:
    for name in _CARRIED:
        if (folder / name).exists():  # else it was carried over before the crash
            if (folder / name).is_dir():
                _remove(git_dir / name)
                log.debug("purge: the old %s is gone", name)
            (folder / name).replace(git_dir / name)
            log.debug("purge: the new %s is in its place", name)
    for path in list(git_dir.iterdir()):
        if path.name not in _KEPT:  # the index, reflogs, what a person's git has left
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _steps(repo: Repository, new: Repository) -> list[Step]:
    """How the files of the newest version change."""
    old_tree = {path: name for path, (_, name) in repo.tree("HEAD").items()}
    new_tree = {path: name for path, (_, name) in new.tree("HEAD").items()}
    paths = sorted(path for path in old_tree.keys() | new_tree.keys() if old_tree.get(path) != new_tree.get(path))
    return [Step(path, old_tree.get(path), new_tree.get(path)) for path in paths]
