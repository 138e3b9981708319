"""One try to deliver a message, from where the last one stopped."""

import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath

from nanobot.channels.delivery.requests import Requests
from nanobot.channels.delivery.show import Show
from nanobot.channels.delivery.steps import noted, step
from nanobot.channels.platform import (
    DeliveryError,
    GoneError,
    LostPreviewError,
    Part,
    Platform,
    RejectedError,
    UnreachableError,
)
from nanobot.i18n import Language, say
from nanobot.messages import OutboundMessage
from nanobot.ports import Clock, Delivery, Outbox

log = logging.getLogger(__name__)

MOST_UNCONFIRMED = 5
"""Requests for one part of which nobody knows whether it arrived: rather a text that stands there again, and says so,
than one that never comes. Two server errors in a row happen; five mean that nobody would see a sixth."""


@dataclass(frozen=True, slots=True)
class Post:
    """What every sending needs."""

    platform: Platform
    outbox: Outbox
    requests: Requests
    clock: Clock


class Sending:
    """Makes the parts of a message visible, in order, and notes down each.

    The previews of its `show` that are live have nothing below them and become parts, those that it kept stay.
    All others, those of an earlier process above all, are removed first: nobody knows what came below them.
    `is_uncertain`: whether the next part, or a preview, may have arrived. `unconfirmed`: how often this process
    has sent that part and heard nothing of it.
    """

    def __init__(
        self, post: Post, delivery: Delivery, language: Language, show: Show | None = None, *, unconfirmed: int = 0
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

    async def _edit(self, platform_id: str, number: int, part: Part) -> None:
        """An edit can be repeated without harm, so nothing needs to be noted before it."""
        await self._as_taken(number, part, partial(self._edited, platform_id))

    async def _edited(self, platform_id: str, number: int, part: Part) -> None:
        what = f"editing {platform_id} into {self._named(number)}"
        await step(what, self._post.platform.edit(self._message.address, platform_id, part))
        await self._note_arrival(number, platform_id)

    async def _send(self, number: int, part: Part) -> None:
        if self.is_uncertain:
            await self._send_again(number)
            return
        await self._as_taken(number, part, self._sent)

    async def _as_taken(
        self, number: int, part: Part, request: Callable[[int, Part], Coroutine[None, None, None]]
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
        """It may have arrived: ask first whether there is an answer at all, and say that it is a repetition."""
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

    async def _sent(self, number: int, part: Part) -> None:
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

    def _excuse(self, number: int, part: Part) -> Part:
        """What is shown instead of a part that the platform will not have."""
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
