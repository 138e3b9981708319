"""Sessions on disk."""

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import StoreError
from nanobot.ports import SessionStore
from nanobot.sessions.store import SessionManager
from nanobot.transcript import Reset, Session, Window
from nanobot.workspace import Workspace
from tests.contracts.session_store import AT, FULL, KEY, SessionStoreContract, says, texts


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


@pytest.fixture
def store(workspace: Workspace) -> SessionManager:
    return SessionManager(workspace)


@pytest.fixture
def file(workspace: Workspace) -> Path:
    return workspace.sessions / "telegram" / "12345.jsonl"


class TestSessionManager(SessionStoreContract):
    @pytest.fixture
    def store(self, workspace: Workspace) -> SessionStore:
        self.workspace = workspace
        return SessionManager(workspace)

    def as_a_new_process_sees(self, store: SessionStore) -> SessionStore:
        return SessionManager(self.workspace)


def line(text: str) -> bytes:
    row = {"type": "message", "id": f"id of {text}", "at": AT, "role": "user", "content": text}
    return json.dumps(row).encode() + b"\n"


HEADER = b'{"type":"session","version":1,"key":"telegram:12345","at":"2026-11-30T09:00:00.000+01:00"}\n'


def write(file: Path, *parts: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(parts))


def raw(file: Path) -> bytes:
    return file.read_bytes()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def assert_set(event: threading.Event) -> None:
    assert event.wait(20)


async def reloaded(workspace: Workspace) -> list[str | None]:
    return texts((await SessionManager(workspace).load(KEY)).messages)


# The format


async def test_the_file_is_what_the_documentation_says(store: SessionManager, file: Path) -> None:
    session = await store.load(KEY)
    await store.append(session, *FULL[:3])
    await store.append(session, Window(at=AT, start="m3"), Reset(at=AT, through="m3"), Reset(at=AT))
    assert [json.loads(row) for row in raw(file).splitlines()] == [
        {"type": "session", "version": 1, "key": "telegram:12345", "at": AT},
        {
            "type": "message",
            "id": "id of look at this",
            "at": AT,
            "turn": "t1",
            "role": "user",
            "origin": "owner",
            "content": "look at this",
            "context": "<runtime>Monday</runtime>",
            "sender": {"id": "12345", "name": "Ada"},
            "inbound": "telegram:12345:77",
            "files": [{"path": "media/p.png", "mime": "image/png", "name": "p.png"}, {"path": "media/q"}],
        },
        {
            "type": "message",
            "id": "m2",
            "at": AT,
            "turn": "t1",
            "role": "assistant",
            "origin": "web",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.txt"}'}},
                {"id": "c2", "type": "function", "function": {"name": "list_dir", "arguments": "{}"}},
            ],
            "usage": {"input": 1200, "output": 34, "cached": 1000},
            "model": "gpt-large",
        },
        {
            "type": "message",
            "id": "m3",
            "at": AT,
            "turn": "t1",
            "role": "tool",
            "origin": "tool",
            "content": "a.txt",
            "tool_call_id": "c1",
        },
        {"type": "window", "at": AT, "from": "m3"},
        {"type": "reset", "at": AT, "through": "m3"},
        {"type": "reset", "at": AT},
    ]


async def test_files_and_folders_are_private_whatever_the_umask(store: SessionManager, file: Path) -> None:
    before = os.umask(0)
    try:
        await store.append(await store.load(KEY), says("x"))
        write(file, raw(file), b'{"torn')
        await SessionManager(Workspace(file.parents[2])).load(KEY)
    finally:
        os.umask(before)
    assert mode(file) == mode(file.with_name("12345.jsonl.torn")) == 0o600
    assert {mode(folder) for folder in (file.parent, file.parents[1], file.parents[2])} == {0o700}


async def test_an_append_only_adds(store: SessionManager, file: Path) -> None:
    session = await store.load(KEY)
    await store.append(session, says("one"))
    before = raw(file)
    await store.append(session, says("two"))
    added = raw(file).removeprefix(before)
    assert added.count(b"\n") == 1
    assert json.loads(added)["content"] == "two"


async def test_lines_without_a_header_or_optional_fields_are_read(workspace: Workspace, file: Path) -> None:
    write(
        file, line("one"), b'  {"content":null, "role":"assistant","at":"","id":"x","type":"message"}\r\n\n', line("2")
    )
    assert await reloaded(workspace) == ["one", None, "2"]


async def test_unknown_types_are_skipped_and_kept(workspace: Workspace, file: Path) -> None:
    future = b'{"type":"mood","at":"2030-01-01T00:00:00Z","value":7}\n'
    write(file, HEADER, line("one"), future, line("two"))
    store = SessionManager(workspace)
    session = await store.load(KEY)
    await store.append(session, says("three"))
    assert await reloaded(workspace) == ["one", "two", "three"]
    assert future in raw(file)
    assert (await store.list())[0].bad_lines == 0


async def test_unknown_fields_are_no_obstacle(workspace: Workspace, file: Path) -> None:
    write(file, line("one").replace(b'"type"', b'"mood": {"deep": [1]}, "type"'))
    assert await reloaded(workspace) == ["one"]


async def test_an_escaped_lone_surrogate_from_elsewhere_costs_one_character(workspace: Workspace, file: Path) -> None:
    write(file, line("ok \udc88 end"))
    assert rb"\udc88" in raw(file)
    assert await reloaded(workspace) == ["ok � end"]


# Torn ends


@pytest.mark.parametrize(
    "torn", [b'{"type":"message","id":"x","role":"user","content":"seco', b"\0" * 16, b"7", b'"a"']
)
async def test_a_torn_end_is_set_aside_and_never_glued_to(
    workspace: Workspace, file: Path, torn: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    write(file, HEADER, line("first"), line("one"), torn)
    store = SessionManager(workspace)
    session = await store.load(KEY)
    assert texts(session.messages) == ["first", "one"]
    await store.append(session, says("third"))
    assert await reloaded(workspace) == ["first", "one", "third"]
    assert file.with_name("12345.jsonl.torn").read_bytes() == torn + b"\n"
    assert len(caplog.records) == 1
    assert f"{file}, line 4" in caplog.text


async def test_a_whole_last_record_without_newline_is_kept(workspace: Workspace, file: Path) -> None:
    write(file, HEADER, line("first"), line("whole").rstrip())
    store = SessionManager(workspace)
    session = await store.load(KEY)
    assert texts(session.messages) == ["first", "whole"]
    await store.append(session, says("third"))
    assert await reloaded(workspace) == ["first", "whole", "third"]
    assert not file.with_name("12345.jsonl.torn").exists()


async def test_an_end_torn_after_loading_is_set_aside_by_the_next_append(
    store: SessionManager, workspace: Workspace, file: Path
) -> None:
    session = await store.load(KEY)
    await store.append(session, says("one"))
    write(file, raw(file), b'{"torn')
    await store.append(session, says("two"))
    assert await reloaded(workspace) == ["one", "two"]


async def test_a_file_that_was_torn_in_its_first_line_begins_anew(workspace: Workspace, file: Path) -> None:
    write(file, HEADER[:20])
    store = SessionManager(workspace)
    await store.append(await store.load(KEY), says("one"))
    assert raw(file).startswith(HEADER)
    assert await reloaded(workspace) == ["one"]


async def test_reading_for_a_list_or_all_messages_changes_no_file(workspace: Workspace, file: Path) -> None:
    data = HEADER + line("one") + b'{"torn'
    write(file, data)
    store = SessionManager(workspace)
    assert texts(await store.messages(KEY)) == ["one"]
    assert [info.key for info in await store.list()] == [KEY]
    assert raw(file) == data


async def test_pieces_are_read_while_somebody_writes_and_a_torn_end_is_not_there_yet(
    workspace: Workspace, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(file, HEADER, line("one"), line("two"), b"{bad}\n", line("three"), line("four")[:-20])
    store = SessionManager(workspace)
    ids = [f"id of {text}" for text in ("one", "two", "three", "four")]
    may_end = threading.Event()

    writing = asyncio.create_task(store.revise(KEY, lambda _: assert_set(may_end)))
    await asyncio.sleep(0)
    async with asyncio.timeout(120):
        assert texts(await store.between(KEY, [(ids[1], ids[2])])) == ["two", "three"]
        assert texts(await store.between(KEY, [(ids[0], ids[0]), (ids[3], ids[3])])) == ["one"]
        assert texts(await store.messages(KEY)) == ["one", "two", "three"]
    may_end.set()
    await writing
    assert ["line 4" in record.getMessage() for record in caplog.records] == [True]


async def test_a_piece_whose_beginning_is_gone_is_not_read_to_the_beginning_of_time(
    workspace: Workspace, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(file, HEADER, *(line(str(number)) for number in range(100)))
    monkeypatch.setattr("nanobot.sessions.replay.MOST", 10 * len(line("42")))
    found = texts(await SessionManager(workspace).between(KEY, [("gone", "id of 90")]))
    assert found == [str(number) for number in range(80, 91)]


# Bad lines


BAD = [
    b"{not json}",
    b"\0" * 40,
    b'{"type":"message","id":"x","at":"","role":"user","content":"\xff\xfe"}',
    b"[1, 2]",
    b'{"content":"no type"}',
    b'{"type":"message","role":"wizard","content":"x"}',
    b"[" * 100_000,
    b'{"type":"message","role":"user","content":"\\ud',
]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
async def test_a_bad_line_costs_that_line_and_is_told_once(
    workspace: Workspace, file: Path, bad: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    data = HEADER + line("one") + bad + b"\n" + line("two")
    write(file, data)
    store = SessionManager(workspace)
    session = await store.load(KEY)
    assert texts(session.messages) == ["one", "two"]
    assert texts(await store.messages(KEY)) == ["one", "two"]
    await store.append(session, says("three"))
    write(file, raw(file), line("from outside"))
    assert texts((await store.load(KEY)).messages) == ["one", "two", "three", "from outside"]
    assert [f"{file}, line 3" in record.getMessage() for record in caplog.records] == [True]
    assert (await store.list())[0].bad_lines == 1
    assert raw(file).startswith(data)


async def test_a_bad_header_costs_nothing_but_itself(workspace: Workspace, file: Path) -> None:
    write(file, b'{"_type":"meta\n', line("first"), line("one"))
    assert await reloaded(workspace) == ["first", "one"]
    assert [info.key for info in await SessionManager(workspace).list()] == [KEY]


async def test_a_last_line_without_a_time_leaves_the_time_before(workspace: Workspace, file: Path) -> None:
    write(file, HEADER, line("one"), b'{"at":"yesterday"}\n', b'{"at":"0001-01-01T00:00:00"}\n', b"\xff\n")
    assert (await SessionManager(workspace).list())[0].updated == AT


async def test_a_file_without_any_time_is_as_old_as_the_file(workspace: Workspace, file: Path) -> None:
    write(file, b"\0\0\n")
    os.utime(file, (0, 0))
    assert (await SessionManager(workspace).list())[0].updated.startswith(("1970-01-01T", "1969-12-31T"))


# How much is read


async def test_only_the_tail_is_read(workspace: Workspace, file: Path) -> None:
    write(file, HEADER, *(line(f"{n:04}") for n in range(1000)))
    size = len(line("0000"))
    store = SessionManager(workspace, replay_bytes=10 * size - 5)
    assert texts((await store.load(KEY)).messages) == [f"{n:04}" for n in range(990, 1000)]
    assert len(await store.messages(KEY)) == 1000


async def test_a_message_larger_than_the_tail_is_still_replayed(workspace: Workspace, file: Path) -> None:
    write(file, HEADER, line("before"), line("x" * 300_000))
    store = SessionManager(workspace, replay_bytes=1000)
    assert texts((await store.load(KEY)).messages) == ["x" * 300_000]


async def test_what_stands_before_a_reset_is_not_even_looked_at(
    workspace: Workspace, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(file, HEADER, b"{bad\n", line("old"), b'{"type":"reset","at":"x"}\n', line("new"))
    assert await reloaded(workspace) == ["new"]
    assert not caplog.records


async def test_a_file_changed_from_outside_is_read_anew(store: SessionManager, file: Path) -> None:
    session = await store.load(KEY)
    await store.append(session, says("one"))
    write(file, raw(file), line("two"))
    anew = await store.load(KEY)
    assert texts(anew.messages) == ["one", "two"]
    write(file, raw(file), line("three"))
    await store.append(anew, says("four"))
    assert texts((await store.load(KEY)).messages) == ["one", "two", "three", "four"]


async def test_a_session_that_was_not_loaded_may_be_appended_to(store: SessionManager) -> None:
    await store.append(await store.load(KEY), says("one"))
    await store.append(Session(KEY), says("two"))
    assert texts((await store.load(KEY)).messages) == ["one", "two"]


# When writing goes wrong


@contextmanager
def a_disk_that_is_full_at(size: int) -> Iterator[None]:
    """The kernel takes what fits, and fails the next write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


async def test_an_append_that_fails_half_way_leaves_everything_as_it_was(
    store: SessionManager, workspace: Workspace, file: Path
) -> None:
    session = await store.load(KEY)
    await store.append(session, says("one"))
    before = raw(file)
    with (
        a_disk_that_is_full_at(len(before) + 50),
        pytest.raises(StoreError, match=r"12345\.jsonl could not be written"),
    ):
        await store.append(session, says("x" * 1000), says("y"))
    assert raw(file) == before
    assert texts(session.messages) == ["one"]
    await store.append(session, says("two"))
    assert await reloaded(workspace) == ["one", "two"] == texts(session.messages)


async def test_a_first_append_that_fails_leaves_no_file(store: SessionManager, workspace: Workspace) -> None:
    session = await store.load(KEY)
    with a_disk_that_is_full_at(20), pytest.raises(StoreError):
        await store.append(session, says("one"))
    assert list(workspace.sessions.rglob("*.jsonl")) == []
    assert session == Session(KEY)


async def test_an_unwritable_folder_is_a_clear_error(store: SessionManager, workspace: Workspace) -> None:
    workspace.root.mkdir()
    workspace.sessions.write_text("somebody's file")
    with pytest.raises(StoreError, match="could not be written"):
        await store.append(Session(KEY), says("one"))


async def test_one_unreadable_file_does_not_hide_the_others(store: SessionManager, workspace: Workspace) -> None:
    await store.append(await store.load(KEY), says("one"))
    (workspace.sessions / "telegram" / "7.jsonl").mkdir()
    assert [info.key for info in await store.list()] == [KEY]


async def test_a_cancelled_append_is_finished_first(
    store: SessionManager, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await store.load(KEY)
    await store.append(session, says("one"))
    writing, go_on, sync = threading.Event(), threading.Event(), os.fsync

    def slow_disk(descriptor: int) -> None:
        writing.set()
        assert go_on.wait(20)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", slow_disk)
    first = asyncio.create_task(store.append(session, says("two")))
    await asyncio.to_thread(writing.wait, 20)
    second = asyncio.create_task(store.append(session, says("three")))
    first.cancel()
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    assert not first.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    assert texts(session.messages) == ["one", "two", "three"] == await reloaded(workspace)


_TALKER = """
import asyncio, sys
from pathlib import Path
from nanobot.sessions.store import SessionManager
from nanobot.transcript import Message
from nanobot.workspace import Workspace

async def talk():
    store = SessionManager(Workspace(Path(sys.argv[1])))
    session = await store.load("telegram:12345")
    n = len(session.messages)
    while True:
        text = f"{n} " + "x" * (n * 7919 % 5000)
        await store.append(session, Message(role="user", content=text, id=str(n)))
        print(n, flush=True)
        n += 1

asyncio.run(talk())
"""


def acknowledged_before_a_kill(workspace: Workspace, patience: int) -> int:
    """Let a process talk for so many messages, kill it, and return the last number that it said was kept."""
    talker = subprocess.Popen([sys.executable, "-c", _TALKER, workspace.root], stdout=subprocess.PIPE, text=True)
    assert talker.stdout is not None
    with talker:
        rows = [talker.stdout.readline() for _ in range(patience)]
        talker.kill()
        return int([*rows, *talker.stdout.readlines()][-1])


async def test_what_was_acknowledged_survives_a_kill(workspace: Workspace) -> None:
    for messages in (1, 7, 30):
        last = acknowledged_before_a_kill(workspace, messages)
        numbers = [int((text or "").split()[0]) for text in await reloaded(workspace)]
        assert numbers[: last + 1] == list(range(last + 1))
        assert len(numbers) <= last + 2


# Any bytes


@given(data=st.data(), texts_said=st.lists(st.text(max_size=40), min_size=1, max_size=6))
async def test_damage_costs_only_the_lines_it_touches(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, texts_said: list[str]
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("damaged"))
    store = SessionManager(workspace, fsync=False)
    session = await store.load(KEY)
    for n, text in enumerate(texts_said):
        await store.append(session, says(text, str(n)))
    file = workspace.sessions / "telegram" / "12345.jsonl"
    whole = raw(file)
    begin = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(begin, len(whole)))
    damage = data.draw(st.one_of(st.just(b""), st.binary(max_size=30), st.just(b"\0" * 20)))
    file.write_bytes(whole[:begin] + damage + whole[end:])
    starts = [0]
    starts += [i + 1 for i, byte in enumerate(whole) if byte == 10]
    touched = {n for n in range(len(texts_said)) if starts[n + 1] <= end and starts[n + 2] > begin}
    intact = [session.messages[n] for n in range(len(texts_said)) if n not in touched]

    anew = await SessionManager(workspace, fsync=False).load(KEY)
    assert [message for message in anew.messages if message in intact] == intact
    await SessionManager(workspace, fsync=False).append(anew, says("after", "after"))
    again = await SessionManager(workspace, fsync=False).load(KEY)
    assert [message for message in again.messages if message in intact] == intact
    assert again.messages[-1] == says("after", "after")
    assert again.messages == anew.messages


@given(
    key=st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=300),
    text=st.text(st.characters(), max_size=60),
)
async def test_any_key_and_any_text_come_back(tmp_path_factory: pytest.TempPathFactory, key: str, text: str) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("any"))
    store = SessionManager(workspace, fsync=False)
    session = await store.load(key)
    await store.append(session, says(text, "1"))
    anew = SessionManager(workspace)
    assert [info.key for info in await anew.list()] == [key]
    assert (await anew.load(key)).messages == session.messages
    for file in workspace.sessions.rglob("*.jsonl"):
        raw(file).decode()
        assert file.resolve().is_relative_to(workspace.sessions.resolve())


LONG = "cli:" + "й" * 200


async def test_a_shortened_name_keeps_its_key_without_its_state(store: SessionManager, workspace: Workspace) -> None:
    await store.append(await store.load(LONG), says("one"))
    assert list(json.loads(workspace.session_names.read_text()).values()) == [LONG]
    workspace.session_names.unlink()
    assert [info.key for info in await SessionManager(workspace).list()] == [LONG]


async def test_a_shortened_name_keeps_its_key_without_its_header(store: SessionManager, workspace: Workspace) -> None:
    await store.append(await store.load(LONG), says("one"))
    (file,) = workspace.sessions.rglob("*.jsonl")
    file.write_bytes(b"{bad\n" + line("one"))
    assert [info.key for info in await SessionManager(workspace).list()] == [LONG]


async def test_a_deleted_session_leaves_no_trace(store: SessionManager, workspace: Workspace) -> None:
    await store.append(await store.load(LONG), says("one"))
    (file,) = workspace.sessions.rglob("*.jsonl")
    file.with_name(f"{file.name}.torn").write_text("secret")
    assert await store.delete(LONG)
    assert not [path for path in workspace.sessions.rglob("*") if path.is_file()]
    assert json.loads(workspace.session_names.read_text()) == {}
