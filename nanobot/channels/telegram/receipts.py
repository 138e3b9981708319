"""Updates that were brought and are being dealt with."""

import asyncio
import logging
from collections.abc import Collection
from typing import Self

from nanobot.channels.telegram.api import Json
from nanobot.channels.telegram.held import Held
from nanobot.channels.telegram.inbox import Inbox
from nanobot.errors import StoreError

log = logging.getLogger(__name__)


class Receipts:
    """Begins with each update once, however often it is brought meanwhile. Owns the work: leaving it cancels."""

    def __init__(self, inbox: Inbox, held: Held) -> None:
        self._inbox = inbox
        self._held = held
        self._open: dict[int, asyncio.Task[bool]] = {}

    async def __aenter__(self) -> Self:
        for update in await self._held.left():
            self.begin(update, patient=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = list(self._open.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def open(self) -> Collection[int]:
        """The numbers of those that are not dealt with yet."""
        return self._open.keys()

    def begin(self, update: Json, *, patient: bool) -> asyncio.Task[bool]:
        """Deal with an update, as Inbox.take, unless that is under way; its task."""
        number = int(update["update_id"])
        if number not in self._open:
            log.debug("telegram update %s received", number)
            self._open[number] = asyncio.create_task(self._deal(update, patient))
            self._open[number].add_done_callback(lambda _: self._open.pop(number, None))
        return self._open[number]

    async def settled(self) -> None:
        """Return when none is open."""
        while self._open:
            await asyncio.wait(list(self._open.values()))

    async def _deal(self, update: Json, patient: bool) -> bool:
        is_done = await self._inbox.take(update, patient=patient)
        if is_done:
            log.debug("telegram update %s dealt with", update["update_id"])
            try:
                await self._held.release(int(update["update_id"]))
            except StoreError as error:  # it comes again at the next start, and is known by its id
                log.warning("%s", error)
        return is_done
