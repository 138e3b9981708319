"""Status and health while the disk takes nothing."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.app.channels import PROBE_EVERY, GatewayMonitor
from nanobot.bus.database import SpoolDatabase
from nanobot.bus.spool import Spool
from nanobot.commands.admin import gateway_lines
from nanobot.errors import StoreError
from nanobot.ops.health import figures
from nanobot.ports.gateway import GatewayState
from tests.contracts.bus import said
from tests.fakes.clock import FakeClock

LONG = "x" * 200_000


@pytest.fixture
async def spool(tmp_path: Path) -> AsyncIterator[Spool]:
    async with Spool(tmp_path / "spool.db", FakeClock()) as spool:
        yield spool


async def set_up(spool: Spool, pragma: str) -> None:
    """SQLite itself refuses to write from now on, or does no more."""

    def work() -> None:
        spool._database._connection.execute(f"PRAGMA {pragma}").fetchall()

    await spool._database._in_thread(work)


def _look_at(state: GatewayState, kind: str, sentence: str) -> None:
    [disk] = state.channels
    assert (disk.name, disk.trouble, disk.refused, disk.is_red) == ("disk", kind, 2, True)
    assert disk.since is not None
    shown = figures(state, is_well=False)["channels"]
    assert isinstance(shown, dict)
    since = disk.since.isoformat(timespec="seconds")
    assert shown["disk"] == {"state": "trouble", "since": since, "trouble": kind, "refused": 2}
    lines = list(gateway_lines(state, "en"))
    assert any(line.startswith(f"disk: {sentence}") and "(since " in line for line in lines)
    assert "- 2 messages were refused so far." in lines


@pytest.mark.parametrize(
    ("breaks", "mends", "kind", "sentence"),
    [
        ("max_page_count = 1", "max_page_count = 1000000", "disk_full", "There is no room left on the disk"),
        ("query_only = ON", "query_only = OFF", "disk_read_only", "The disk of the workspace is read-only"),
    ],
)
async def test_what_is_refused_is_told_until_the_disk_takes_messages_again(
    spool: Spool, breaks: str, mends: str, kind: str, sentence: str
) -> None:
    clock, told = FakeClock(), list[str]()
    watch = GatewayMonitor(spool, clock, "en", told.append)
    running = asyncio.create_task(watch.run())
    await spool.publish(said("taken before"))
    await set_up(spool, breaks)
    for text in ("one", "one", "two"):  # a platform brings again what was refused
        with pytest.raises(StoreError):
            await spool.publish(said(text + LONG))

    _look_at(await watch.look(), kind, sentence)
    await set_up(spool, mends)
    async with asyncio.timeout(120):
        while not told or "again" not in told[-1]:
            clock.advance(PROBE_EVERY)
            await asyncio.sleep(0.001)
    assert (await watch.look()).channels == []
    assert [line.partition(":")[0] for line in told] == ["disk", "disk"]
    await spool.publish(said("one" + LONG))
    assert spool.trouble is None
    running.cancel()
    await asyncio.wait([running])


async def test_a_disk_that_is_nearly_full_is_tried_before_anybody_writes(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = GatewayMonitor(spool, FakeClock(), "en", print)
    monkeypatch.setattr(SpoolDatabase, "is_tight", lambda _: True)
    await spool.probe()
    assert (await watch.look()).channels == []  # it takes a message all the same
    await set_up(spool, "query_only = ON")
    await spool.probe()
    [disk] = (await watch.look()).channels
    assert (disk.trouble, disk.refused) == ("disk_read_only", 0)
    await set_up(spool, "query_only = OFF")
