"""Small files are written whole or not at all, and only their owner can read them."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nanobot.errors import StoreError
from nanobot.store.private import GrowingFile, private_folder, remove_stale_temps, write_private


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def wide_open() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("wide_open")
def test_new_files_and_folders_are_private(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "note"
    write_private(file, "hello 你好")
    assert file.read_text(encoding="utf-8") == "hello 你好"
    assert (mode(file), mode(file.parent), mode(tmp_path / "a")) == (0o600, 0o700, 0o700)


def test_what_exists_keeps_its_mode(tmp_path: Path) -> None:
    folder, file = tmp_path / "theirs", tmp_path / "theirs" / "note"
    folder.mkdir(mode=0o755)
    file.touch(mode=0o640)
    private_folder(folder)
    write_private(file, b"new")
    assert (mode(folder), mode(file), file.read_bytes()) == (0o755, 0o640, b"new")


def test_half_a_surrogate_pair_is_written_as_valid_utf8(tmp_path: Path) -> None:
    write_private(tmp_path / "note", "ok \udc88 \ud83d\ude00")
    assert (tmp_path / "note").read_text(encoding="utf-8") == "ok � 😀"


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "note"
    write_private(file, b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="note could not be written: No space left"):
            write_private(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
    write_private(file, b"new")
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize(("refusals", "works"), [(2, True), (1000, False)])
def test_a_file_that_somebody_holds_is_tried_again_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusals: int, works: bool
) -> None:
    file = tmp_path / "note"
    write_private(file, b"old")
    replace, tries = os.replace, 0

    def held(source: Path, target: Path) -> None:
        nonlocal tries
        tries += 1
        if tries <= refusals:
            raise PermissionError(errno.EACCES, "held by a scanner")
        replace(source, target)

    monkeypatch.setattr(os, "replace", held)
    monkeypatch.setattr("nanobot.store.private._PAUSE", 0)
    if works:
        write_private(file, b"new")
    else:
        with pytest.raises(StoreError, match="held by a scanner"):
            write_private(file, b"new")
    assert file.read_bytes() == (b"new" if works else b"old")
    assert list(tmp_path.iterdir()) == [file]


_KILLED = """
import os, signal, sys
from pathlib import Path
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from nanobot.store.private import write_private
write_private(Path(sys.argv[1]), b"new")
"""


def test_a_kill_between_write_and_rename_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "note"
    write_private(file, b"old")
    killed = subprocess.run([sys.executable, "-c", _KILLED, file], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert file.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    remove_stale_temps(tmp_path)
    assert list(tmp_path.iterdir()) == [file]


def test_what_this_process_is_writing_is_no_leftover(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "log")
    file.write(b"new")

    remove_stale_temps(tmp_path)

    file.keep()
    file.close()
    assert (tmp_path / "log").read_bytes() == b"new"


def test_files_of_others_are_not_taken_for_leftovers(tmp_path: Path) -> None:
    others = {
        tmp_path / ".nanobot-notes.tmp",
        tmp_path / f".nanobot-{os.getppid()}-0a.tmp",
        tmp_path / ".nanobot-x-1.tmp",
    }
    for path in others:
        path.touch()
    (tmp_path / f".nanobot-{os.getpid()}-0a.tmp").touch()
    remove_stale_temps(tmp_path)
    assert set(tmp_path.iterdir()) == others
