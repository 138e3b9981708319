"""Delivers what the bot says on one channel."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from nanobot.channels.delivery.delays import Delay, Delays, back_off
from nanobot.channels.delivery.gate import Gate
from nanobot.channels.delivery.pace import Pace
from nanobot.channels.delivery.requests import GRACE, Requests
from nanobot.channels.delivery.sending import Post, Sending
from nanobot.channels.delivery.show import Show, Stage
from nanobot.channels.delivery.shows import Shows
from nanobot.channels.delivery.steps import noted, step
from nanobot.channels.delivery.waiting import with_grace
from nanobot.channels.platform import (
    DeliveryError,
    FloodError,
    GoneError,
    LostPreviewError,
    Platform,
    RejectedError,
    UnreachableError,
)
from nanobot.errors import NanobotError, StoreError
from nanobot.i18n import Language, say
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Clock, Delivery, Outbox

MOST_ATTEMPTS = 10_000
"""Tries, one a minute: after about a week of trouble a message is given up, and the owner can see it."""

MOST_BUGS = 5
"""Tries that ended in a bug of ours; more of the same make nothing better."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """What does not flow at the moment. Seconds for which the platform wants silence: everywhere, and by chat."""

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
        self._gate = Gate(pace, clock)
        self._delays = Delays(clock)
        requests = Requests(self._gate, clock)
        self._post = Post(platform, outbox, requests, clock)
        stage = Stage(
            platform=platform,
            outbox=outbox,
            requests=requests,
            clock=clock,
            streaming=streaming,
            language=language,
            held=self._delays.held,
        )
        self._shows = Shows(stage, self._start)
        self._answering: dict[str, Show] = {}  # shows whose answer is on its way, by its id
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
        """What does not flow at the moment."""
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

    async def _prepared(self, delivery: Delivery) -> Sending:
        """Clear the stage for a message."""
        message, language = delivery.message, self._language(delivery.message.address)
        await self._shows.step_aside(message.address)
        if show := self._answering.get(message.id):
            await show.close()
        return Sending(self._post, delivery, language, show, unconfirmed=self._unconfirmed.get(message.id, 0))

    async def _later(
        self, delivery: Delivery, sending: Sending | None, seconds: float, error: Exception, most: int
    ) -> None:
        """It is to be tried again after this time, unless it was tried too often."""
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
