"""Shows one running turn: that the bot is at work, and its text as it grows."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from nanobot.channels.delivery.canvas import Canvas
from nanobot.channels.delivery.delays import FOREVER
from nanobot.channels.delivery.requests import Requests
from nanobot.channels.delivery.stream import Stream
from nanobot.channels.delivery.waiting import happened
from nanobot.channels.platform import DeliveryError, GoneError, Platform
from nanobot.i18n import Language, say
from nanobot.messages import Address, Progress
from nanobot.ports import Clock, Outbox

TYPING_EVERY = 4.5
"""Seconds; platforms show it for five to ten, or until a message comes."""

QUIET = 1800.0
"""Seconds without a sign of life after which a turn is taken to be over."""

PAUSE = 5.0
"""Seconds in which nothing is shown after a request that did not work."""


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
    """One turn on stage. `run` is its task; it ends when the turn is over, or when somebody calls `close`.

    What goes wrong here is never more than a preview that is missing: the answer comes in any case.
    """

    def __init__(self, address: Address, turn: str, stage: Stage, reply_to: str | None = None) -> None:
        """`reply_to` is the id of the message that the turn answers."""
        self.address = address
        self.turn = turn
        self.canvas = Canvas(address, turn, stage.platform, stage.outbox, stage.requests, reply_to)
        self._stage = stage
        self._stream = Stream()
        self._changed = asyncio.Event()
        self._at_work = asyncio.Lock()  # held while the canvas changes
        self._closed = False
        self._shown = ""  # the text that the canvas shows to its end
        self._wants_text = False
        self._paused_until = 0.0
        self._typing_at = 0.0
        self._speechless = not stage.streaming

    def feed(self, progress: Progress) -> None:
        """Take in how the turn goes on."""
        self._stream.feed(progress, self._stage.clock.monotonic())
        if not (progress.kind == "text" and self._wants_text and self.canvas.live):  # it will look again anyway
            self._changed.set()

    def wake(self) -> None:
        """Look again whether something may be shown now."""
        self._changed.set()

    def mute(self) -> None:
        """Make no more requests; wait for the end."""
        self._speechless, self._typing_at, self.canvas.is_stuck = True, FOREVER, True

    async def run(self) -> None:
        """Show the turn until it is over."""
        while not self._closed:
            self._changed.clear()
            async with self._at_work:
                pause = 0.0 if self._closed else await self._next()
            if pause > 0:
                await happened(self._changed, self._stage.clock, None if pause == FOREVER else pause)

    async def close(self) -> None:
        """Show nothing more, and finish a remark whose beginning is seen. What is live then is the caller's."""
        self._closed = True
        self._changed.set()
        async with self._at_work:
            if self._stream.is_answered:
                await self._go_below()
            else:
                await self._finish(self._stream.remark)

    async def step_aside(self) -> None:
        """Another message is about to come here: what is shown comes again below it, finished text stays."""
        async with self._at_work:
            if self._is_over():
                await self._settle()
                return
            await self._go_below()

    def _is_over(self) -> bool:
        return self._stream.is_ended or self._stage.clock.monotonic() - self._stream.heard_at >= QUIET

    async def _next(self) -> float:
        """Do one thing that is due; the seconds until something may be due again."""
        if self._is_over():
            await self._settle()
            return 0.0
        if (held := self._stage.held(self.address)) > 0:
            return held
        if self._stream.is_answered:
            await self._go_below()
        now, text = self._stage.clock.monotonic(), self._stream.text
        self._wants_text = bool(text) and text != self._shown and not self._speechless and not self.canvas.is_stuck
        text_at = max(self._paused_until, now if self.canvas.live else self._stream.first_at())
        typing_at = FOREVER if self._stream.is_asking else self._typing_at  # it is the person's turn
        due = min(typing_at, text_at) if self._wants_text else typing_at
        if (delay := max(due - now, self._stage.requests.preview_in(self.address))) > 0:
            return min(delay, QUIET)
        await self._try(self._advance(text) if self._wants_text and text_at <= now else self._type())
        return 0.0

    async def _try(self, work: Coroutine[Any, Any, None]) -> None:
        """Make a request of lesser weight; if it does not work, leave the platform alone for a while."""
        try:
            await work
        except GoneError:
            self.mute()
        except DeliveryError:
            self._paused_until = self._typing_at = self._stage.clock.monotonic() + PAUSE
        else:
            self._typing_at = self._stage.clock.monotonic() + TYPING_EVERY

    async def _type(self) -> None:
        work = partial(self._stage.platform.typing, self.address)
        await self._stage.requests.make(self.address, work, patient=False)

    async def _advance(self, text: str) -> None:
        if await self.canvas.advance(text, patient=False):
            return
        self._shown = text
        if text == self._stream.remark:
            await self._keep()

    async def _settle(self) -> None:
        """The turn ended without an answer: what was said stays, with a mark that it broke off."""
        self._closed = True
        self._changed.set()
        await self._finish(self._stream.remark)
        if said := self._stream.growing.strip():
            marked = f"{said}\n\n{say('delivery.stopped', self._stage.language(self.address))}"
            await self._finish(marked, for_good=self._stream.is_ended)  # if not, there may be an answer after all
        await self._clear()

    async def _finish(self, text: str, *, for_good: bool = True) -> None:
        """Show all of a text whose beginning is seen, and keep it; one of which nothing is seen is left out."""
        if not text or not self.canvas.live:
            return
        with suppress(DeliveryError):  # its beginning is better than nothing
            while not self.canvas.is_stuck and await self.canvas.advance(text, patient=True):
                pass
        await self._keep(for_good=for_good)

    async def _go_below(self) -> None:
        """What is shown comes again below what stands there now; finished text stays."""
        self._stream.is_answered = False
        await self._finish(self._stream.remark)
        await self._clear()

    async def _keep(self, *, for_good: bool = True) -> None:
        await self.canvas.keep(for_good=for_good)
        self._stream.remark_shown(self._stage.clock.monotonic())
        self._shown = ""

    async def _clear(self) -> None:
        """Remove what is shown; what cannot be removed now is, once there is an answer."""
        try:
            await self.canvas.clear()
        except DeliveryError:
            self.canvas.let_go()
        self._shown = ""
