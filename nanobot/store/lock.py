"""One process at a time writes a workspace."""

import fcntl
import json
import os
import shlex
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from nanobot.errors import NO_ROOM, DiskFullError, WorkspaceError
from nanobot.store.private import private_folder
from nanobot.workspace import PRIVATE_FILE, Workspace

_LONGEST_COMMAND = 300  # characters
_LOOKS = 1000  # at a lock that others hold for a moment
_LONGEST = 4096  # bytes, with every character escaped


class WorkspaceHolder(msgspec.Struct):
    """Holder of the workspace; `serves` if it is a gateway, which other commands can talk to."""

    pid: int
    command: str
    since: str
    serves: bool = False

    @property
    def is_chat(self) -> bool:
        """True if somebody types there, and can type something else."""
        words = self.command.split()
        return "chat" in words and "-m" not in words

    def __str__(self) -> str:
        return f"process {self.pid} (`{self.command}`, since {self.since[:16].replace('T', ' ')})"


class InUseError(WorkspaceError):
    """Another process has the workspace; `holder` is None if it has not said yet who it is."""

    def __init__(self, root: Path, holder: WorkspaceHolder | None) -> None:
        super().__init__(
            f"The workspace {root} is in use by {holder or 'another process'}. "
            "Close that first, or choose another one with --workspace."
        )
        self.root = root
        self.holder = holder

    def or_typed(self, typed: str) -> WorkspaceError:
        """The same with a way that is open: what can be typed in the conversation that has the workspace."""
        if not typed or self.holder is None or not self.holder.is_chat:
            return self
        return WorkspaceError(
            f"The workspace {self.root} is in use by {self.holder}. Type it there: {typed} (or close that first)."
        )


class _Held:
    """A locked file that says who holds it, from entering to leaving."""

    _descriptor: int | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


class Precedence(_Held):
    """Held by a gateway that waits for a workspace: nobody else takes that meanwhile, as long as its process lives."""

    def __init__(self, workspace: Workspace) -> None:
        self._root = workspace.root
        self._path = workspace.next_lock

    def __enter__(self) -> Self:
        """Raises InUseError if another gateway waits for it, and OSError."""
        self._descriptor = descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        for left in reversed(range(_LOOKS)):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # perhaps somebody is only just looking whether it is held
                if not left:
                    holder = _holder(descriptor)
                    os.close(descriptor)
                    raise InUseError(self._root, holder) from None
            else:
                break
        _sign(descriptor, serves=True)
        return self


class WorkspaceLock(_Held):
    """Held from entering to leaving; the system lets go of it when the process dies, however it dies.

    The file stays when the lock is released: deleting it would let two others lock two different files.
    """

    def __init__(self, workspace: Workspace, *, serves: bool = False) -> None:
        """`serves`: this is a gateway, and whoever finds the lock taken may talk to it."""
        self._serves = serves
        self._root = workspace.root
        self._path = workspace.lock
        self._next = workspace.next_lock

    def __enter__(self) -> Self:
        """Take the lock. Raises InUseError, DiskFullError, and another WorkspaceError if locks do not work there."""
        try:
            private_folder(self._path.parent)
            if not self._serves:
                self._give_precedence()
            self._descriptor = self._take()
        except OSError as error:
            if error.errno in NO_ROOM:
                raise DiskFullError(
                    f"The disk of the workspace {self._root} is full ({error.strerror}). Nothing is lost: "
                    "make room on it, and start again. `nanobot doctor` says how much is free."
                ) from error
            raise WorkspaceError(
                f"The workspace {self._root} cannot be locked ({error.strerror or error}: {self._path}). "
                "It must be a folder that you may write to, on a file system that supports locks: "
                "choose one on a disk of this machine with --workspace, or have the share mounted with locks."
            ) from error
        return self

    def _give_precedence(self) -> None:
        """Raises InUseError if a gateway waits for the workspace."""
        with suppress(FileNotFoundError):
            descriptor = os.open(self._next, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InUseError(self._root, _holder(descriptor)) from None
            finally:
                os.close(descriptor)

    def _take(self) -> int:
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(descriptor, self._path):
                    _sign(descriptor, serves=self._serves)
                    return descriptor
            except BlockingIOError:
                holder = _holder(descriptor)
                os.close(descriptor)
                raise InUseError(self._root, holder) from None
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # somebody put another file in its place, which others would lock


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _sign(descriptor: int, *, serves: bool) -> None:
    """Say who holds the lock."""
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    holder = {"pid": os.getpid(), "command": shlex.join(sys.argv)[:_LONGEST_COMMAND], "since": since, "serves": serves}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(holder).encode(), 0)


def _holder(descriptor: int) -> WorkspaceHolder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, _LONGEST, 0), type=WorkspaceHolder)
    except ValueError:  # who has just taken it is about to write its name
        return None
