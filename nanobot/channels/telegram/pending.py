"""Updates that were brought and are not on the bus yet: in memory, and on disk once that takes long."""

import asyncio
import json
import logging
from collections.abc import Collection
from typing import Self

from nanobot.channels.telegram.api import Json
from nanobot.channels.telegram.ids import HELD
from nanobot.channels.telegram.inbox import Inbox
from nanobot.errors import StoreError
from nanobot.ports import Bookmarks, Clock

log = logging.getLogger(__name__)

STORED_AFTER = 1.0
"""Seconds after which an update that is not dealt with is written down, so that Telegram need not bring it again."""


class PendingUpdates:
    """Begins with each update once, however often it is brought meanwhile. Owns the work: leaving it cancels.

    An update that waits for a file, for speech that is transcribed, or behind such a one in its chat is written down
    after a moment: from then on Telegram counts it as received, and what others say is asked for. The next start
    takes it up again. What nobody may say is not written down, and needs not be brought again either.
    """

    def __init__(self, inbox: Inbox, bookmarks: Bookmarks, clock: Clock) -> None:
        self._inbox = inbox
        self._bookmarks = bookmarks
        self._clock = clock
        self._open: dict[int, asyncio.Task[bool]] = {}
        self._brought: dict[int, tuple[Json, float]] = {}
        self._stored: set[int] = set()
        self._received: set[int] = set()  # of the open ones, those that Telegram may forget

    async def __aenter__(self) -> Self:
        marks = await self._bookmarks.marks(HELD)
        updates: list[Json] = sorted(map(json.loads, marks.values()), key=lambda update: int(update["update_id"]))
        for update in updates:
            number = int(update["update_id"])
            self._stored.add(number)
            self._received.add(number)
            self.begin(update)
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = list(self._open.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def unconfirmed(self) -> Collection[int]:
        """The numbers of those that only Telegram has."""
        return self._open.keys() - self._received

    @property
    def waiting(self) -> int:
        """How many are written down and not dealt with yet."""
        return len(self._stored & self._open.keys())

    def begin(self, update: Json, *, patient: bool = True) -> asyncio.Task[bool]:
        """Deal with an update, unless that is under way; its task tells whether that was done.

        What cannot be stored is tried again until it can, if `patient`; otherwise the update has to be brought again,
        unless it was written down meanwhile.
        """
        number = int(update["update_id"])
        if number not in self._open:
            log.debug("telegram update %s received", number)
            self._brought[number] = update, self._clock.monotonic()
            self._open[number] = asyncio.create_task(self._deal(update, number, patient))
            self._open[number].add_done_callback(lambda _: self._ended(number))
        return self._open[number]

    async def settled(self) -> None:
        """Return when all that are not written down are dealt with."""
        while waiting := [self._open[number] for number in self.unconfirmed]:
            await asyncio.wait(waiting)

    async def store_slow(self) -> None:
        """Write down what has not been dealt with for a moment; what the disk does not take stays Telegram's."""
        now = self._clock.monotonic()
        for number in sorted(self.unconfirmed):
            brought = self._brought.get(number)  # gone if it was dealt with while another was written down
            if brought and now - brought[1] >= STORED_AFTER:
                await self.store(brought[0])

    async def store(self, update: Json) -> bool:
        """Write an update that is at work down, if anybody is to hear it; return whether Telegram may forget it."""
        number = int(update["update_id"])
        work = self._open[number]
        try:
            if number not in self._stored and await self._inbox.is_welcome(update):
                await self._bookmarks.mark(f"{HELD}{number}", json.dumps(update))
                self._stored.add(number)
        except StoreError as error:
            log.warning("telegram update %s cannot be stored: %s", number, error)
            return False
        if not work.done():
            self._received.add(number)
            return True
        await self._release(number)  # it ended meanwhile: it is on the bus, or has to be brought again
        return work.result()

    def _ended(self, number: int) -> None:
        self._open.pop(number, None)
        self._brought.pop(number, None)
        self._received.discard(number)

    async def _deal(self, update: Json, number: int, patient: bool) -> bool:
        is_done = await self._inbox.take(update, is_patient=lambda: patient or number in self._received)
        if is_done:
            log.debug("telegram update %s dealt with", number)
            await self._release(number)
        return is_done

    async def _release(self, number: int) -> None:
        if number not in self._stored:
            return
        try:
            await self._bookmarks.mark(f"{HELD}{number}", "")
            self._stored.discard(number)
        except StoreError as error:  # it comes again at the next start, and is known by its id
            log.warning("%s", error)
