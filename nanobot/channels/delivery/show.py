"""Shows one running turn: that the bot is at work, and its text as it grows."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nanobot.channels.delivery.canvas import Canvas
from nanobot.channels.delivery.requests import Requests
from nanobot.channels.delivery.stream import Stream
from nanobot.channels.delivery.waiting import happened
from nanobot.channels.platform import DeliveryError, GoneError, Platform
from nanobot.i18n import Language, say
from nanobot.messages import Address, Progress
from nanobot.ports import Clock, Outbox

TYPING_EVERY = 4.5
"""Seconds; platforms show it for five to ten."""

LINGER = 1.0
"""Seconds after the end of a turn in which its answer may still come out of the outbox."""

QUIET = 1800.0
"""Seconds without a sign of life after which a turn is taken to be over."""

PAUSE = 5.0
"""Seconds in which nothing is shown after a request that did not work."""

FOREVER: Final = float("inf")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What all shows of a channel share.

    `held` says for how many seconds nothing may be shown at an address, since a message is on its way there.
    """

    platform: Platform
    outbox: Outbox
    requests: Requests
    clock: Clock
    streaming: bool
    language: Callable[[Address], Language]
    held: Callable[[Address], float]


class Show:
    """One turn on stage. `run` is its task; it ends by itself when the turn is over, or when `close` says so."""

    def __init__(self, address: Address, turn: str, stage: Stage) -> None:
        self.address = address
        self.turn = turn
        self.stream = Stream()
        self.canvas = Canvas(address, turn, stage.platform, stage.outbox, stage.requests)
        self._stage = stage
        self._changed = asyncio.Event()
        self._at_work = asyncio.Lock()  # held while the canvas changes
        self._closed = False
        self._shown = ""
        self._paused_until = 0.0
        self._typing_at = 0.0
        self._speechless = not stage.streaming

    def feed(self, progress: Progress) -> None:
        """Take in how the turn goes on."""
        self.stream.feed(progress, self._stage.clock.monotonic())
        self._changed.set()

    def wake(self) -> None:
        """Look again whether something may be shown now."""
        self._changed.set()

    async def run(self) -> None:
        """Show the turn until it is over."""
        while not self._closed:
            self._changed.clear()
            async with self._at_work:
                pause = 0.0 if self._closed else await self._next()
            if pause > 0:
                await happened(self._changed, self._stage.clock, None if pause == FOREVER else pause)

    async def close(self) -> None:
        """Show nothing more, and finish a remark that has begun to be seen. The previews are the caller's now."""
        self._closed = True
        self._changed.set()
        async with self._at_work:
            if self.stream.remark:
                await self._finish(self.stream.remark)

    async def step_aside(self) -> None:
        """Another message is about to come here: what is shown comes again below it, complete remarks stay."""
        async with self._at_work:
            if self.stream.remark:
                await self._finish(self.stream.remark)
            try:
                await self.canvas.clear()
            except DeliveryError:  # the answer will remove it
                self.canvas.let_go()
            self._shown = ""

    async def settle(self) -> None:
        """The turn ended without an answer: what was said stays, with a mark that it broke off."""
        await self.close()
        async with self._at_work:
            if said := self.stream.growing.strip():
                await self._finish(f"{said}\n\n{say('delivery.stopped', self._stage.language(self.address))}")
            else:
                try:
                    await self.canvas.clear()
                except DeliveryError:
                    self.canvas.let_go()

    async def _finish(self, text: str) -> None:
        """Show all of a text whose beginning is seen, and keep it; one of which nothing is seen is left out."""
        try:
            while self.canvas.live and not self.canvas.is_stuck and await self.canvas.advance(text, patient=True):
                pass
        except DeliveryError:  # a beginning is better than nothing
            pass
        if self.canvas.live:
            self.stream.remark_shown(self._stage.clock.monotonic())
        self.canvas.keep()
        self._shown = ""

    async def _next(self) -> float:
        """Do what is due; the seconds until something may be due again."""
        now = self._stage.clock.monotonic()
        if (held := self._stage.held(self.address)) > 0:
            return held
        if self._is_over(now):
            self._closed = True
            return 0.0
        if self.stream.ended_at is not None:
            return self.stream.ended_at + LINGER - now
        text, first_at = self.stream.text, self.stream.first_at()
        wants_text = bool(text) and text != self._shown and not self._speechless and not self.canvas.is_stuck
        due = [self._typing_at]
        if wants_text:
            due.append(max(self._paused_until, now if self.canvas.live else first_at))
        if (delay := max(min(due) - now, self._stage.requests.preview_in(self.address))) > 0:
            return delay
        await (self._advance(text) if wants_text and due[-1] <= now else self._type())
        return 0.0
