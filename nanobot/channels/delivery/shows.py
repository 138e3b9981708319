"""The turns that are on stage in a channel."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from nanobot.channels.delivery.show import Show, Stage
from nanobot.messages import Address, Progress

log = logging.getLogger(__name__)


class Shows:
    """One show for each running turn, by address and turn, so that two never mix. `start` owns their tasks."""

    def __init__(self, stage: Stage, start: Callable[[Coroutine[Any, Any, None]], object]) -> None:
        self._stage = stage
        self._start = start
        self._at: dict[Address, dict[str, Show]] = {}

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
            shows[progress.turn] = Show(progress.address, progress.turn, self._stage, progress.text or None)
            self._start(self._run(shows[progress.turn]))
        if show := shows.get(progress.turn):
            show.feed(progress)

    def take(self, address: Address, turn: str) -> Show | None:
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

    async def _run(self, show: Show) -> None:
        try:
            await show.run()
        except Exception:  # the boundary of a turn on stage: its answer comes in any case
            log.exception("turn %s in %s cannot be shown growing", show.turn, show.address.session_key)
            show.mute()
            await show.run()
        self._forget(show)

    def _forget(self, show: Show) -> None:
        shows = self._at.get(show.address, {})
        if shows.get(show.turn) is show:
            del shows[show.turn]
        if not shows:
            self._at.pop(show.address, None)
