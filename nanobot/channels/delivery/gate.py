"""The gate that every request of a bot passes: one lane per chat, one pace for all."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from nanobot.channels.delivery.pace import Pace, Rate
from nanobot.channels.platform import FloodError
from nanobot.ports import Clock

SWEEP = 60.0
"""Seconds after which chats that have long been quiet are forgotten."""

PREVIEWS = 0.8
"""The share of the bot's pace that previews of all chats may use up, so that there is always room for an answer."""

INSTANT = 1e-6
"""Seconds that are no time; sums of floats may leave less."""


class _Limits:
    """When requests were made, and when the next may be."""

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


class Gate:
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
        """How many chats are remembered."""
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
