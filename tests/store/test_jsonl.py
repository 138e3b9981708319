"""The append-only log."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.store import jsonl
from nanobot.store.private import Stamp


@given(
    lines=st.lists(st.binary(max_size=50).map(lambda raw: raw.replace(b"\n", b"")), max_size=20),
    block=st.integers(1, 40),
    ends=st.booleans(),
)
def test_reading_backwards_gives_every_line_and_its_place(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], block: int, ends: bool
) -> None:
    data = b"\n".join(lines) + (b"\n" if ends else b"")
    file = tmp_path_factory.mktemp("log") / "log"
    file.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch, file.open("rb") as opened:
        patch.setattr(jsonl, "_FIRST_BLOCK", block)
        found = list(jsonl.backwards(opened.fileno(), len(data)))
    assert [line for _, line in reversed(found)] == [line for line in lines if line]
    assert all(data[at:].startswith(line) for at, line in found)
    assert [jsonl.line_number(file, at) - 1 for at, _ in reversed(found)] == [n for n, line in enumerate(lines) if line]


def test_the_first_line_stands_once(tmp_path: Path) -> None:
    log = tmp_path / "a" / "log"
    before, after = jsonl.append(log, b"{}\n", first=b'{"head":1}\n', durable=True)
    assert before is None
    assert after == Stamp.at(log)
    assert jsonl.append(log, b"[]\n", first=b'{"head":1}\n', durable=True)[0] == after
    assert log.read_bytes() == b'{"head":1}\n{}\n[]\n'


def test_an_append_is_one_write_and_one_flush(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    jsonl.append(log, b"{}\n", first=b"", durable=True)
    calls: list[str] = []
    write, sync = os.write, os.fsync

    def counted_write(descriptor: int, data: memoryview) -> int:
        calls.append("write")
        return write(descriptor, data)

    def counted_sync(descriptor: int) -> None:
        calls.append("sync")
        sync(descriptor)

    monkeypatch.setattr(os, "write", counted_write)
    monkeypatch.setattr(os, "fsync", counted_sync)
    jsonl.append(log, b"{}\n" * 3, first=b"", durable=True)
    assert calls == ["write", "sync"]


def test_a_new_log_has_its_name_on_the_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
    )
    if not Path("/proc/self/fd").exists():
        pytest.skip("only Linux tells the name of an open file")
    jsonl.append(tmp_path / "a" / "log", b"{}\n", first=b"", durable=True)
    assert synced == [str(tmp_path), str(tmp_path / "a" / "log"), str(tmp_path / "a")]


def test_a_flush_that_fails_takes_the_lines_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    jsonl.append(log, b"{}\n", first=b"", durable=True)

    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output"):
        jsonl.append(log, b"[]\n", first=b"", durable=True)
    assert log.read_bytes() == b"{}\n"


def test_what_cannot_be_set_aside_stays_where_it_is(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b'{}\n{"torn')
    jsonl.torn_path(log).mkdir()
    with pytest.raises(OSError, match="directory"):
        jsonl.append(log, b"[]\n", first=b"", durable=True)
    assert log.read_bytes() == b'{}\n{"torn'
