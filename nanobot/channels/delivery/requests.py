"""Requests to a platform, each through the gate."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from nanobot.channels.delivery.gate import Gate
from nanobot.channels.delivery.waiting import with_grace
from nanobot.channels.platform import FloodError
from nanobot.messages import Address
from nanobot.ports import Clock

T = TypeVar("T")

GRACE = 5.0
"""Seconds that a request in flight is given to come to its end when the process is to stop."""

log = logging.getLogger(__name__)


class Requests:
    """Makes requests one at a time per chat, and closes the gate when the platform asks for silence."""

    def __init__(self, gate: Gate, clock: Clock) -> None:
        self._gate = gate
        self._clock = clock

    async def make(self, at: Address, work: Callable[[], Coroutine[Any, Any, T]], *, patient: bool = True) -> T:
        """Make a request, and note down what came of it: `work` does both, and is not left half done.

        A patient one waits for the gate, however long. Another is made at once, only right after `preview_in`
        said 0. Raises a DeliveryError.
        """
        async with self._gate.wait(at.chat) if patient else self._gate.preview(at.chat):
            try:
                return await with_grace(work(), self._clock, GRACE)
            except FloodError as error:
                self._gate.flooded(at.chat, error)
                where = "everywhere" if error.everywhere else f"in {at.channel}:{at.chat}"
                log.warning("told to be silent %s for %.0f s", where, error.retry_after)
                raise

    def preview_in(self, at: Address) -> float:
        """Seconds after which a request that is not patient is worth trying; 0 if it may be made now."""
        return self._gate.preview_in(at.chat)
