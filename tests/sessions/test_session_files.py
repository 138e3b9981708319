"""Which files are sessions', and what is never opened as one."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nanobot.errors import StoreError
from nanobot.sessions.store import SessionFiles, SessionManager
from nanobot.transcript import Message
from nanobot.workspace import Workspace

AT = "2026-11-30T09:00:00.000+01:00"
HELLO = Message(role="user", content="hello", id="1", at=AT)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / "ws")
    (workspace.sessions / "cli").mkdir(parents=True)
    return workspace


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.mkdir()


def _device(path: Path) -> None:
    path.symlink_to(os.devnull)


def _link_out(path: Path) -> None:
    elsewhere = path.parent.parent.parent / "elsewhere.jsonl"
    elsewhere.write_text('{"type":"message","role":"user","content":"secret","id":"9","at":"2026-11-30T09:00:00Z"}\n')
    path.symlink_to(elsewhere)


@pytest.mark.parametrize("make", [_pipe, _folder, _device, _link_out])
async def test_what_is_no_file_of_ours_is_neither_listed_nor_read_nor_written(
    workspace: Workspace, make: Callable[[Path], None]
) -> None:
    store = SessionManager(workspace)
    await store.append(await store.load("cli:good"), HELLO)
    session = await store.load("cli:x")
    make(workspace.sessions / "cli" / "x.jsonl")
    before = {path: path.stat().st_size for path in workspace.root.glob("*.jsonl")}

    assert [info.key for info in await store.list()] == ["cli:good"]
    for attempt in (store.load, store.messages):
        with pytest.raises(StoreError, match=r"x\.jsonl could not be read: it is "):
            await attempt("cli:x")
    with pytest.raises(StoreError, match=r"x\.jsonl could not be written: it is "):
        await store.append(session, HELLO)
    assert {path: path.stat().st_size for path in workspace.root.glob("*.jsonl")} == before


async def test_a_link_out_to_what_is_not_there_makes_no_file_there(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.sessions / "cli" / "x.jsonl").symlink_to(tmp_path / "new.jsonl")
    store = SessionManager(workspace)

    with pytest.raises(StoreError, match="a link that leads out"):
        await store.load("cli:x")
    assert not (tmp_path / "new.jsonl").exists()


async def test_a_channel_that_is_a_link_out_is_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace.sessions / "telegram").symlink_to(tmp_path / "elsewhere")
    store = SessionManager(workspace)

    with pytest.raises(StoreError, match="a link that leads out"):
        await store.load("telegram:1")
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_links_that_stay_inside_and_a_sessions_folder_elsewhere_are_fine(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "ws")
    workspace.root.mkdir()
    (tmp_path / "elsewhere").mkdir()
    workspace.sessions.symlink_to(tmp_path / "elsewhere")
    store = SessionManager(workspace)
    await store.append(await store.load("cli:one"), HELLO)
    (workspace.sessions / "cli" / "two.jsonl").symlink_to("one.jsonl")

    assert sorted(key for key, _ in SessionFiles(workspace).all()) == ["cli:one", "cli:two"]
    assert await store.messages("cli:two") == await store.messages("cli:one")
