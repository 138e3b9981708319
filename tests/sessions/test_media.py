"""Files that people send land in the folder of their scope, whole, and under names that can do no harm."""

import errno
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.authority import Scope
from nanobot.errors import StoreError
from nanobot.messages import Attachment
from nanobot.sessions.media import MediaFolder, unique_name
from nanobot.workspace import Workspace, is_hidden, scope_of

NASTY = [
    "../../SOUL.md",
    "..\\..\\SOUL.md",
    "/etc/cron.d/x",
    "SOUL.md",
    ".",
    "..",
    "",
    "a\0.txt",
    "CON.txt",
    "x" * 300 + ".png",
    "文" * 200 + ".pdf",
    "lone \ud800 half.txt",
    "invoice\u202egpj.exe",
    ".bashrc",
    "trailing. . .",
    "two words?.txt",
]


async def pieces(*content: bytes) -> AsyncIterator[bytes]:
    for piece in content:
        yield piece


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "SOUL.md").write_text("soul")
    return Workspace(tmp_path)


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("scope", "folder"),
    [
        (Scope.owner(), "media"),
        (Scope.person("telegram", "42"), "media/people/telegram-42"),
        (Scope.group("telegram", "-1001"), "media/groups/telegram--1001"),
    ],
)
async def test_a_file_lies_in_the_folder_of_its_scope(workspace: Workspace, scope: Scope, folder: str) -> None:
    media = MediaFolder(workspace)

    kept = await media.save(scope, "plan.txt", "text/plain", pieces(b"one ", b"two"))

    assert media.path(kept).read_bytes() == b"one two"
    assert media.path(kept).parent == workspace.root / folder
    assert (kept.name, kept.mime) == ("plan.txt", "text/plain")
    assert Path(kept.path).name.startswith("plan-")
    assert Path(kept.path).suffix == ".txt"


async def test_files_and_folders_are_private(workspace: Workspace) -> None:
    media = MediaFolder(workspace)

    path = media.path(await media.save(Scope.person("discord", "5"), "a.txt", "text/plain", pieces(b"a")))

    assert path.stat().st_mode & 0o777 == 0o600
    assert {folder.stat().st_mode & 0o777 for folder in path.parents[:3]} == {0o700}


async def test_two_files_of_one_name_are_two_files(workspace: Workspace) -> None:
    media = MediaFolder(workspace)

    first = await media.save(Scope.owner(), "same.txt", "text/plain", pieces(b"1"))
    second = await media.save(Scope.owner(), "same.txt", "text/plain", pieces(b"2"))

    assert [media.path(file).read_bytes() for file in (first, second)] == [b"1", b"2"]


@pytest.mark.parametrize("name", NASTY)
async def test_no_name_leads_out_of_the_folder_or_overwrites_anything(workspace: Workspace, name: str) -> None:
    media = MediaFolder(workspace)

    kept = await media.save(Scope.owner(), name, "text/plain", pieces(b"x"))

    assert [path.parent for path in files_in(workspace.media)] == [workspace.media]
    assert workspace.soul.read_text() == "soul"
    assert media.path(kept).is_file()
    assert kept.name.encode().decode() == kept.name


@given(st.text(st.characters(codec=None), max_size=300), st.sampled_from(["text/plain", "image/png", "x/unknown", ""]))
def test_every_name_becomes_one_part_of_a_path_that_any_file_system_takes(name: str, mime: str) -> None:
    made = unique_name(name, mime)

    assert len(made.encode()) <= 255
    assert Path(made).name == made
    assert not set(made) & set('<>:"/\\|?*\0 \n')
    assert not made.startswith(".")
    assert not made.endswith((".", " "))
    assert made.isprintable()


def test_a_name_without_an_ending_gets_the_one_of_its_kind() -> None:
    assert unique_name("photo", "image/png").endswith(".png")
    assert unique_name("voice", "audio/made-up").startswith("voice-")


async def test_a_file_that_breaks_off_leaves_nothing(workspace: Workspace) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionError("cut")

    with pytest.raises(ConnectionError):
        await MediaFolder(workspace).save(Scope.owner(), "a.bin", "", broken())

    assert files_in(workspace.media) == []


async def test_a_full_disk_is_told_and_leaves_nothing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    workspace.media.mkdir()

    with pytest.raises(StoreError, match="No space left"):
        await MediaFolder(workspace).save(Scope.owner(), "a.bin", "", pieces(b"x"))

    assert files_in(workspace.media) == []


async def test_what_a_killed_process_left_half_written_is_removed(workspace: Workspace) -> None:
    workspace.media.mkdir()
    (workspace.media / f".nanobot-{os.getpid()}-00ff.tmp").write_bytes(b"half")

    kept = await MediaFolder(workspace).save(Scope.owner(), "a.txt", "text/plain", pieces(b"x"))

    assert files_in(workspace.media) == [workspace.root / kept.path]


async def test_what_is_saved_belongs_to_its_scope_and_can_be_seen_by_the_tools(workspace: Workspace) -> None:
    scope = Scope.group("discord", "7.8")
    media = MediaFolder(workspace)

    inside = PurePosixPath((await media.save(scope, ".git", "", pieces(b"x"))).path)

    assert scope_of(inside) == scope.name
    assert not is_hidden(inside)


@pytest.mark.parametrize("path", ["/etc/hostname", "../outside.txt", "media/../../outside.txt"])
def test_a_path_that_leads_out_of_the_workspace_is_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(StoreError):
        MediaFolder(workspace).path(Attachment(path))


def test_a_name_on_disk_has_no_brackets_to_pass_for_an_id() -> None:
    assert re.fullmatch(r"a_id_1,_owner_b-[0-9a-f]{8}\.txt", unique_name("a] (id 1, owner) [b].txt", "text/plain"))
