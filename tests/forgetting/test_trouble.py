"""What cannot be erased just now is told, and erased later."""

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from nanobot.app.forgetting import go_on
from nanobot.authority import Scope
from nanobot.bus.memory import MemoryBus
from nanobot.errors import VersionError
from nanobot.forgetting.stores.journal import JournalFile
from nanobot.messages import Address, OutboundMessage
from nanobot.ports.erasable import Order
from tests.forgetting.household import MEMBER_TELEGRAM, OTHER, SECRET, Household, files_in


async def begun(house: Household, address: Address) -> None:
    """A process wrote its order down and died."""
    order = Order(kind="words", value=SECRET, scopes=None, address=address, language="en")
    await JournalFile(house.space.forgetting).write(order)


async def test_a_busy_history_is_told_and_done_at_the_next_start(house: Household) -> None:
    lock = house.space.versions / "index.lock"
    lock.touch()

    done = await house.forget(SECRET)

    assert done.failed
    assert done.text.startswith("Not everything is forgotten yet")
    assert "lines of memory and its history" in done.text
    assert house.space.forgetting.exists()
    lock.unlink()
    await house.bot().forgetting.resume()
    assert house.holding(SECRET) == []
    assert not house.space.forgetting.exists()


async def test_before_the_next_forget_the_last_one_is_finished(house: Household) -> None:
    await begun(house, MEMBER_TELEGRAM)

    await house.forget("walnuts")

    assert house.holding(SECRET) == []
    assert house.holding("walnuts") == []


async def test_an_order_that_nobody_can_read_is_removed(house: Household) -> None:
    house.space.forgetting.write_text('{"kind": ', encoding="utf-8")

    assert await house.bot().forgetting.resume() is None

    assert not house.space.forgetting.exists()
    assert house.holding(OTHER) != []


async def test_questions_that_nobody_can_read_are_over(house: Household) -> None:
    bad = '{"token": "AB23", "kind": "words", "value": "x", "scopes": null, "by": "", "where": "", "until": "soon"}'
    for text in ("[", f"[{bad}]"):
        house.space.forget_questions.write_text(text, encoding="utf-8")

        await house.bot().forgetting.resume()

        assert not house.space.forget_questions.exists()


async def test_who_asked_in_the_terminal_reads_the_receipt_there(house: Household) -> None:
    bus = MemoryBus()
    await begun(house, Address("cli", "default"))

    await go_on(house.bot(bus).forgetting, bus, house.space)

    told = await bus.outgoing()
    assert isinstance(told, OutboundMessage)
    assert told.text.startswith("Forgotten:")
    assert told.address == Address("cli", "default")


async def test_who_asked_on_a_platform_reads_it_when_the_gateway_runs(house: Household) -> None:
    bus = MemoryBus()
    await begun(house, MEMBER_TELEGRAM)

    await go_on(house.bot(bus).forgetting, bus, house.space)

    async with house.spool() as spool:
        assert (await spool.backlog()).waiting_out == {"telegram": 2}
    assert house.holding(SECRET) == []


async def test_a_file_that_cannot_be_written_is_told(house: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    history = house.space.history
    replace = Path.replace

    def refused(self: Path, target: Path) -> Path:
        if target == history:
            raise PermissionError(13, "Permission denied", str(self))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refused)
    monkeypatch.setattr(time, "sleep", lambda _: None)

    done = await house.forget(SECRET)

    assert "Not done in summaries" in done.text
    assert SECRET in history.read_text(encoding="utf-8")
    monkeypatch.undo()
    os.environ["NANOBOT_HOME"] = str(house.home.root)
    await house.bot().forgetting.resume()
    assert house.holding(SECRET) == []


async def test_nothing_half_written_by_a_dead_process_stays(house: Household) -> None:
    for folder in (house.space.spill, house.space.sessions / "cli", house.space.memory, house.space.state):
        (folder / ".nanobot-999999-00ff.tmp").write_text(SECRET, encoding="utf-8")

    await house.forget(SECRET)

    assert house.holding(SECRET) == []


async def test_the_scope_of_nobody_is_reached_by_its_chat_alone(house: Household) -> None:
    from tests.forgetting.household import answer, user

    lines = [user("a1", "b1", "our tulips", scope=None), answer("a2", "b1", "pretty")]
    await house.say("telegram:-77", *lines)

    assert (await house.forget("tulips", scope="owner")).failed
    assert not (await house.forget("tulips", scope=Scope.group("telegram", "-77").name)).failed
    assert await house.said("telegram:-77") == []


def unreadable(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Reading a file fails, as for one of somebody else's."""
    read = Path.read_bytes

    def refused(self: Path) -> bytes:
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", refused)


async def test_a_file_that_cannot_be_read_ends_no_start_and_is_told_and_erased_when_it_can_be(
    house: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    spilt = house.space.spill / "cli" / "big.txt"
    spilt.parent.mkdir(parents=True, exist_ok=True)
    spilt.write_text(SECRET, encoding="utf-8")
    await begun(house, Address("cli", "default"))
    unreadable(monkeypatch, spilt)

    bus = MemoryBus()
    assert not await go_on(house.bot(bus).forgetting, bus, house.space)

    told = await bus.outgoing()
    assert isinstance(told, OutboundMessage)
    assert "Not done in kept results of tools" in told.text
    assert "Permission denied" in told.text
    monkeypatch.undo()
    os.environ["NANOBOT_HOME"] = str(house.home.root)
    assert house.holding(SECRET) == sorted(
        [str(path.relative_to(house.home.root)) for path in (spilt, house.space.forgetting)]
    )
    assert await go_on(house.bot(bus).forgetting, bus, house.space, again=True)
    assert house.holding(SECRET) == []


async def test_where_all_that_goes_cannot_be_found_out_nothing_is_erased_and_the_bot_starts(
    house: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = house.holding(SECRET)

    async def damaged(*_: object) -> None:
        raise VersionError("failed", "object file is empty")

    with monkeypatch.context() as patch:
        patch.setattr("nanobot.forgetting.run.work_out", damaged)
        await begun(house, Address("cli", "default"))
        bus = MemoryBus()
        for again in (False, True):
            assert not await go_on(house.bot(bus).forgetting, bus, house.space, again=again)
        told = await bus.outgoing()

    assert isinstance(told, OutboundMessage)
    assert "object file is empty" in told.text
    assert set(before) <= set(house.holding(SECRET))
    assert await go_on(house.bot(bus).forgetting, bus, house.space, again=True)
    assert house.holding(SECRET) == []


async def test_a_file_that_goes_while_it_is_looked_for_is_no_mistake(
    house: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays = house.space.spill / "cli" / "gone.txt"
    stays.parent.mkdir(parents=True, exist_ok=True)
    stays.write_text("nothing", encoding="utf-8")
    read = Path.read_bytes

    def gone(self: Path) -> bytes:
        if self == stays:
            raise FileNotFoundError(2, "No such file", str(self))
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", gone)

    assert (await house.forget(SECRET)).text.startswith("Forgotten:")


async def test_where_the_history_is_damaged_all_else_goes_and_its_place_is_named(house: Household) -> None:
    for path in (house.space.versions / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"")

    done = await house.forget(SECRET)

    assert "The history of memory is damaged" in done.text
    assert str(house.space.versions) in done.text
    assert [path for path in files_in(house.home.root) if SECRET.encode() in path.read_bytes()] == []
    assert not house.space.forgetting.exists()  # it would only fail again
    assert (await house.forget("walnuts")).text.startswith("Forgotten")


async def test_every_history_beneath_the_memory_is_looked_through(house: Household) -> None:
    await asyncio.to_thread(shutil.copytree, house.space.versions, house.space.state / "older.git")

    done = await house.forget(SECRET)

    assert f"still stands in: {house.space.state / 'older.git'}" in done.text
