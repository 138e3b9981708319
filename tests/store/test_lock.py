"""One process at a time writes a workspace."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nanobot.errors import WorkspaceError
from nanobot.store.lock import WorkspaceLock
from nanobot.workspace import Workspace

_HOLDS = """
import sys
from pathlib import Path
from nanobot.store.lock import WorkspaceLock
from nanobot.workspace import Workspace
with WorkspaceLock(Workspace(Path(sys.argv[1]))):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


def holder(workspace: Workspace) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDS, workspace.root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_holds_the_workspace(workspace: Workspace) -> None:
    with holder(workspace) as process:
        try:
            with pytest.raises(WorkspaceError) as refusal, WorkspaceLock(workspace):
                pass
            text = str(refusal.value)
            assert f"process {process.pid} (`-c {workspace.root}`, since 20" in text
            assert str(workspace.root) in text
            assert "--workspace" in text
        finally:
            process.communicate("")
    with WorkspaceLock(workspace):
        pass


def test_the_lock_of_a_dead_process_is_no_obstacle(workspace: Workspace) -> None:
    with holder(workspace) as process:
        process.kill()
        process.wait()
    with WorkspaceLock(workspace):
        pass


def test_two_in_one_process_exclude_each_other_and_it_may_be_taken_again(workspace: Workspace) -> None:
    lock = WorkspaceLock(workspace)
    for _ in range(2):
        with lock, pytest.raises(WorkspaceError, match=f"process {os.getpid()} "), WorkspaceLock(workspace):
            pass
    assert workspace.lock.exists()
    assert workspace.lock.read_bytes() == b""


def test_a_refusal_leaves_the_lock_with_its_holder(workspace: Workspace) -> None:
    with WorkspaceLock(workspace):
        for _ in range(2):
            with pytest.raises(WorkspaceError), WorkspaceLock(workspace):
                pass


def test_a_holder_that_has_not_signed_yet_is_somebody(workspace: Workspace) -> None:
    with WorkspaceLock(workspace):
        workspace.lock.write_bytes(b"")
        with pytest.raises(WorkspaceError, match="in use by another process"), WorkspaceLock(workspace):
            pass


def test_a_lock_file_that_was_replaced_while_locking_does_not_count(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock
    replaced: list[int] = []

    def too_late(descriptor: int, operation: int) -> None:
        flock(descriptor, operation)
        if not replaced:
            workspace.lock.unlink()
            replaced.append(descriptor)

    monkeypatch.setattr(fcntl, "flock", too_late)
    with WorkspaceLock(workspace), pytest.raises(WorkspaceError, match="in use"), WorkspaceLock(workspace):
        pass


def test_the_lock_is_private(workspace: Workspace) -> None:
    with WorkspaceLock(workspace):
        assert workspace.lock.stat().st_mode & 0o777 == 0o600
        assert workspace.root.stat().st_mode & 0o777 == 0o700


def test_a_workspace_that_cannot_be_locked_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match="cannot be locked"), WorkspaceLock(Workspace(tmp_path / "file")):
        pass
