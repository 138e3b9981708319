"""Asks Telegram for updates, and confirms those that are on disk."""

from contextlib import suppress
from functools import partial

from nanobot.channels.fetching import at_most
from nanobot.channels.telegram.api import Api, Json
from nanobot.channels.telegram.line import Line
from nanobot.channels.telegram.pending import PendingUpdates
from nanobot.ports import Clock

POLL = 25.0
"""Seconds for which Telegram is asked to wait for news."""

GRACE = 10.0
"""Seconds after that, when a connection counts as dead."""

MEANWHILE = 0.25
"""Seconds between two looks for news while something is being dealt with that only Telegram has."""


class Polling:
    """The loop around getUpdates.

    An update is confirmed by asking for those after it, so that is done when it, and all before it, are on the bus, or
    written down because that takes long. Until then Telegram holds them for us: a crash loses none, and what was
    published before is known by its id.
    """

    def __init__(self, api: Api, line: Line, clock: Clock) -> None:
        self._api = api
        self._line = line
        self._clock = clock

    async def run(self, pending: PendingUpdates) -> None:
        """Poll until cancelled. Raises RefusedTokenError."""
        await self._line.persistently(self._api.bot.delete_webhook, GRACE)
        offset: int | None = None
        begun: set[int] = set()
        while True:
            updates = await self._line.persistently(partial(self._news, offset, pending), POLL + GRACE)
            self._line.heard()
            for update in updates:
                if update["update_id"] not in begun:
                    begun.add(update["update_id"])
                    pending.begin(update)
            with suppress(TimeoutError):
                async with at_most(self._clock, MEANWHILE):
                    await pending.settled()
            await pending.store_slow()
            # Behind an empty answer nothing is left to confirm, and after a quiet week the ids may begin elsewhere.
            behind = max(begun) + 1 if updates else None
            offset = min(pending.unconfirmed, default=behind)
            begun = {number for number in begun if offset is not None and number >= offset}

    async def _news(self, offset: int | None, pending: PendingUpdates) -> list[Json]:
        """What a first answer says is whether we may listen at all, so it is not waited for."""
        is_idle = self._line.is_up and not pending.unconfirmed
        return await self._api.updates(offset, POLL if is_idle else 0.0)
