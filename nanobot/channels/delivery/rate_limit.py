"""The rate limit: one lane a chat, one pace for all, what waits for a better time."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from nanobot.aio import first_of
from nanobot.channels.platform import FloodError
from nanobot.messages import Address
from nanobot.ports import Clock

# Waiting.


T = TypeVar("T")


async def happened(event: asyncio.Event, clock: Clock, seconds: float | None) -> None:
    """Return when the event happens, or after so many seconds; None waits for the event alone."""
    if seconds is None:
        await event.wait()
    else:
        await first_of(event.wait(), clock.sleep(seconds))


async def with_grace(work: Coroutine[Any, Any, T], clock: Clock, seconds: float) -> T:
    """Await the work; when cancelled meanwhile, it still gets so many seconds to come to its end."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            grace = asyncio.ensure_future(clock.sleep(seconds))
            try:
                await asyncio.wait([task, grace], return_when=asyncio.FIRST_COMPLETED)
            finally:
                grace.cancel()
                task.cancel()
                await asyncio.wait([task, grace])
        if not task.cancelled():
            task.exception()  # seen; the cancellation is what the caller must hear of
        raise


# Delays.


FOREVER: Final = float("inf")

LONGEST_WAIT = 60.0
"""Seconds between two tries."""

MARGIN = 0.5
"""Seconds after its time in which the outbox hands out what was postponed."""


def back_off(attempts: int) -> float:
    """Seconds until the next try after so many: 1, 2, 4 … 60, and up to half less, so that chats do not throng."""
    longest = min(LONGEST_WAIT, 2.0 ** min(attempts, 10))
    return longest - random.uniform(0, longest / 2)  # noqa: S311 - spreads load, guards no secret


@dataclass(frozen=True, slots=True)
class Delay:
    """A chat whose next message could not be delivered so far: since when, why, and the seconds to the next try."""

    address: Address
    since: datetime
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _Wait:
    since: datetime
    reason: str
    until: float


class Delays:
    """The addresses to which a message is on its way, or waits for another try."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._underway: set[Address] = set()
        self._waits: dict[Address, _Wait] = {}

    def clear(self) -> None:
        """Nothing is on its way any more; what waited is handed out again when it is time."""
        self._underway.clear()

    def begin(self, address: Address) -> None:
        """A message is on its way there."""
        self._underway.add(address)

    def wait(self, address: Address, seconds: float, reason: str) -> None:
        """Delay the next attempt at a part that did not arrive."""
        earlier = self._waits.get(address)
        since = earlier.since if earlier else self._clock.now()
        self._waits[address] = _Wait(since, reason, self._clock.monotonic() + seconds)
        self._underway.discard(address)

    def end(self, address: Address) -> None:
        """Forget the delay of a part that arrived, or never will."""
        self._underway.discard(address)
        self._waits.pop(address, None)

    def held(self, address: Address) -> float:
        """For how many seconds nothing else may come before it; 0 if nothing is on its way."""
        if address in self._underway:
            return FOREVER
        wait = self._waits.get(address)
        return max(0.0, wait.until + MARGIN - self._clock.monotonic()) if wait else 0.0

    def listed(self) -> Sequence[Delay]:
        """All that waits, the longest first."""
        now = self._clock.monotonic()
        waits = sorted(self._waits.items(), key=lambda item: item[1].since)
        return [Delay(at, wait.since, wait.reason, max(0.0, wait.until - now)) for at, wait in waits]


# Rates.


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so many requests within any so many seconds."""

    requests: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Pace: the request limits of a platform, a little below its own.

    `every` is the least number of seconds between two requests of lesser weight (previews, their edits, typing)
    in one chat. Chats whose id begins with `group_prefix` are groups, where `group` and `every_in_group` hold.
    """

    chat: Sequence[Rate]
    bot: Sequence[Rate]
    every: float
    group: Sequence[Rate] = ()
    every_in_group: float = 0.0
    group_prefix: str | None = None

    def of(self, chat: str) -> tuple[Sequence[Rate], float]:
        """The rates of a chat, and the seconds between its previews."""
        if self.group_prefix is not None and chat.startswith(self.group_prefix):
            return self.group, self.every_in_group
        return self.chat, self.every


# The rate limiter.


SWEEP = 60.0
"""Seconds after which chats that have long been quiet are forgotten."""

PREVIEWS = 0.8
"""The share of the bot's pace that previews of all chats may use up, so that there is always room for an answer."""

INSTANT = 1e-6
"""Seconds that are no time; sums of floats may leave less."""


class _Limits:
    """Times of past requests, and when the next may be made."""

    def __init__(self, rates: Sequence[Rate]) -> None:
        self.closed_until = 0.0
        self._rates = rates
        self._made: deque[float] = deque(maxlen=max(rate.requests for rate in rates))

    def delay(self, now: float, share: float = 1.0) -> float:
        """Seconds until the next request may be made; 0 if it may be now. `share`: of what the rates allow."""
        times = self._made
        most = [(max(1, int(rate.requests * share)), rate.seconds) for rate in self._rates]
        opens = [times[-number] + seconds for number, seconds in most if len(times) >= number]
        delay = max([self.closed_until, *opens]) - now
        return delay if delay > INSTANT else 0.0

    def count(self, now: float) -> None:
        self._made.append(now)

    def is_idle(self, now: float) -> bool:
        newest = self._made[-1] if self._made else now
        return self.closed_until <= now and newest + max(rate.seconds for rate in self._rates) <= now


class _Chat:
    def __init__(self, rates: Sequence[Rate], every: float) -> None:
        self.limits = _Limits(rates)
        self.every = every
        self.lock = asyncio.Lock()  # one request at a time, in the order in which they came
        self.waiting = 0
        self.next_preview = 0.0

    def is_idle(self, now: float) -> bool:
        return not self.waiting and not self.lock.locked() and self.next_preview <= now and self.limits.is_idle(now)


class RateLimiter:
    """Lets one request at a time into a chat, and no more into all chats than the platform likes.

    Whoever `wait`s gets in, in order within the chat and in turns between chats. Previews never wait: they are
    let in at once, or told when to ask again, and never before somebody who waits.
    """

    def __init__(self, pace: Pace, clock: Clock) -> None:
        self._pace = pace
        self._clock = clock
        self._bot = _Limits(pace.bot)
        self._queue = asyncio.Lock()  # chats that wait for the bot's pace, each once
        self._chats: dict[str, _Chat] = {}
        self._swept = clock.monotonic()

    @asynccontextmanager
    async def wait(self, chat: str) -> AsyncIterator[None]:
        """Wait until the chat may be written to, however long that takes; the request is made inside."""
        state = self._chat(chat)
        state.waiting += 1
        try:
            async with state.lock:
                await self._until_open(state)
                yield
        finally:
            state.waiting -= 1

    def preview_in(self, chat: str) -> float:
        """Seconds after which it is worth asking again for a preview; 0 if it may be made now."""
        state, now = self._chat(chat), self._clock.monotonic()
        if state.waiting or state.lock.locked() or self._queue.locked():
            return max(state.every, state.limits.delay(now))
        delay = max(state.limits.delay(now), self._bot.delay(now, PREVIEWS), state.next_preview - now)
        return delay if delay > INSTANT else 0.0

    @asynccontextmanager
    async def preview(self, chat: str) -> AsyncIterator[None]:
        """A preview's request is made inside; only right after `preview_in` said 0."""
        state = self._chat(chat)
        async with state.lock:  # free, so nobody else runs before it is ours
            self._count(state)
            state.next_preview = self._clock.monotonic() + state.every
            yield

    def flooded(self, chat: str, error: FloodError) -> None:
        """The platform asks for silence: close the chat, or everything."""
        limits = self._bot if error.everywhere else self._chat(chat).limits
        limits.closed_until = max(limits.closed_until, self._clock.monotonic() + error.retry_after)

    def closed(self) -> tuple[float, Mapping[str, float]]:
        """For how many seconds the platform wants silence: everywhere, and in chats that are closed."""
        now = self._clock.monotonic()
        chats = {chat: state.limits.closed_until - now for chat, state in self._chats.items()}
        return max(0.0, self._bot.closed_until - now), {chat: left for chat, left in chats.items() if left > 0}

    def __len__(self) -> int:
        """Number of chats that are remembered."""
        return len(self._chats)

    async def _until_open(self, state: _Chat) -> None:
        while True:
            await self._sleep(state.limits)
            async with self._queue:
                await self._sleep(self._bot)
                if not state.limits.delay(self._clock.monotonic()):
                    self._count(state)
                    return

    async def _sleep(self, limits: _Limits) -> None:
        while delay := limits.delay(self._clock.monotonic()):
            await self._clock.sleep(delay)

    def _count(self, state: _Chat) -> None:
        now = self._clock.monotonic()
        state.limits.count(now)
        self._bot.count(now)

    def _chat(self, chat: str) -> _Chat:
        now = self._clock.monotonic()
        if now - self._swept >= SWEEP:
            self._swept = now
            self._chats = {name: state for name, state in self._chats.items() if not state.is_idle(now)}
        if chat not in self._chats:
            self._chats[chat] = _Chat(*self._pace.of(chat))
        return self._chats[chat]


# Requests.


GRACE = 5.0
"""Seconds that a request in flight is given to come to its end when the process is to stop."""

log = logging.getLogger(__name__)


class Requests:
    """Makes requests one at a time per chat, and closes the gate when the platform asks for silence."""

    def __init__(self, gate: RateLimiter, clock: Clock) -> None:
        self._gate = gate
        self._clock = clock

    async def make(self, at: Address, work: Callable[[], Coroutine[Any, Any, T]], *, patient: bool = True) -> T:
        """Make a request, and note down what came of it: `work` does both, and is not left half done.

        A patient one waits for the gate, however long. Another is made at once, only right after `preview_in`
        said 0. Raises a DeliveryError.
        """
        async with self._gate.wait(at.chat) if patient else self._gate.preview(at.chat):
            try:
                return await with_grace(work(), self._clock, GRACE)
            except FloodError as error:
                self._gate.flooded(at.chat, error)
                where = "everywhere" if error.everywhere else f"in {at.channel}:{at.chat}"
                log.warning("told to be silent %s for %.0f s", where, error.retry_after)
                raise

    def preview_in(self, at: Address) -> float:
        """Seconds after which a request that is not patient is worth trying; 0 if it may be made now."""
        return self._gate.preview_in(at.chat)
