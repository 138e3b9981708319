"""The real outbox on disk, a process that dies at each request, and the next one."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from nanobot.bus.spool import Spool
from nanobot.channels.delivery.deliverer import Deliverer
from nanobot.channels.telegram.settings import PACE
from nanobot.messages import OutboundMessage
from tests.channels.delivery.scene import ANN, progress, say
from tests.fakes.clock import FakeClock
from tests.fakes.life import Life
from tests.fakes.platform import LIMIT, MARK, FakePlatform, flood, not_there

PATIENCE = 120.0
PIECE = LIMIT - len(MARK)
FIRST, SECOND = "one ".ljust(PIECE, "."), "two ".ljust(PIECE, ".")


class Machine:
    """Processes one after the other, on the same disk and with the same platform."""

    def __init__(self, path: Path, *, can_find: bool) -> None:
        self.clock = FakeClock()
        self.platform = FakePlatform(self.clock, can_find=can_find)
        self._path = path

    async def live(self, life: Life, act: Callable[[Spool], Awaitable[None]]) -> None:
        """One process: it does `act`, and then lives until everything is delivered, or until its end."""
        self.platform.life = life
        async with Spool(self._path, self.clock) as spool:
            await self.deliver(spool, act)

    async def deliver(self, spool: Spool, act: Callable[[Spool], Awaitable[None]]) -> None:
        deliverer = Deliverer(
            spool, self.platform, self.clock, pace=PACE, streaming=True, language=lambda address: "en"
        )
        task = asyncio.create_task(deliverer.run())
        await act(spool)
        while not task.done() and (await spool.backlog()).waiting_out:
            await self.pass_(0.5)
        task.cancel()
        with suppress(asyncio.CancelledError, BaseExceptionGroup):
            await task

    async def pass_(self, seconds: float) -> None:
        """Let time pass, in steps in which the disk keeps up."""
        while seconds > 0:
            await asyncio.sleep(0.004)
            self.clock.advance(0.5)
            seconds -= 0.5
        await asyncio.sleep(0.004)


@pytest.mark.parametrize("can_find", [True, False])
async def test_wherever_the_process_dies_the_chat_shows_everything_once(tmp_path: Path, can_find: bool) -> None:
    deaths = 0
    async with asyncio.timeout(PATIENCE):
        while True:
            machine = Machine(tmp_path / str(deaths) / "spool.db", can_find=can_find)
            life = Life(deaths + 1)
            await machine.live(life, partial(_turn, machine))
            await machine.live(Life(), _answer)
            _look(machine, can_find=can_find)
            if not life.is_over:
                break
            deaths += 1
    assert deaths > 12


async def _turn(machine: Machine, spool: Spool) -> None:
    """A turn that is seen growing, with a notice in the middle."""
    spool.show(progress("started"))
    spool.show(progress("text", FIRST))
    await machine.pass_(2)
    await spool.send(say("status", name="m0"))
    spool.show(progress("text", SECOND[:20]))
    await machine.pass_(3)
    await _answer(spool)


async def _answer(spool: Spool) -> None:
    """An answer with a known id is not sent again."""
    await spool.send(say("status", name="m0"))
    await spool.send(OutboundMessage(id="m1", address=ANN, text=FIRST + SECOND, turn="t1"))


def _look(machine: Machine, *, can_find: bool) -> None:
    seen = machine.platform.seen(ANN)
    if can_find:
        assert seen == ["status", FIRST, SECOND]
        return
    once = [text.removeprefix(MARK) for text in seen if not text.startswith("~")]
    assert list(dict.fromkeys(once)) == ["status", FIRST, SECOND]
    assert sum(text.startswith(MARK) for text in seen) <= 1
    assert len(seen) <= 4


async def test_what_a_process_left_is_ended_and_all_is_shown_anew_below(tmp_path: Path) -> None:
    """Also by the second process of the same turn, and when it is stopped then."""
    machine = Machine(tmp_path / "spool.db", can_find=False)

    async def half(spool: Spool) -> None:
        for name, address in spool.left_over:
            await spool.send(replace(say("broke off", name=f"clear {name}", turn=name), clears=True))
            assert address == ANN
        await spool.send(say("written since", name=f"since {len(machine.platform.asked)}"))
        spool.show(progress("started"))
        spool.show(progress("text", "Half a sentence that goes on"))
        await machine.pass_(3)

    async with asyncio.timeout(PATIENCE):
        for _ in range(2):
            await machine.live(Life(), half)
        assert machine.platform.seen(ANN) == ["written since", "written since", "~Half a sentence that goes on"]

        async def stop(spool: Spool) -> None:
            await half(spool)
            spool.show(progress("ended"))
            await machine.pass_(3)

        await machine.live(Life(), stop)
        await machine.live(Life(), half)
    stopped = "~Half a sentence that goes on\n\n⏹ (I stopped here.)"
    assert machine.platform.seen(ANN)[2:] == [
        "written since",
        stopped,
        "written since",
        "~Half a sentence that goes on",
    ]


async def test_what_cannot_be_deleted_any_more_is_marked(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "spool.db", can_find=False)

    async def half(spool: Spool) -> None:
        spool.show(progress("started"))
        spool.show(progress("text", "Half a sentence that goes on"))
        await machine.pass_(3)

    async def clear(spool: Spool) -> None:
        machine.platform.faults["delete"].extend([flood(20.0), not_there()])
        [(name, address)] = spool.left_over
        await spool.send(OutboundMessage(id="c", address=address, text="broke off", turn=name, clears=True))
        await spool.send(say("next", name="m2"))

    async with asyncio.timeout(PATIENCE):
        await machine.live(Life(), half)
        await machine.live(Life(), clear)
    assert machine.platform.seen(ANN) == ["broke off", "next"]


async def test_a_deliverer_that_begins_again_goes_on_with_what_was_handed_out(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "spool.db", can_find=True)
    machine.platform.life = Life(1)
    async with asyncio.timeout(PATIENCE), Spool(tmp_path / "spool.db", machine.clock) as spool:
        await machine.deliver(spool, lambda spool: spool.send(say("Hello.")))
        assert machine.platform.seen(ANN) == []
        machine.platform.life = Life()
        await machine.deliver(spool, lambda spool: spool.send(say("Again.", name="m2")))

    assert machine.platform.seen(ANN) == ["Hello.", "Again."]
