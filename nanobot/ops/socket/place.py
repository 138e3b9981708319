"""Where the socket is."""

import errno
import os
import shutil
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from nanobot.errors import WorkspaceError
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, Workspace, set_mode

LONGEST_PATH = 100
"""Bytes of a socket's path that every system takes (Linux 108, macOS 104, with the NUL at the end)."""


def bound(workspace: Workspace) -> socket.socket:
    """A listening socket that only its owner can reach. Whoever calls this holds the lock of the workspace.

    What a gateway that was killed left behind is replaced. Raises WorkspaceError.
    """
    try:
        return _bound(workspace)
    except OSError as error:
        raise WorkspaceError(
            f"The socket {workspace.socket} cannot be made: {error.strerror or error}. The workspace must lie on "
            "a file system that knows sockets (a share of another machine may not)."
        ) from error


def _bound(workspace: Workspace) -> socket.socket:
    removed(workspace)
    path = workspace.socket
    if len(os.fsencode(path)) > LONGEST_PATH:
        path = Path(tempfile.mkdtemp(prefix="nanobot-")) / "socket"
        _write(workspace.socket_elsewhere, os.fsencode(path))
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(os.fspath(path))
        _make_private(path)  # before it listens, so that nobody else is ever let in
        made.listen()
    except BaseException:
        made.close()
        raise
    return made


def _make_private(path: Path) -> None:
    """Others must not be able to write to it: that is how one connects."""
    if not set_mode(path, PRIVATE_FILE) and path.stat().st_mode & 0o022:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def removed(workspace: Workspace) -> None:
    """Remove the socket, and the folder that was made for it. For whoever holds the lock."""
    elsewhere = found(workspace)
    if elsewhere is not None and elsewhere != workspace.socket:
        shutil.rmtree(elsewhere.parent, ignore_errors=True)
    for path in (workspace.socket, workspace.socket_elsewhere):
        path.unlink(missing_ok=True)


def found(workspace: Workspace) -> Path | None:
    """The path at which a gateway of this workspace would listen; None if there certainly is none.

    A folder of somebody else in the place of ours is not trusted.
    """
    with suppress(OSError):
        path = Path(os.fsdecode(workspace.socket_elsewhere.read_bytes()))
        folder = path.parent.stat(follow_symlinks=False)
        is_ours = folder.st_uid == os.geteuid() and stat.S_IMODE(folder.st_mode) == PRIVATE_FOLDER
        return path if is_ours and stat.S_ISDIR(folder.st_mode) else None
    return workspace.socket if workspace.socket.is_socket() else None


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
