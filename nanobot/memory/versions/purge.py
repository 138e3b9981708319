"""A history written anew without what is to be forgotten, and put in the place of the old one."""

import logging
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from nanobot.errors import VersionError
from nanobot.memory.versions.commit import JournalEntry, Step, VersionJournal
from nanobot.memory.versions.git import Repository, end, initialise
from nanobot.memory.versions.objects import data_of, quoted
from nanobot.store.private import sync_folder
from nanobot.store.state import read_state, write_state

# Rewriter: `git fast-export` is read, `git fast-import` is written.


Erase = Callable[[str, bytes], bytes | None]
"""Given a path and its content: what may stay of it, None if nothing."""

Reword = Callable[[str, Mapping[str, str]], str]
"""Given a message and the ids of earlier commits that changed, old to new: the message as it may stay."""

_EXPORT = ("fast-export", "--all", "--no-data", "--show-original-ids", "--reencode=no", "--signed-tags=strip")
_COMMANDS = (b"commit ", b"reset ", b"tag ")
_REPOSITORY = b"160000"
"""The mode of another repository in a tree: it has no content here."""

_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_NAMED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class Rewriter:
    """Writes a history anew, once. The new repository gets nothing else: no object of the old one is taken over."""

    def __init__(self, old: Repository, new: Repository, erase: Erase, reword: Reword) -> None:
        self._old = old
        self._erase = erase
        self._reword = reword
        self._changed: dict[str, str] = {}
        self._commit: bytes = b""
        self._name = ""
        self._source = old.start(*_EXPORT)
        self._target = new.start("fast-import", "--quiet", "--done", "--force")

    def run(self) -> dict[str, str]:
        """Tell all of it; returns the ids that changed, old to new. Raises VersionError."""
        try:
            for line in iter(self._source.stdout.readline, b""):
                self._pass_on(line)
            self._end_commit()
            self._tell(b"done\n")
            self._target.stdin.close()
            problems: bytes = self._source.stderr.read() + self._target.stderr.read()
            codes = [process.proc.wait() for process in (self._source, self._target) if process.proc]
        except OSError as error:
            raise VersionError("failed", f"the history cannot be told anew: {error}") from error
        finally:
            end(self._source)
            end(self._target)
        if any(codes):
            raise VersionError("failed", f"the history cannot be told anew: {problems.decode(errors='replace')[:500]}")
        return self._changed

    def _pass_on(self, line: bytes) -> None:
        word, _, rest = line.rstrip(b"\n").partition(b" ")
        if line.startswith(_COMMANDS):
            self._end_commit()
            self._name = ""
            self._tell(line)
            self._commit = b"unmarked" if word == b"commit" else b""
        elif word == b"original-oid":
            self._name = rest.decode()
        elif word == b"mark" and self._commit:
            self._commit = rest
            self._tell(line)
        elif word == b"data":
            self._message(self._source.stdout.read(int(rest)))
        elif word == b"M":
            self._file(*rest.split(b" ", 2))
        elif line != b"\n" or self._commit:  # between commands it says nothing, and is not always understood
            self._tell(line)

    def _message(self, raw: bytes) -> None:
        text = self._reword(raw.decode("utf-8", "surrogateescape"), self._changed)
        self._tell(data_of(text.encode("utf-8", "surrogateescape")))

    def _file(self, mode: bytes, name: bytes, path: bytes) -> None:
        if mode == _REPOSITORY:
            self._tell(b"M %s %s %s\n" % (mode, name, path))
            return
        where = os.fsdecode(_unquoted(path))
        content = self._erase(where, self._old.blob(name.decode()))
        if content is None:
            self._tell(b"D %s\n" % quoted(where))
        else:
            self._tell(b"M %s inline %s\n%s" % (mode, quoted(where), data_of(content)))

    def _end_commit(self) -> None:
        """Ask what the new id of a commit is, once all of it has been told."""
        if not self._commit:
            return
        self._tell(b"get-mark %s\n" % self._commit)
        self._target.stdin.flush()
        new = self._target.stdout.readline().decode().strip()
        if new != self._name:
            self._changed[self._name] = new
        self._commit = b""

    def _tell(self, data: bytes) -> None:
        self._target.stdin.write(data)


def _unquoted(path: bytes) -> bytes:
    """A path as git prints it where it holds unusual characters."""
    if not path.startswith(b'"'):
        return path
    return _ESCAPE.sub(_unescaped, path[1:-1])


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _NAMED.get(code, code)


log = logging.getLogger(__name__)

_FOLDER = "purge"
_READY = "ready.json"
_CARRIED = ("objects", "refs", "packed-refs", "HEAD")
_KEPT = (*_CARRIED, "config", "info", "hooks", "description", ".gitignore", _FOLDER)


@dataclass(frozen=True, slots=True)
class _Ready:
    """State file of a new history that may take the place of the old one: its entry for the journal, and new ids."""

    commit: str = ""
    steps: Sequence[Step] = ()
    ids: dict[str, str] = field(default_factory=dict)


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
            ready = _Ready(new.run("rev-parse", "HEAD").decode().strip(), _steps(repo, new), ids)
    except OSError as error:
        raise VersionError("failed", f"{folder} cannot be written: {error.strerror or error}") from error
    os.sync()  # all of the new must be on the disk before anything of the old goes
    write_state(folder / _READY, asdict(ready))
    log.debug("purge: the new history is ready")
    return ids


def finish(git_dir: Path, journal: VersionJournal, ids_path: Path) -> None:
    """Put a history that is ready in the place of the old one, and leave nothing of that; one half built goes.

    Can be begun again after a crash at any point. Raises StoreError.
    """
    folder = git_dir / _FOLDER
    if not folder.is_dir():
        return
    ready = read_state(folder / _READY, _Ready, _Ready())
    if ready.commit:
        known = renamed(ids_path)
        write_state(ids_path, {old: ready.ids.get(new, new) for old, new in known.items()} | ready.ids)
        journal.write(JournalEntry(ready.commit, ready.steps))
        _swap(git_dir, folder)
    shutil.rmtree(folder)
    sync_folder(git_dir)
    log.debug("purge: the old history is gone")


def renamed(ids_path: Path) -> Mapping[str, str]:
    """Return the new ids of versions over all purges. Raises StoreError."""
    return read_state(ids_path, dict[str, str], {})


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
    """Return the steps that bring the files from the old newest version to the new one."""
    old_tree, new_tree = repo.content_ids("HEAD"), new.content_ids("HEAD")
    paths = sorted(path for path in old_tree.keys() | new_tree.keys() if old_tree.get(path) != new_tree.get(path))
    return [Step(path, old_tree.get(path), new_tree.get(path)) for path in paths]
