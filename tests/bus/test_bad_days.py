"""The spool on bad days: damaged files, no room, a version from the future."""

import asyncio
import logging
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from textwrap import dedent

import pytest

from nanobot.bus.spool import Spool
from nanobot.errors import StoreError
from tests.contracts.bus import PATIENCE, answer, said
from tests.fakes.clock import FakeClock

PAGE = 4096


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "spool.db"


async def fill(path: Path, clock: FakeClock, count: int = 200) -> None:
    async with Spool(path, clock) as spool:
        for number in range(count):
            await spool.publish(said(f"{number} " + "x" * 500))
        await spool.mark("telegram:offset", "42")
        await spool.send(answer("a"))


def overwrite(path: Path, damage: Callable[[bytearray], None]) -> bytes:
    content = bytearray(path.read_bytes() if path.exists() else b"")
    damage(content)
    path.write_bytes(content)
    return bytes(content)


def middle_page(content: bytearray) -> slice:
    start = len(content) // PAGE // 2 * PAGE
    return slice(start, start + PAGE)


def set_aside(path: Path) -> list[Path]:
    """The damaged files, without what SQLite puts beside them."""
    return [file for file in path.parent.glob("spool.db.damaged-*") if not file.name.endswith(("-wal", "-shm"))]


def contents(path: Path) -> bytes:
    return path.read_bytes()


def sql(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


async def test_what_is_no_database_is_set_aside_and_told(
    path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    await fill(path, clock, 3)
    content = overwrite(path, lambda content: content.__setitem__(slice(0, PAGE), b"?" * PAGE))
    async with Spool(path, clock) as spool:
        backlog = await spool.backlog()
        (trouble,) = backlog.troubles
        (aside,) = set_aside(path)
        assert (trouble.kind, trouble.id, trouble.address) == ("damaged", aside.name, None)
        assert aside.read_bytes() == content
        assert any(record.levelno == logging.ERROR and aside.name in record.message for record in caplog.records)
        await spool.publish(said("it goes on"))
        assert (await spool.receive()).text == "it goes on"


async def test_of_a_damaged_file_all_that_can_be_read_is_taken_over(path: Path, clock: FakeClock) -> None:
    await fill(path, clock)
    content = overwrite(path, lambda content: content.__setitem__(middle_page(content), b"\xff" * PAGE))
    async with Spool(path, clock) as spool:
        backlog = await spool.backlog()
        assert 0 < backlog.waiting_in < 200
        assert backlog.waiting_out == {"telegram": 1}
        assert await spool.marks("telegram:") == {"telegram:offset": "42"}
        assert (await spool.receive()).text.startswith("0 ")
        assert [file.read_bytes() for file in set_aside(path)] == [content]


async def test_every_damaged_file_is_kept(path: Path, clock: FakeClock) -> None:
    for damaged in range(3):
        await fill(path, clock, 1)
        assert len(set_aside(path)) == damaged
        overwrite(path, lambda content: content.__setitem__(slice(0, PAGE), b"?" * PAGE))
    await fill(path, clock, 1)
    assert len(set_aside(path)) == 3


@pytest.mark.parametrize("table", ["inbound", "outbound"])
@pytest.mark.parametrize("content", ["X'ff00'", "'{\"id\": 3}'", "'['", "NULL + 7"])
async def test_a_message_that_cannot_be_read_costs_nobody_else_theirs(
    path: Path, clock: FakeClock, table: str, content: str
) -> None:
    async with Spool(path, clock) as spool:
        for text in "ab":
            await spool.publish(said(text))
            await spool.send(answer(text))
    sql(path, f"UPDATE {table} SET message = coalesce({content}, 7) WHERE number = 1")
    async with Spool(path, clock) as spool:
        backlog = await spool.backlog()
        expected = (1, 2) if table == "inbound" else (2, 1)
        assert (backlog.waiting_in, backlog.waiting_out["telegram"]) == expected
        assert [trouble.kind for trouble in backlog.troubles] == ["damaged"]
        assert len(set_aside(path)) == 1


async def test_a_newer_version_is_left_alone(path: Path, clock: FakeClock) -> None:
    await fill(path, clock, 1)
    sql(path, "PRAGMA user_version = 2")
    content = contents(path)
    with pytest.raises(StoreError, match="newer nanobot"):
        async with Spool(path, clock):
            pass
    assert contents(path) == content
    assert set_aside(path) == []


async def test_a_file_that_cannot_be_opened_is_one_sentence(tmp_path: Path, clock: FakeClock) -> None:
    with pytest.raises(StoreError, match="could not be opened: Is a directory"):
        async with Spool(tmp_path, clock):
            pass


async def test_a_log_that_was_left_is_taken_in(path: Path, clock: FakeClock) -> None:
    async with Spool(path, clock) as spool:
        await spool.publish(said("only in the log so far"))
        left = path.with_name("left.db")
        shutil.copy(path, left)
        torn = contents(path.with_name("spool.db-wal")) + b"a page that was never acknowledged"
    overwrite(left.with_name("left.db-wal"), lambda content: content.extend(torn))
    async with Spool(left, clock) as spool:
        assert (await spool.receive()).text == "only in the log so far"


FULL_DISK = """
    import asyncio, resource, sys
    from pathlib import Path
    from nanobot.bus.spool import Spool
    from nanobot.errors import StoreError
    from tests.contracts.bus import said
    from tests.fakes.clock import FakeClock

    async def main() -> None:
        async with Spool(Path(sys.argv[1]), FakeClock()) as spool:
            resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
            taken, refused = 0, False
            while not refused:
                try:
                    await spool.publish(said(f"{taken} " + "x" * 20_000))
                    taken += 1
                except StoreError as error:
                    refused = True
                    print(error, file=sys.stderr)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            await spool.publish(said(f"{taken} " + "x" * 20_000))
            print(taken + 1)

    asyncio.run(main())
"""


async def test_when_there_is_no_room_a_message_is_refused_and_taken_when_there_is(path: Path, clock: FakeClock) -> None:
    script = [sys.executable, "-c", dedent(FULL_DISK), str(path)]
    child = await asyncio.create_subprocess_exec(*script, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = await asyncio.wait_for(child.communicate(), PATIENCE)
    assert "spool.db" in err.decode()
    assert child.returncode == 0, err
    taken = int(out)
    assert taken > 1
    async with Spool(path, clock) as spool:
        assert [(await spool.receive()).text.split()[0] for _ in range(taken)] == [str(n) for n in range(taken)]
        assert (await spool.backlog()).waiting_in == taken
