"""The messages on a platform in which a turn's text is shown growing."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from nanobot.channels.delivery.requests import Requests
from nanobot.channels.delivery.steps import step
from nanobot.channels.platform import (
    DeliveryError,
    FloodError,
    LostPreviewError,
    Part,
    Platform,
    RejectedError,
    UnreachableError,
)
from nanobot.errors import StoreError
from nanobot.ids import new_id
from nanobot.messages import Address
from nanobot.ports import Outbox


@dataclass(frozen=True, slots=True)
class _Preview:
    id: str
    part: Part


class Canvas:
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
        """What is shown now stands as it is; what comes is shown below it. `for_good`: no later process ends it."""
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
        """What is shown now is nothing to go on with; the answer removes it."""
        self._live.clear()

    async def _add(self, part: Part, *, patient: bool) -> None:
        await self._requests.make(self._address, partial(self._show, part, new_id()), patient=patient)

    async def _show(self, part: Part, name: str) -> None:
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

    async def _edit(self, number: int, part: Part, *, patient: bool) -> None:
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
