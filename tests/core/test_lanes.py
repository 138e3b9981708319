"""One chat in order, chats side by side."""

import asyncio

import pytest

from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.core.lanes import Lanes
from nanobot.messages import Address, InboundMessage, Sender


def message(text: str, chat: str = "a") -> InboundMessage:
    return InboundMessage(
        id=text, address=Address("cli", chat), sender=Sender("1"), authority=OWNER_IN_TERMINAL, text=text
    )


class Recorder:
    """Handles messages: those that start with "wait" wait until released."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.done: list[str] = []
        self.release = asyncio.Event()
        self.busy = 0
        self.most = 0

    async def __call__(self, message: InboundMessage) -> None:
        self.begun.append(message.text)
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            if message.text.startswith("wait"):
                await self.release.wait()
        finally:
            self.busy -= 1
        self.done.append(message.text)


@pytest.fixture
def lanes() -> Lanes:
    return Lanes(parallel=4)


@pytest.fixture
def handle() -> Recorder:
    return Recorder()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_session_is_handled_in_order_while_others_go_on() -> None:
    lanes, handle = Lanes(parallel=4), Recorder()
    async with lanes.open(handle):
        for one in (message("wait 1"), message("2"), message("other", chat="b")):
            lanes.put(one)
        await settle()
        assert handle.done == ["other"]
        handle.release.set()
        await settle()
        assert handle.done == ["other", "wait 1", "2"]
        assert not lanes.is_busy("cli:a")


async def test_what_is_to_be_alone_begins_when_all_else_has_ended_and_nothing_begins_beside_it() -> None:
    lanes, handle = Lanes(parallel=3), Recorder()
    async with lanes.open(handle, alone=lambda message: "alone" in message.text):
        for number, text in enumerate(["wait", "alone 1", "wait alone 2", "next"]):
            lanes.put(message(text, chat=str(number)))
        await settle()
        assert handle.begun == ["wait"]
        handle.release.set()
        await settle()
        await settle()
        assert sorted(handle.done) == ["alone 1", "next", "wait", "wait alone 2"]
        handle.release.clear()
        lanes.put(message("wait alone 3", chat="x"))
        lanes.put(message("late", chat="y"))
        await settle()
        assert handle.begun[-1] == "wait alone 3"
        await lanes.stop("cli:x")
        await settle()
        assert handle.done[-1] == "late"


async def test_what_waits_for_all_places_leaves_those_it_had_when_it_is_stopped() -> None:
    lanes, handle = Lanes(parallel=2), Recorder()
    async with lanes.open(handle, alone=lambda message: message.text == "alone"):
        lanes.put(message("wait", chat="a"))
        lanes.put(message("alone", chat="b"))
        await settle()
        await lanes.stop("cli:b")
        lanes.put(message("other", chat="c"))
        await settle()
        assert handle.done == ["other"]
        handle.release.set()
        async with asyncio.timeout(120):
            async with lanes.alone():
                assert handle.busy == 0


async def test_no_more_sessions_run_at_once_than_allowed() -> None:
    lanes, handle = Lanes(parallel=2), Recorder()
    async with lanes.open(handle):
        for n in range(6):
            lanes.put(message(f"wait {n}", chat=str(n)))
        await settle()
        assert len(handle.begun) == 2
        handle.release.set()
        await settle()
    assert handle.most == 2
    assert len(handle.done) == 6


async def test_stop_ends_what_runs_and_keeps_what_waits_for_the_next_message() -> None:
    lanes, handle = Lanes(parallel=2), Recorder()
    async with lanes.open(handle):
        lanes.put(message("wait"))
        lanes.put(message("kept"))
        await settle()
        assert await lanes.stop("cli:a") == (True, 1)
        await settle()
        assert handle.done == []
        lanes.put(message("next"))
        await settle()
    assert handle.done == ["kept", "next"]


async def test_stop_with_nothing_running_says_so() -> None:
    async with (lanes := Lanes(parallel=1)).open(Recorder()):
        assert await lanes.stop("cli:a") == (False, 0)


async def test_a_running_turn_takes_the_waiting_message_that_it_chooses(lanes: Lanes, handle: Recorder) -> None:
    async with lanes.open(handle):
        for text in ("wait", "join 1", "other person", "join 2"):
            lanes.put(message(text))
        await settle()
        taken = lanes.take("cli:a", lambda waiting: next(one for one in waiting if one.text.startswith("join")))
        assert taken is not None
        assert taken.text == "join 1"
        assert lanes.take("cli:a", lambda _: None) is None
        handle.release.set()
        await settle()
    assert handle.done == ["wait", "other person", "join 2"]


class Slow(Recorder):
    """Takes its time to end when it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end = asyncio.Event()
        self.together = 0
        self.most_together = 0

    async def __call__(self, message: InboundMessage) -> None:
        self.together += 1
        self.most_together = max(self.most_together, self.together)
        try:
            await super().__call__(message)
        except asyncio.CancelledError:
            await self.may_end.wait()
            raise
        finally:
            self.together -= 1


async def test_however_often_it_is_stopped_a_session_never_runs_twice(lanes: Lanes) -> None:
    slow = Slow()
    async with lanes.open(slow), asyncio.TaskGroup() as group:
        lanes.put(message("wait"))
        await settle()
        stops = [group.create_task(lanes.stop("cli:a")) for _ in range(2)]
        await settle()
        lanes.put(message("wait next"))
        await settle()
        assert lanes.cut("cli:a") == "stopped"
        slow.may_end.set()
        await asyncio.wait(stops)
        await settle()
        assert lanes.is_busy("cli:a")
        assert lanes.cut("cli:a") is None
        lanes.put(message("third"))
        slow.release.set()
        await settle()
    assert slow.most_together == 1
    assert slow.done == ["wait next", "third"]


async def test_leaving_cancels_what_runs() -> None:
    lanes, handle = Lanes(parallel=1), Recorder()
    async with lanes.open(handle):
        lanes.put(message("wait"))
        await settle()
    assert handle.done == []
    assert handle.busy == 0


async def test_what_waits_for_a_person_leaves_its_place_to_others_and_takes_one_again() -> None:
    lanes, answered, log = Lanes(parallel=1), asyncio.Event(), list[str]()

    async def handle(one: InboundMessage) -> None:
        if one.text == "asks":
            async with lanes.aside(one.address.session_key):
                await answered.wait()
        log.append(one.text)

    async with lanes.open(handle):
        for one in (message("asks"), message("behind"), message("other", chat="b")):
            lanes.put(one)
        await settle()
        assert log == ["other"]
        answered.set()
        await settle()
        assert log == ["other", "asks", "behind"]


@pytest.mark.parametrize("asks_first", [True, False])
async def test_at_the_end_nobody_waits_for_a_person(asks_first: bool) -> None:
    lanes, may_ask, log = Lanes(parallel=1), asyncio.Event(), list[str]()

    async def handle(one: InboundMessage) -> None:
        await may_ask.wait()
        try:
            async with lanes.aside(one.address.session_key):
                await asyncio.Event().wait()
        finally:
            log.append("over")

    async with lanes.open(handle):
        lanes.put(message("asks"))
        await settle()
        if asks_first:
            may_ask.set()
            await settle()
        lanes.close()
        may_ask.set()
        await asyncio.wait_for(lanes.idle(), 120)
        assert log == ["over"]
        await lanes.stop("cli:a")
        lanes.put(message("later"))
        await settle()
        assert log == ["over"]
