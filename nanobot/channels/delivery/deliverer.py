"""The deliverer: what the bot says on one channel arrives once and in order, whatever breaks."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import Any

from nanobot.channels.delivery.preview import SharedPreviews, Shows, TurnPreview, noted, step
from nanobot.channels.delivery.rate_limit import GRACE, Delay, Delays, Pace, RateLimiter, Requests, back_off, with_grace
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
from nanobot.errors import NanobotError, StoreError
from nanobot.i18n import Language, say
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Clock, Delivery, Outbox

# One attempt.


log = logging.getLogger(__name__)

MOST_UNCONFIRMED = 5
"""Requests for one part of which nobody knows whether it arrived: rather a text that stands there again, and says so,
than one that never comes. Two server errors in a row happen; five mean that nobody would see a sixth."""


@dataclass(frozen=True, slots=True)
class SendContext:
    """Dependencies of every sender."""

    platform: Platform
    outbox: Outbox
    requests: Requests
    clock: Clock


class MessageSender:
    """Makes the parts of a message visible, in order, and notes down each.

    The previews of its `show` that are live have nothing below them and become parts, those that it kept stay.
    All others, those of an earlier process above all, are removed first: nobody knows what came below them.
    `is_uncertain`: whether the next part, or a preview, may have arrived. `unconfirmed`: how often this process
    has sent that part and heard nothing of it.
    """

    def __init__(
        self,
        post: SendContext,
        delivery: Delivery,
        language: Language,
        show: TurnPreview | None = None,
        *,
        unconfirmed: int = 0,
    ) -> None:
        live, kept = (show.canvas.live, show.canvas.kept) if show else ((), ())
        # a preview may have been on its way when the message was handed out
        self.is_uncertain = delivery.is_uncertain or (show is not None and show.canvas.is_uncertain)
        self.unconfirmed = unconfirmed
        self._post = post
        self._message = delivery.message
        self._language = language
        self._arrived = len(delivery.parts)
        self._live = deque(name for name in live if name not in delivery.parts)
        self._stale = [name for name in delivery.previews if name not in {*live, *kept, *delivery.parts}]
        self._known = {*live, *kept, *delivery.parts, *delivery.previews}
        self._parts = list(post.platform.parts(self._message))

    async def run(self) -> None:
        """Deliver it. Raises a DeliveryError: a GoneError if it is not worth trying again."""
        self._live.extend(await self._remove_stale())  # rather a part in the wrong place than a text that stands twice
        if self.is_uncertain and self._post.platform.can_find:
            await self._look()
        for number in range(self._arrived, len(self._parts)):
            await self._show(number)
        self._stale += self._live
        await self._remove_stale()

    async def _show(self, number: int) -> None:
        part = self._parts[number]
        if self._live and part.file is None:
            try:
                await self._edit(self._live.popleft(), number, part)
            except LostPreviewError:  # the other previews are above the place where this part comes now
                self.is_uncertain = self.is_uncertain and not self._post.platform.can_find
                self._stale += self._live
                self._live.clear()
                await self._remove_stale()
            else:
                return
        await self._send(number, part)

    async def _edit(self, platform_id: str, number: int, part: MessagePart) -> None:
        """An edit can be repeated without harm, so nothing needs to be noted before it."""
        await self._as_taken(number, part, partial(self._edited, platform_id))

    async def _edited(self, platform_id: str, number: int, part: MessagePart) -> None:
        what = f"editing {platform_id} into {self._named(number)}"
        await step(what, self._post.platform.edit(self._message.address, platform_id, part))
        await self._note_arrival(number, platform_id)

    async def _send(self, number: int, part: MessagePart) -> None:
        if self.is_uncertain:
            await self._send_again(number)
            return
        await self._as_taken(number, part, self._sent)

    async def _as_taken(
        self, number: int, part: MessagePart, request: Callable[[int, MessagePart], Coroutine[None, None, None]]
    ) -> None:
        """Make a part visible; if the platform refuses it, its plain words, and if it refuses those, a sentence."""
        while True:
            try:
                return await self._post.requests.make(self._message.address, partial(request, number, part))
            except RejectedError as error:
                log.warning("%s was refused: %s", self._named(number), error)
                simpler = self._post.platform.simpler(part) if part.file is None else None
                if simpler is None:
                    break
                part = simpler
        return await self._post.requests.make(
            self._message.address, partial(request, number, self._excuse(number, part))
        )

    async def _send_again(self, number: int) -> None:
        """Send a part that may have arrived, marked as a repetition, once the platform answers at all."""
        message = self._message
        what = f"asking whether {message.address.session_key} answers"
        await self._post.requests.make(message.address, lambda: step(what, self._post.platform.typing(message.address)))
        self.is_uncertain = False
        try:
            await self._send(number, self._post.platform.parts(message, repeat=True)[number])
        except DeliveryError as error:
            if self.is_uncertain and self.unconfirmed >= MOST_UNCONFIRMED:
                raise GoneError(say("delivery.unconfirmed", self._language, reason=error)) from error
            self.is_uncertain = True  # as it was before
            raise

    async def _look(self) -> None:
        """Find the next part, if it has arrived, or else the previews of which nobody knows: those are removed."""
        number = self._arrived
        if found := await self._find(replace(self._message, turn=None)):
            if self._parts[number].file is None:
                self._live.appendleft(found)
                return  # an edit will show whether it is still there
            await self._note_arrival(number, found)
            self._arrived += 1
        elif number == 0 and self._message.turn is not None:
            while found := await self._find(self._message):  # several processes may each have lost one
                self._known.add(found)
                self._stale.append(found)
            await self._remove_stale()
        self.is_uncertain = False

    async def _find(self, message: OutboundMessage) -> str | None:
        number, platform = self._arrived, self._post.platform
        what = f"finding {self._named(number)}"
        find = partial(platform.find, message, self._parts[number], number, known=self._known)
        return await self._post.requests.make(message.address, lambda: step(what, find()))

    async def _sent(self, number: int, part: MessagePart) -> None:
        """The request and what is noted around it: what is not noted any more has an uncertain outcome."""
        named = self._named(number)
        await step(f"attempting {named}", self._post.outbox.attempting(self._message.id))
        self.is_uncertain = True
        try:
            request = self._post.platform.send(self._message, part, number)
            platform_id = await step(f"sending {named}", request)
        except DeliveryError as error:
            self.is_uncertain = isinstance(error, UnreachableError) and error.may_have_arrived
            self.unconfirmed += self.is_uncertain
            raise
        await self._note_arrival(number, platform_id)

    async def _note_arrival(self, number: int, platform_id: str) -> None:
        what = f"arrived {self._named(number)} as {platform_id}"
        await noted(what, partial(self._post.outbox.arrived, self._message.id, platform_id), self._post.clock)
        self.is_uncertain, self.unconfirmed = False, 0

    def _excuse(self, number: int, part: MessagePart) -> MessagePart:
        """Return the text shown in place of a part that the platform refuses."""
        log.error("%s cannot be shown", self._named(number))
        if part.file is None:
            sentence = say("delivery.part_refused", self._language)
        else:
            name = part.file.name or PurePath(part.file.path).name
            sentence = say("delivery.file_refused", self._language, name=name)
        excuse = replace(self._message, text=sentence, kind="notice", files=(), buttons=(), stats=None)
        return self._post.platform.parts(excuse)[0]

    async def _remove_stale(self) -> Sequence[str]:
        """Remove previews that show nothing any more; those that the platform will not remove."""
        left = []
        while self._stale:
            name = self._stale[-1]
            try:
                await self._post.requests.make(self._message.address, partial(self._deleted, name))
            except (LostPreviewError, RejectedError):
                left.append(name)
            self._stale.pop()
        return left

    async def _deleted(self, name: str) -> None:
        what = f"deleting preview {name} of turn {self._message.turn} to {self._message.address.session_key}"
        await step(what, self._post.platform.delete(self._message.address, name))

    def _named(self, number: int) -> str:
        return f"part {number + 1}/{len(self._parts)} of {self._message.id} to {self._message.address.session_key}"


# The deliverer.


MOST_ATTEMPTS = 10_000
"""Tries, one a minute: after about a week of trouble a message is given up, and the owner can see it."""

MOST_BUGS = 5
"""Tries that ended in a bug of ours; more of the same make nothing better."""


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """Obstacles to delivery: seconds for which the platform wants silence, everywhere and by chat."""

    silent_everywhere: float
    silent_chats: Mapping[str, float]
    delays: Sequence[Delay]


class Deliverer:
    """Takes what comes out of a channel's outbox to its platform, until cancelled.

    A message arrives once, and in order within its address; other chats do not wait for one that cannot be
    reached. After a crash in the middle of a request, or when its outcome is not known, a platform that can be
    searched is searched; on another the part is sent once more, marked as a possible repetition. What cannot be
    delivered now is postponed in the outbox, what never can be is failed there with the reason.
    Running turns are shown: typing, and with `streaming` their text as it grows. That never hurts an answer.
    Cancelling gives a request in flight a few seconds, so that its outcome is known.
    """

    def __init__(
        self,
        outbox: Outbox,
        platform: Platform,
        clock: Clock,
        *,
        pace: Pace,
        streaming: bool,
        language: Callable[[Address], Language],
    ) -> None:
        self._outbox = outbox
        self._platform = platform
        self._clock = clock
        self._language = language
        self._gate = RateLimiter(pace, clock)
        self._delays = Delays(clock)
        requests = Requests(self._gate, clock)
        self._post = SendContext(platform, outbox, requests, clock)
        stage = SharedPreviews(
            platform=platform,
            outbox=outbox,
            requests=requests,
            clock=clock,
            streaming=streaming,
            language=language,
            held=self._delays.held,
        )
        self._shows = Shows(stage, self._start)
        self._answering: dict[str, TurnPreview] = {}  # shows whose answer is on its way, by its id
        self._unconfirmed: dict[str, int] = {}  # by message: how often its next part was sent, and may have arrived
        self._tasks: asyncio.TaskGroup

    async def run(self) -> None:
        """Deliver until cancelled. Raises StoreError when the outbox cannot be read; it can be run again then."""
        self._outbox.take_back(self._platform.name)
        self._answering.clear()
        self._shows.clear()
        self._delays.clear()
        async with asyncio.TaskGroup() as self._tasks:
            while True:
                item = await self._outbox.outgoing(self._platform.name)
                if not isinstance(item, Delivery):
                    self._shows.feed(item)
                    continue
                message = item.message
                self._delays.begin(message.address)
                if message.turn is not None and (show := self._shows.take(message.address, message.turn)):
                    self._answering[message.id] = show
                self._start(self._deliver(item))

    def status(self) -> DeliveryStatus:
        """Return the obstacles to delivery."""
        everywhere, chats = self._gate.closed()
        return DeliveryStatus(everywhere, chats, self._delays.listed())

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.create_task(work)

    async def _deliver(self, delivery: Delivery) -> None:
        """Try once, and tell the outbox what came of it."""
        message, sending = delivery.message, None
        log.debug("delivering %s to %s", message.id, message.address.session_key)
        try:
            if message.settles:
                await self._settle(delivery)
            elif message.clears:
                await self._clear(delivery)
            else:
                sending = await self._prepared(delivery)
                await sending.run()
        except (FloodError, UnreachableError, StoreError) as error:
            seconds = error.retry_after if isinstance(error, FloodError) else back_off(delivery.attempts)
            await self._later(delivery, sending, seconds, error, MOST_ATTEMPTS)
        except DeliveryError as error:
            await self._failed(delivery, str(error))
        except Exception as error:  # the boundary of a message: the others go on
            log.exception("delivering %s to %s went wrong", message.id, message.address.session_key)
            await self._later(delivery, sending, back_off(delivery.attempts), error, MOST_BUGS)
        else:
            await self._note(f"delivered {message.id}", delivery, lambda: self._outbox.delivered(message.id))
            self._finished(delivery)
        self._shows.wake(message.address)

    async def _settle(self, delivery: Delivery) -> None:
        """Take the buttons of a question away. One that a person or the platform removed needs nothing."""
        message, place = delivery.message, delivery.place
        if not place:
            return
        what = f"settling {place} of {message.settles} to {message.address.session_key}"
        request = partial(self._platform.settle, message, place)
        try:
            await self._post.requests.make(message.address, lambda: step(what, request()))
        except (GoneError, LostPreviewError, RejectedError):
            return  # the step has told the log

    async def _clear(self, delivery: Delivery) -> None:
        """End what a process that has ended showed growing. What the platform does not delete any more is marked."""
        message = delivery.message
        told = self._platform.parts(message)[0]
        for name in delivery.previews:
            try:
                await self._change("deleting", name, message, partial(self._platform.delete, message.address, name))
            except (LostPreviewError, RejectedError):
                with suppress(LostPreviewError, RejectedError, GoneError):
                    edit = partial(self._platform.edit, message.address, name, told)
                    await self._change("editing", name, message, edit)
            except GoneError:
                return

    async def _change(
        self, how: str, name: str, message: OutboundMessage, request: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        what = f"{how} preview {name} of turn {message.turn} to {message.address.session_key}"
        await self._post.requests.make(message.address, lambda: step(what, request()))

    async def _prepared(self, delivery: Delivery) -> MessageSender:
        """Clear the stage for a message."""
        message, language = delivery.message, self._language(delivery.message.address)
        await self._shows.step_aside(message.address)
        if show := self._answering.get(message.id):
            await show.close()
        return MessageSender(self._post, delivery, language, show, unconfirmed=self._unconfirmed.get(message.id, 0))

    async def _later(
        self, delivery: Delivery, sending: MessageSender | None, seconds: float, error: Exception, most: int
    ) -> None:
        """Schedule another attempt after this time, unless there were too many."""
        message = delivery.message
        is_bug = not isinstance(error, NanobotError)
        reason = say("delivery.bug", self._language(message.address)) if is_bug else str(error)
        if delivery.attempts + 1 >= most:
            await self._failed(delivery, reason)
            return
        uncertain = (sending or delivery).is_uncertain
        if sending:
            self._unconfirmed[message.id] = sending.unconfirmed
        await self._note(
            f"postponed {message.id}",
            delivery,
            lambda: self._outbox.postponed(message.id, seconds, reason, may_have_arrived=uncertain),
        )
        self._delays.wait(message.address, seconds, reason)

    async def _failed(self, delivery: Delivery, reason: str) -> None:
        message = delivery.message
        log.error("%s cannot be delivered to %s: %s", message.id, message.address.session_key, reason)
        await self._note(f"failed {message.id}", delivery, lambda: self._outbox.failed(message.id, reason))
        self._finished(delivery)

    def _finished(self, delivery: Delivery) -> None:
        self._answering.pop(delivery.message.id, None)
        self._unconfirmed.pop(delivery.message.id, None)
        self._delays.end(delivery.message.address)

    async def _note(self, what: str, delivery: Delivery, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        noting = noted(f"{what} to {delivery.message.address.session_key}", work, self._clock)
        await with_grace(noting, self._clock, GRACE)
