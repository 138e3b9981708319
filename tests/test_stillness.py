"""Whoever rewrites what was said, does it while nobody says anything."""

import asyncio
from collections.abc import Awaitable, Callable

from nanobot.aio import ReadersWriterLock
from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.core.lanes import Lanes
from nanobot.messages import Address, InboundMessage, Sender


def message(text: str, chat: str = "a") -> InboundMessage:
    return InboundMessage(
        id=text, address=Address("cli", chat), sender=Sender("1"), authority=OWNER_IN_TERMINAL, text=text
    )


class Handler:
    """Handles messages; those that are called "slow" only when released."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.done: list[str] = []
        self.release = asyncio.Event()

    async def __call__(self, message: InboundMessage) -> None:
        self.begun.append(message.text)
        if message.text == "slow":
            await self.release.wait()
        self.done.append(message.text)


async def for_ever() -> None:
    await asyncio.Event().wait()


async def at_once() -> None:
    return


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def still(lanes: Lanes, patience: Callable[[], Awaitable[None]], inside: Callable[[], Awaitable[None]]) -> None:
    async with lanes.still(patience):
        await inside()


async def test_nothing_is_handled_while_it_is_still_and_afterwards_all_is() -> None:
    handler, lanes = Handler(), Lanes(parallel=4)

    async def inside() -> None:
        lanes.put(message("one"))
        lanes.put(message("two", "b"))
        await settled()
        assert handler.begun == []

    async with lanes.open(handler):
        await still(lanes, at_once, inside)
        await settled()

    assert handler.done == ["one", "two"]


async def test_what_runs_may_finish() -> None:
    handler, lanes = Handler(), Lanes(parallel=4)

    async def inside() -> None:
        assert handler.done == ["slow"]

    async with lanes.open(handler):
        lanes.put(message("slow"))
        await settled()
        waiting = asyncio.create_task(still(lanes, for_ever, inside))
        await settled()
        assert not waiting.done()
        handler.release.set()
        await waiting


async def test_what_takes_too_long_is_stopped_and_the_next_goes_on_afterwards() -> None:
    handler, lanes = Handler(), Lanes(parallel=4)

    async def inside() -> None:
        assert not lanes.is_busy("cli:a")
        assert handler.done == []

    async with lanes.open(handler):
        lanes.put(message("slow"))
        lanes.put(message("next"))
        await settled()
        await still(lanes, at_once, inside)
        await settled()

    assert handler.done == ["next"]


async def test_what_a_person_stopped_stays_held() -> None:
    handler, lanes = Handler(), Lanes(parallel=4)

    async with lanes.open(handler):
        lanes.put(message("slow"))
        lanes.put(message("next"))
        await settled()
        await lanes.stop("cli:a")
        await still(lanes, at_once, at_once)
        await settled()
        assert handler.done == []


async def test_waiting_messages_that_are_meant_are_never_handled() -> None:
    handler, lanes = Handler(), Lanes(parallel=4)

    async def inside() -> None:
        lanes.put(message("secret"))
        lanes.put(message("hello"))
        lanes.drop(lambda waiting: waiting.text == "secret")

    async with lanes.open(handler):
        await still(lanes, at_once, inside)
        await settled()

    assert handler.done == ["hello"]


async def test_many_pass_side_by_side_and_one_waits_to_be_alone() -> None:
    passage, told = ReadersWriterLock(), list[str]()
    leave = asyncio.Event()

    async def pass_by(name: str) -> None:
        async with passage.passing():
            told.append(f"{name} in")
            await leave.wait()
        told.append(f"{name} out")

    async def be_alone() -> None:
        async with passage.alone():
            told.append("alone")
            await settled()
            told.append("alone no more")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(pass_by("a"))
        tasks.create_task(pass_by("b"))
        await settled()
        tasks.create_task(be_alone())
        await settled()
        tasks.create_task(pass_by("late"))
        await settled()
        assert told == ["a in", "b in"]
        leave.set()

    assert told.index("alone") > max(told.index("a out"), told.index("b out")) - 2
    assert told.index("late in") > told.index("alone no more")
