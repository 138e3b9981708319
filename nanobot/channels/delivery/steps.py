"""The steps of a delivery, in the log.

Each step is a line at level DEBUG before it, and the same line with ": done" after it. The words are stable, so
that a test can kill the process between any two of them. ID is a message's, P a platform's; TO is a session key.

durable                                request
attempting part 1/3 of ID to TO        sending part 1/3 of ID to TO
arrived part 1/3 of ID to TO as P      editing P into part 1/3 of ID to TO
previewing turn T to TO                showing preview 1 of turn T to TO
previewed turn T to TO as P            editing preview P of turn T to TO
delivered ID to TO                     deleting preview P of turn T to TO
failed ID to TO                        finding part 1/3 of ID to TO
postponed ID to TO                     asking whether TO answers
                                       settling P of ID to TO
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from nanobot.channels.platform import DeliveryError
from nanobot.errors import StoreError
from nanobot.ports import Clock

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
