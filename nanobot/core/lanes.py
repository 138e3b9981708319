"""Lanes: in order within a session, side by side across sessions; background work gives way to people."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Literal

from nanobot.aio import first_of
from nanobot.messages import InboundMessage
from nanobot.ports import Clock, ModelInfo, Reply
from nanobot.ports.models import Ask

# Lanes.


Handle = Callable[[InboundMessage], Awaitable[None]]
Choose = Callable[[Iterable[InboundMessage]], InboundMessage | None]
Cut = Literal["stopped", "put_off"]
"""Why what runs is being cancelled: a person wants no answer any more, or it is to begin again later."""


@dataclass(slots=True, eq=False)
class _Lane:
    waiting: deque[InboundMessage] = field(default_factory=deque)
    task: asyncio.Task[None] | None = None
    at_work: InboundMessage | None = None  # what the task handles
    cut: Cut | None = None  # why the task is being cancelled, if that is not the end of the program
    held: bool = False  # what waits is not started before a new message comes
    places: int = 0  # that what runs takes
    alone: bool = False  # what runs is to have nothing beside it
    aside: bool = False  # what runs waits for a person


class Lanes:
    """Each session's messages are handled one after the other, at most `parallel` sessions at once."""

    def __init__(self, *, parallel: int) -> None:
        self._parallel = parallel
        self._places = asyncio.Semaphore(parallel)
        self._taking_all = asyncio.Lock()  # two that each want all places would wait for each other
        self._alone: Callable[[InboundMessage], bool] = lambda _: False
        self._lanes: dict[str, _Lane] = {}
        self._group = asyncio.TaskGroup()
        self._handle: Handle
        self._closed = False
        self._stillness = 0  # how many want that nothing is handled

    @asynccontextmanager
    async def open(
        self, handle: Handle, *, alone: Callable[[InboundMessage], bool] = lambda _: False
    ) -> AsyncIterator[None]:
        """Handle messages while this is open; leaving it cancels what runs.

        While one is handled of which `alone` says so, none is in any other session. `handle` must not raise: what
        goes wrong with a message is its own to report.
        """
        self._handle, self._alone = handle, alone
        async with self._group:
            try:
                yield
            finally:
                for lane in self._lanes.values():
                    if lane.task is not None:
                        lane.task.cancel()

    def put(self, message: InboundMessage) -> None:
        """Queue a message; it is handled when those before it in its session are."""
        key = message.address.session_key
        lane = self._lanes.setdefault(key, _Lane())
        lane.waiting.append(message)
        lane.held = False
        self._start(key, lane)

    def close(self) -> None:
        """Begin nothing more; what runs goes on, but for what waits for a person: that is cancelled."""
        self._closed = True
        for lane in self._lanes.values():
            if lane.aside and lane.task is not None:
                lane.task.cancel()

    @asynccontextmanager
    async def aside(self, key: str) -> AsyncIterator[None]:
        """While what runs in a session waits for a person, another session has its place."""
        lane = self._lanes.get(key)
        if lane is None or lane.task is None:
            yield
            return
        self._leave_place(lane)
        lane.aside = True
        try:
            if self._closed:
                lane.task.cancel()
                await asyncio.Event().wait()
            yield
        finally:
            lane.aside = False
        await self._take_place(lane)

    async def idle(self) -> None:
        """Returns when nothing runs that was begun before."""
        if running := [lane.task for lane in self._lanes.values() if lane.task is not None]:
            await asyncio.wait(running)

    @asynccontextmanager
    async def still(self, patience: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """While this lasts nothing is handled, in no session; afterwards all goes on that waits.

        What runs may finish until `patience` returns, and is then put off: whoever handles it gives it back with
        `put_back`.
        """
        self._stillness += 1
        try:
            await self._quieten(patience)
            yield
        finally:
            self._stillness -= 1
            for key, lane in list(self._lanes.items()):
                if not lane.held:
                    self._start(key, lane)

    def put_back(self, messages: Sequence[InboundMessage]) -> None:
        """Queue messages of one session again, before all that waits there: what handled them was put off."""
        self._lanes[messages[0].address.session_key].waiting.extendleft(reversed(messages))

    def drop(self, is_meant: Callable[[InboundMessage], bool]) -> None:
        """Handle none of the waiting messages that are meant."""
        for lane in self._lanes.values():
            lane.waiting = deque(message for message in lane.waiting if not is_meant(message))

    def left(self) -> list[list[InboundMessage]]:
        """Messages that wait in each session and are not handled any more, once this is closed."""
        return [list(lane.waiting) for lane in self._lanes.values() if lane.waiting]

    def take(self, key: str, choose: Choose) -> InboundMessage | None:
        """Take the waiting message that a running turn chooses to join it, if there is one."""
        lane = self._lanes.get(key)
        chosen = choose(lane.waiting) if lane else None
        if lane and chosen is not None:
            lane.waiting.remove(chosen)
        return chosen

    async def stop(self, key: str) -> tuple[bool, int]:
        """Cancel what runs in a session and wait until it has ended.

        What waits is kept, and is handled before the session's next message.
        Returns whether something ran, and how many messages are kept.
        """
        lane = self._lanes.get(key)
        if lane is None:
            return False, 0
        lane.held = True
        kept = len(lane.waiting)
        return await self._cancel(key, lane, "stopped"), kept

    def cut(self, key: str) -> Cut | None:
        """Return the reason why a session is being cancelled; None if it is not, or by the end of the program."""
        lane = self._lanes.get(key)
        return lane.cut if lane else None

    def at_work(self, key: str) -> InboundMessage | None:
        """The message that is being handled in a session, or waits for a place; None if nothing is to be stopped."""
        lane = self._lanes.get(key)
        if lane is None or lane.task is None:
            return None
        return lane.at_work or next(iter(lane.waiting), None)

    def waiting(self, key: str) -> int:
        """Return the number of messages that wait in a session."""
        lane = self._lanes.get(key)
        return len(lane.waiting) if lane else 0

    def queue(self, key: str) -> Sequence[InboundMessage]:
        """Return the messages that wait in a session, in order."""
        lane = self._lanes.get(key)
        return tuple(lane.waiting) if lane else ()

    def ends_with(self, message: InboundMessage) -> bool:
        """True if the last message that waits in its session says the same, from the same person."""
        queue = self.queue(message.address.session_key)
        return bool(queue) and (queue[-1].text, queue[-1].sender.id) == (message.text, message.sender.id)

    def is_busy(self, key: str) -> bool:
        """True if a message of this session is being handled or waits for a place."""
        lane = self._lanes.get(key)
        return lane is not None and lane.task is not None

    def must_wait(self, key: str) -> bool:
        """True if a message of this session would not be handled at once."""
        return self.is_busy(key) or self._is_closed or self._places.locked()

    async def _quieten(self, patience: Callable[[], Awaitable[None]]) -> None:
        """Wait for what runs, and end what goes on for too long."""
        await first_of(self.idle(), patience())
        for key, lane in list(self._lanes.items()):
            await self._cancel(key, lane, "put_off")

    async def _cancel(self, key: str, lane: _Lane, cut: Cut) -> bool:
        """Cancel what runs in a session and wait until it has ended. Whether something ran."""
        task = lane.task
        if task is None:
            return False
        if lane.cut != "stopped":  # then it is not to begin again
            lane.cut = cut
        task.cancel()
        await asyncio.wait([task])
        if lane.task is task:  # nobody else has dealt with its end
            self._ended(key, lane)
            if not lane.held:  # a message came while the turn was ending
                self._start(key, lane)
        return True

    def _start(self, key: str, lane: _Lane) -> None:
        if lane.task is None and lane.waiting and not self._is_closed:
            lane.task = self._group.create_task(self._run(key, lane), name=f"lane {key}")

    async def _run(self, key: str, lane: _Lane) -> None:
        while lane.waiting and not lane.held and not self._is_closed:
            lane.alone = self._alone(lane.waiting[0])
            await self._take_place(lane)
            try:
                # while it waited for a place, they may have joined a turn, or been dropped
                if lane.waiting and not self._is_closed and self._alone(lane.waiting[0]) <= lane.alone:
                    lane.at_work = lane.waiting.popleft()
                    await self._handle(lane.at_work)
            finally:
                lane.at_work = None
                self._leave_place(lane)
        self._ended(key, lane)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """While this lasts, what is handled elsewhere has ended or waits for a person."""
        lane = _Lane(alone=True)
        try:
            await self._take_place(lane)
            yield
        finally:
            self._leave_place(lane)

    async def _take_place(self, lane: _Lane) -> None:
        if not lane.alone:
            await self._places.acquire()
            lane.places = 1
            return
        async with self._taking_all:
            try:
                while lane.places < self._parallel:
                    await self._places.acquire()
                    lane.places += 1
            except asyncio.CancelledError:
                self._leave_place(lane)
                raise

    def _leave_place(self, lane: _Lane) -> None:
        for _ in range(lane.places):
            self._places.release()
        lane.places = 0

    @property
    def _is_closed(self) -> bool:
        return self._closed or self._stillness > 0

    def _ended(self, key: str, lane: _Lane) -> None:
        lane.task, lane.cut = None, None
        if not lane.waiting and self._lanes.get(key) is lane:
            del self._lanes[key]


# Background work.


PATIENCE = 120.0
"""Seconds that a piece of such work waits for a moment without turns; then it begins all the same."""

Work = Callable[[], Awaitable[object]]

log = logging.getLogger(__name__)


class BackgroundSlot:
    """Lets one piece of work ask a model at a time, and gives way to people who wait for an answer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turns = 0
        self._begun = 0  # turns that ever began
        self._yielding: asyncio.Future[Reply] | None = None
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._slot = asyncio.Lock()
        self._waiting: dict[str, Work] = {}
        self._some_waits = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While this lasts, somebody waits for an answer."""
        self._turns += 1
        self._begun += 1
        self._quiet.clear()
        if self._yielding:
            self._yielding.cancel()
        try:
            yield
        finally:
            self._turns -= 1
            if not self._turns:
                self._quiet.set()

    async def give_way(self) -> None:
        """Return when nobody waits for an answer, or after PATIENCE."""
        if self._quiet.is_set():
            return
        await first_of(self._quiet.wait(), self._clock.sleep(PATIENCE))

    async def rested(self, seconds: float) -> None:
        """Return when nobody has waited for an answer for so long."""
        begun = -1
        while begun != self._begun:
            await self._quiet.wait()
            begun = self._begun
            await self._clock.sleep(seconds)

    async def slot(self, model: ModelInfo, ask: Ask) -> Reply:
        """Ask a model: one piece of work at a time, which gives way before it begins.

        A model that answers one by one would keep whoever speaks meanwhile waiting: then it is asked anew afterwards.
        """
        async with self._slot:
            while True:
                await self.give_way()
                if not model.one_by_one:
                    return await ask()
                self._yielding = call = asyncio.ensure_future(ask())
                try:
                    await asyncio.wait([call])
                finally:
                    self._yielding = None
                    call.cancel()
                    await asyncio.wait([call])
                if not call.cancelled():
                    return call.result()

    def start(self, name: str, work: Work) -> None:
        """Have work done by `run`, one after the other; what still waits under the same name is replaced."""
        self._waiting[name] = work
        self._idle.clear()
        self._some_waits.set()

    async def idle(self) -> None:
        """Return when nothing is at work and nothing waits."""
        await self._idle.wait()

    async def run(self) -> None:
        """Do what is started, until cancelled. What then waits is not done: whoever starts work finds it again."""
        while True:
            await self._some_waits.wait()
            name = next(iter(self._waiting))
            work = self._waiting.pop(name)
            try:
                await work()
            except Exception:  # the boundary of a piece of work
                log.exception("%s failed", name)
            if not self._waiting:
                self._some_waits.clear()
                self._idle.set()
