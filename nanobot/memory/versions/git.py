"""git with its configuration pinned, and who else is at work in a git directory."""

import logging
import os
import re
import shutil
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from subprocess import PIPE, TimeoutExpired
from threading import Thread
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from nanobot.errors import VersionError
from nanobot.store.private import keeps_modes, write_private
from nanobot.workspace import PRIVATE_FOLDER

if TYPE_CHECKING:
    from git.cmd import Git

# Repository: git without hooks, filters, programs, or settings but ours.


log = logging.getLogger(__name__)

NAME, EMAIL = "nanobot", "nanobot@nanobot.invalid"
"""Who commits, whoever the author is. The domain is one that can never exist (RFC 2606)."""

_LEADS_TO = "ref: "
_ID = re.compile(r"[0-9a-f]{40}")
_NO_FILE = os.devnull
_PATIENCE = 600.0  # seconds; a guard against a git that hangs
_FAREWELL = 0.5  # seconds; who has no more input ends by itself
_PINNED = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.sshCommand=false",
    "core.pager=cat",
    "core.editor=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.quotePath=false",
    "core.bare=false",
    "core.fsync=committed,reference",
    "core.commitGraph=false",
    "core.multiPackIndex=false",
    "core.sparseCheckout=false",
    "index.sparse=false",
    "core.splitIndex=false",
    "core.logAllRefUpdates=true",
    "core.useReplaceRefs=false",
    "protocol.allow=never",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "log.showRoot=true",
    "log.follow=false",
    "log.mailmap=false",
    "log.diffMerges=first-parent",
    "diff.external=",
    "diff.ignoreSubmodules=none",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "fastimport.unpackLimit=100",
    "safe.directory=*",
)


def require() -> "tuple[str, type[Git]]":
    """Path of git, and GitPython's class that starts it. Raises VersionError `missing` without either."""
    program = shutil.which("git")
    if program is None:
        raise VersionError("missing", "there is no git on this machine")
    try:
        from git.cmd import Git  # takes its time, and fails over a git that does not run
    except ImportError as error:
        raise VersionError("missing", f"git cannot be used: {error}") from error
    return program, Git


def initialise(folder: Path) -> None:
    """Make an empty repository in a folder of this name. Raises VersionError, and OSError.

    `git init` gives modes to what it makes, and fails where the file system refuses that: there it is made by hand.
    """
    if not _keeps_modes(folder.parent):
        for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
            (folder / name).mkdir(PRIVATE_FOLDER, parents=True)
        write_private(folder / "HEAD", "ref: refs/heads/main\n")
        return
    command = ("init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main")
    with Repository(folder, folder.parent) as repo:
        repo.run(*command)


class Repository:
    """Git directory and the folder that it versions, opened for one operation; blocks, for use in a thread.

    Nothing of the environment and of the person's configuration is passed on; what the repository's own says is
    overruled wherever it could run something. Only commands are used that neither filter nor check out files.
    """

    def __init__(self, git_dir: Path, work_tree: Path) -> None:
        """Raises VersionError `missing` if there is no git."""
        found, starter = require()
        self.git_dir = git_dir
        self.work_tree = work_tree
        self._git = starter(str(work_tree))
        self._reader: Git.AutoInterrupt | None = None
        shared = f"core.sharedRepository={'0600' if _keeps_modes(work_tree) else 'umask'}"
        pins = [part for pin in (*_PINNED, shared) for part in ("-c", pin)]
        variables = [f"{name}={value}" for name, value in _environment(git_dir, work_tree).items()]
        self._prefix = ["/usr/bin/env", "-i", *variables, found, "--no-pager", "--literal-pathspecs", *pins]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reader is not None:
            end(self._reader)
            self._reader = None

    def run(self, *arguments: str, given: bytes = b"", fine: tuple[int, ...] = (0,)) -> bytes:
        """Run git and return its output. Raises VersionError unless it ends with one of these codes."""
        return self.ask(*arguments, given=given, fine=fine)[1]

    def ask(self, *arguments: str, given: bytes = b"", fine: tuple[int, ...] = (0, 1)) -> tuple[int, bytes]:
        """Run git and return its exit code and output."""
        process = self.start(*arguments)
        try:
            output, problem = process.communicate(given, timeout=_PATIENCE)
        except TimeoutExpired as error:
            raise VersionError("failed", f"git {arguments[0]} did not end") from error
        finally:
            end(process)
        if process.returncode not in fine:
            raise VersionError("failed", f"git {arguments[0]}: {problem.decode(errors='replace').strip()[:500]}")
        return process.returncode, output

    def start(self, *arguments: str) -> "Git.AutoInterrupt":
        """A process with pipes; to be ended by whoever started it. Raises VersionError."""
        try:
            return self._git.execute([*self._prefix, *arguments], istream=PIPE, as_process=True)
        except OSError as error:
            raise VersionError("failed", f"git cannot be run: {error}") from error

    def blob(self, name: str) -> bytes:
        """The content of a file as it was stored, by its id. Raises VersionError."""
        if self._reader is None:
            self._reader = self.start("cat-file", "--batch")
        self._reader.stdin.write(name.encode() + b"\n")
        self._reader.stdin.flush()
        head = self._reader.stdout.readline().split()
        if len(head) != 3 or head[1] != b"blob":
            raise VersionError("failed", f"the history is damaged: there is no content {name}")
        data: bytes = self._reader.stdout.read(int(head[2]))
        self._reader.stdout.read(1)
        return data

    def objects(self) -> Generator[tuple[bytes, bytes], None, None]:
        """Kind and content of each object, reachable or not. Raises VersionError."""
        process = self.start("cat-file", "--batch-all-objects", "--batch", "--unordered")
        complaints = Thread(target=_drain, args=[process.stderr], daemon=True)  # git waits until they are read
        complaints.start()
        try:
            while head := process.stdout.readline().split():
                if len(head) != 3:
                    raise VersionError("failed", f"the history is damaged: {b' '.join(head).decode(errors='replace')}")
                yield head[1], process.stdout.read(int(head[2]))
                process.stdout.read(1)
            complaints.join()  # which ends with git, and before anybody closes what it reads from
            if process.proc and (status := process.proc.wait()):
                raise VersionError("failed", f"git cat-file ended with {status}")
        finally:
            end(process)
            complaints.join()

    def tree(self, version: str, *within: str) -> Mapping[str, tuple[str, str]]:
        """Mode and id of each file in a version, by path; in these files and folders, or everywhere."""
        rows = self.run("ls-tree", "-r", "-z", "--full-tree", version, "--", *within)
        return {path: (mode, name) for mode, kind, name, path in _rows(rows) if kind == "blob"}

    def content_ids(self, version: str) -> Mapping[str, str]:
        """Ids of the files in a version, by path."""
        return {path: name for path, (_, name) in self.tree(version).items()}

    def branch(self) -> str | None:
        """The full name of the branch that HEAD is on; None if it is on none."""
        if head := self._written("HEAD"):
            return head.removeprefix(_LEADS_TO) if head.startswith(_LEADS_TO) else None
        code, output = self.ask("symbolic-ref", "--quiet", "HEAD")
        return None if code else output.decode().strip()

    def commit_id(self, name: str) -> str | None:
        """The id of the commit that a full name leads to, None if there is none."""
        place = (self.branch() or name) if name == "HEAD" else name
        if _ID.fullmatch(found := self._written(place)):  # where git keeps it, unless it has packed its branches
            return found
        code, output = self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return None if code else output.decode().strip()

    def _written(self, name: str) -> str:
        """Return the content of a reference file, "" if it has none: asking git costs a process."""
        try:
            return (self.git_dir / name).read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            return ""

    def is_ancestor(self, older: str, newer: str) -> bool:
        """True if a commit is another, or in its past; False if either is missing."""
        return self.ask("merge-base", "--is-ancestor", older, newer, fine=(0, 1, 128))[0] == 0


def _drain(stream: IO[bytes]) -> None:
    with suppress(OSError, ValueError):  # closed, since nobody wants the rest
        stream.read()


def end(process: "Git.AutoInterrupt") -> None:
    """Leave nothing of a process, whatever state it is in."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        with suppress(OSError, ValueError):
            pipe.close()
    child = process.proc
    if child is not None and child.poll() is None:
        try:
            child.wait(timeout=_FAREWELL)
        except TimeoutExpired:
            child.kill()
            child.wait()


def _rows(output: bytes) -> Iterator[tuple[str, str, str, str]]:
    for row in os.fsdecode(output).split("\0")[:-1]:
        head, _, path = row.partition("\t")
        mode, kind, name = head.split(" ")
        yield mode, kind, name, path


def _keeps_modes(folder: Path) -> bool:
    """True if git can give files a mode there."""
    try:
        return _tried(folder, folder.stat().st_dev)
    except OSError:  # a disk that is full, or nothing may be written: whatever it is, git meets it and says so
        return True


@cache
def _tried(folder: Path, _device: int) -> bool:
    """Once for each folder, and again if another disk is mounted there. Raises OSError."""
    return keeps_modes(folder)


def _environment(git_dir: Path, work_tree: Path) -> dict[str, str]:
    """Environment of git: all that it sees of the world."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": _NO_FILE,
        "XDG_CONFIG_HOME": _NO_FILE,
        "LC_ALL": "C",
        "GIT_DIR": str(git_dir),
        "GIT_WORK_TREE": str(work_tree),
        "GIT_CONFIG_GLOBAL": _NO_FILE,
        "GIT_CONFIG_SYSTEM": _NO_FILE,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_COMMITTER_NAME": NAME,
        "GIT_COMMITTER_EMAIL": EMAIL,
        "GIT_AUTHOR_NAME": NAME,
        "GIT_AUTHOR_EMAIL": EMAIL,
    }


# Locks of other processes in a git directory.


_OLD = 60.0
_OLD_UNSEEN = 3600.0
"""Seconds after which a lock that nobody holds is left over; the longer where it cannot be seen who runs."""

_PROCESSES = Path("/proc")
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")


def check(git_dir: Path, root: Path) -> None:
    """Clear away locks that a dead process left. Raises VersionError `busy` if one is in use, or a merge is open."""
    for lock in list(_locks(git_dir)):
        _clear(lock, root)
    for name in _UNFINISHED:
        if os.path.lexists(git_dir / name):
            raise VersionError("busy", f"a git operation is not finished ({name} in {git_dir}): finish or abort it")


def _locks(git_dir: Path) -> Iterator[Path]:
    yield from git_dir.glob("*.lock")
    yield from (git_dir / "refs").rglob("*.lock")


def _clear(lock: Path, root: Path) -> None:
    with suppress(FileNotFoundError):
        age = time.time() - lock.stat(follow_symlinks=False).st_mtime
        if age < (_OLD if _PROCESSES.is_dir() else _OLD_UNSEEN) or _git_runs_in(root):
            raise VersionError("busy", f"another git is at work: {lock} exists")
        lock.unlink()
        log.warning("%s was left over by a git that is gone; it was removed", lock)


def _git_runs_in(root: Path) -> bool:
    """True if a git has its working directory in here. One that cannot be looked at is somebody else's."""
    here = root.resolve()
    for process in _PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            if (process / "comm").read_text(errors="replace").startswith("git"):
                there = (process / "cwd").readlink()
                if there.is_relative_to(here):
                    return True
    return False
