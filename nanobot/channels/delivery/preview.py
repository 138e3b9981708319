"""Previews: a running turn shown on the platform, its text as it grows."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from nanobot.channels.delivery.rate_limit import FOREVER, Requests, happened
from nanobot.channels.platform import (
    DeliveryError,
    FloodError,
    GoneError,
    LostPreviewError,
    MessagePart,
    Platform,
    RejectedError,
    UnreachableError,
)
from nanobot.errors import StoreError
from nanobot.i18n import Language, say
from nanobot.ids import new_id
from nanobot.messages import Address, Progress
from nanobot.ports import Clock, Outbox

# Steps in the log.
#
# Each step is a line at level DEBUG before it, and the same line with ": done" after it. The words are stable, so
# that a test can kill the process between any two of them. ID is a message's, P a platform's; TO is a session key.
#
# durable                                request
# attempting part 1/3 of ID to TO        sending part 1/3 of ID to TO
# arrived part 1/3 of ID to TO as P      editing P into part 1/3 of ID to TO
# previewing turn T to TO                showing preview 1 of turn T to TO
# previewed turn T to TO as P            editing preview P of turn T to TO
# delivered ID to TO                     deleting preview P of turn T to TO
# failed ID to TO                        finding part 1/3 of ID to TO
# postponed ID to TO                     asking whether TO answers
#                                        settling P of ID to TO


T = TypeVar("T")

STORE_PAUSE = 10.0
"""Seconds after which is written again what could not be written to the outbox."""

log = logging.getLogger(__name__)


async def step(what: str, work: Awaitable[T]) -> T:
    """Do it, with a line before and a line after; after what the platform did not take, a line that says why."""
    log.debug("%s", what)
    try:
        result = await work
    except DeliveryError as error:
        log.info("%s: %s: %s", what, type(error).__name__, error)
        raise
    log.debug("%s: done", what)
    return result


async def noted(what: str, work: Callable[[], Coroutine[Any, Any, None]], clock: Clock) -> None:
    """Write to the outbox what has happened, as often as it takes: nobody else will."""
    while True:
        try:
            await step(what, work())
        except StoreError as error:
            log.error("%s could not be noted: %s", what, error)  # noqa: TRY400 - it says what there is to say
            await clock.sleep(STORE_PAUSE)
        else:
            return


# The text so far.


FIRST_AFTER = 1.0
"""Seconds after the first piece of text when it is shown, if there is enough of it to be worth a look."""

ENOUGH = 20
"""Characters that are worth a look."""

FIRST_AT_LAST = 3.0
"""Seconds after the first piece of text when it is shown, however little it is."""

STATUS_AFTER = 4.0
"""Seconds after which a person who sees no text is told what takes so long."""


class PreviewText:
    """The text of a turn.

    `remark` is what was said before a tool was called and is not shown to its end yet, `growing` what is being
    said, `status` what a tool is doing, or why it takes so long. One of them is worth showing, in this order.
    `is_asking`: the turn waits for the person; `is_answered`: it did, and they may have written below what is shown.
    """

    def __init__(self) -> None:
        self.remark = ""
        self.growing = ""
        self.status = ""
        self.is_asking = False
        self.is_answered = False
        self.is_ended = False
        self._status_before = ""
        self.heard_at = 0.0
        self._since = 0.0  # when what is to be shown began

    def feed(self, progress: Progress, now: float) -> None:
        """Take in how the turn goes on."""
        had_text, had_status = self._has_text, bool(self.status)
        self.heard_at = now
        match progress.kind:
            case "text":
                self.growing, self.status = self.growing + progress.text, ""
            case "restart":
                self.growing = ""
            case "step":
                self.remark = "\n\n".join(said for said in (self.remark, self.growing.strip()) if said)
                self.growing = ""
            case "tool" | "notice":
                self.status = f"{'🔧' if progress.kind == 'tool' else '⏳'} {progress.text}"
            case "asking" | "refused":
                self._ask(progress, now)
            case "ended":
                self.is_ended = True
        if not had_text and (self._has_text or not had_status):
            self._since = now

    def _ask(self, progress: Progress, now: float) -> None:
        """While it waits for the person, that stands in the place of what the tool is about to do."""
        self.is_asking = bool(progress.text)
        if self.is_asking:
            self._status_before, self.status = self.status, f"⏸ {progress.text}"
            return
        self.status = "" if progress.kind == "refused" else self._status_before
        self.is_answered, self._since = True, now

    @property
    def text(self) -> str:
        """Text worth showing now; "" if there is none."""
        return self.remark or (self.growing if self.growing.strip() else self.status)

    def first_at(self) -> float:
        """Time at which the first preview is due, if none is shown yet."""
        if not self._has_text:
            return self._since + STATUS_AFTER
        return self._since + (FIRST_AFTER if len(self.text) >= ENOUGH else FIRST_AT_LAST)

    def remark_shown(self, now: float) -> None:
        """The remark stands as a message of its own."""
        self.remark = ""
        self._since = now

    @property
    def _has_text(self) -> bool:
        return bool(self.remark or self.growing.strip())


# Preview messages.


@dataclass(frozen=True, slots=True)
class _Preview:
    id: str
    part: MessagePart


class PreviewMessages:
    """Shows a text in as many previews as it needs, one request at a time.

    `kept` are the ids of previews that stand as messages of their own. `is_stuck` after a request whose outcome
    is not known, or a preview that somebody removed: nothing more is shown, lest it appear twice. `is_uncertain`
    after the former: a preview of which nobody knows may be seen.
    """

    def __init__(
        self,
        address: Address,
        turn: str,
        platform: Platform,
        outbox: Outbox,
        requests: Requests,
        reply_to: str | None = None,
    ) -> None:
        """`reply_to` is what the turn answers: the first preview of a text is a reply, as an answer is."""
        self.kept: list[str] = []
        self.is_stuck = self.is_uncertain = False
        self._address = address
        self._turn = turn
        self._platform = platform
        self._outbox = outbox
        self._requests = requests
        self._live: list[_Preview] = []
        self._reply_to = reply_to

    @property
    def live(self) -> Sequence[str]:
        """The ids of the previews that show the text now, in order; nothing came below them."""
        return [preview.id for preview in self._live]

    async def advance(self, text: str, *, patient: bool) -> bool:
        """Make the next request towards showing the text; False if it is shown. Raises a DeliveryError."""
        parts = self._platform.preview(text)
        for number, part in enumerate(parts):
            if number == len(self._live):
                await self._add(part, patient=patient)
                return True
            if self._live[number].part != part:
                await self._edit(number, part, patient=patient)
                return True
        if len(self._live) > len(parts):
            await self._remove_last(patient=patient)
            return True
        return False

    async def keep(self, *, for_good: bool = True) -> None:
        """Keep the shown text as it stands; later text is shown below it. `for_good`: no later process ends it."""
        kept = self.live
        self.kept += kept
        self._live.clear()
        if for_good and kept:
            with suppress(StoreError):  # at worst a later process removes it
                await self._outbox.kept(self._turn, kept)

    async def clear(self) -> None:
        """Remove what is shown now, since something else is to come in its place."""
        while self._live:
            await self._remove_last(patient=True)

    def let_go(self) -> None:
        """Give up the shown messages; the answer removes them."""
        self._live.clear()

    async def _add(self, part: MessagePart, *, patient: bool) -> None:
        await self._requests.make(self._address, partial(self._show, part, new_id()), patient=patient)

    async def _show(self, part: MessagePart, name: str) -> None:
        named = f"turn {self._turn} to {self._address.session_key}"
        await step(f"previewing {named}", self._outbox.previewing(self._turn, self._address))
        self.is_stuck = True  # until the outcome is known
        reply_to = None if self._live else self._reply_to
        request = self._platform.send_preview(self._address, self._turn, part, name, reply_to=reply_to)
        try:
            platform_id = await step(f"showing preview {len(self._live) + 1} of {named}", request)
        except DeliveryError as error:
            if not (isinstance(error, UnreachableError) and error.may_have_arrived):
                await self._outbox.previewed(self._turn, None)
                self.is_stuck = not isinstance(error, FloodError | UnreachableError)
            else:
                self.is_uncertain = True
            raise
        await step(f"previewed {named} as {platform_id}", self._outbox.previewed(self._turn, platform_id))
        self._live.append(_Preview(platform_id, part))
        self.is_stuck = False

    async def _edit(self, number: int, part: MessagePart, *, patient: bool) -> None:
        platform_id = self._live[number].id
        what = f"editing preview {platform_id} of turn {self._turn} to {self._address.session_key}"
        try:
            await self._requests.make(
                self._address,
                lambda: step(what, self._platform.edit(self._address, platform_id, part)),
                patient=patient,
            )
        except LostPreviewError:
            del self._live[number:]
            self.is_stuck = True
            raise
        except RejectedError:
            self.is_stuck = True
            raise
        self._live[number] = _Preview(platform_id, part)

    async def _remove_last(self, *, patient: bool) -> None:
        platform_id = self._live[-1].id
        what = f"deleting preview {platform_id} of turn {self._turn} to {self._address.session_key}"
        await self._requests.make(
            self._address, lambda: step(what, self._platform.delete(self._address, platform_id)), patient=patient
        )
        self._live.pop()


# Preview of a turn.


TYPING_EVERY = 4.5
"""Seconds; platforms show it for five to ten, or until a message comes."""

QUIET = 1800.0
"""Seconds without a sign of life after which a turn is taken to be over."""

PAUSE = 5.0
"""Seconds in which nothing is shown after a request that did not work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPreviews:
    """State that all previews of a channel share.

    `held` says for how many seconds nothing may be shown at an address, since a message is on its way there.
    """

    platform: Platform
    outbox: Outbox
    requests: Requests
    clock: Clock
    streaming: bool
    language: Callable[[Address], Language]
    held: Callable[[Address], float]


class TurnPreview:
    """One turn on stage. `run` is its task; it ends when the turn is over, or when somebody calls `close`.

    What goes wrong here is never more than a preview that is missing: the answer comes in any case.
    """

    def __init__(self, address: Address, turn: str, stage: SharedPreviews, reply_to: str | None = None) -> None:
        """`reply_to` is the id of the message that the turn answers."""
        self.address = address
        self.turn = turn
        self.canvas = PreviewMessages(address, turn, stage.platform, stage.outbox, stage.requests, reply_to)
        self._stage = stage
        self._stream = PreviewText()
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
        """Show the preview again below the newest message; finished text stays."""
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


# All turns of a channel.


class Shows:
    """One show for each running turn, by address and turn, so that two never mix. `start` owns their tasks."""

    def __init__(self, stage: SharedPreviews, start: Callable[[Coroutine[Any, Any, None]], object]) -> None:
        self._stage = stage
        self._start = start
        self._at: dict[Address, dict[str, TurnPreview]] = {}

    def __len__(self) -> int:
        return sum(len(shows) for shows in self._at.values())

    def clear(self) -> None:
        """Their tasks are gone; their previews are those of an earlier process now."""
        self._at.clear()

    def feed(self, progress: Progress) -> None:
        """Take in how a turn goes on; of one whose beginning was not heard, or whose answer is here, nothing."""
        shows = self._at.get(progress.address, {})
        if progress.kind == "started" and progress.turn not in shows:
            shows = self._at.setdefault(progress.address, {})
            shows[progress.turn] = TurnPreview(progress.address, progress.turn, self._stage, progress.text or None)
            self._start(self._run(shows[progress.turn]))
        if show := shows.get(progress.turn):
            show.feed(progress)

    def take(self, address: Address, turn: str) -> TurnPreview | None:
        """The show of a turn whose answer is here; it is the caller's now, to be closed."""
        show = self._at.get(address, {}).get(turn)
        if show is not None:
            self._forget(show)
        return show

    async def step_aside(self, address: Address) -> None:
        """Whatever is shown growing at this address makes room for a message."""
        for show in list(self._at.get(address, {}).values()):
            await show.step_aside()

    def wake(self, address: Address) -> None:
        """A message that was on its way there has arrived, or waits for a better time."""
        for show in self._at.get(address, {}).values():
            show.wake()

    async def _run(self, show: TurnPreview) -> None:
        try:
            await show.run()
        except Exception:  # the boundary of a turn on stage: its answer comes in any case
            log.exception("turn %s in %s cannot be shown growing", show.turn, show.address.session_key)
            show.mute()
            await show.run()
        self._forget(show)

    def _forget(self, show: TurnPreview) -> None:
        shows = self._at.get(show.address, {})
        if shows.get(show.turn) is show:
            del shows[show.turn]
        if not shows:
            self._at.pop(show.address, None)
