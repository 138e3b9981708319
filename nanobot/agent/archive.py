"""What becomes of a conversation beyond its window."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from nanobot.agent.background import Background
from nanobot.agent.conversation import Conversation
from nanobot.agent.recollection import Recollection
from nanobot.authority import Scope
from nanobot.errors import NanobotError, StoreError
from nanobot.first import first_of
from nanobot.memory.consolidator import Archiving, Consolidator
from nanobot.ports import Clock
from nanobot.tokens import TokenEstimator

log = logging.getLogger(__name__)

WAIT = 30.0
"""Seconds that somebody waits for a summary: a turn, where the strategy wants it first, or who leaves the program."""

IN_VIEW = 2
"""Turns that stay in view when a person has the conversation archived."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Moves windows, and has what leaves them archived.

    The window moves at once and the summary follows in the background, so that nobody waits for it;
    `summary_first` waits for it, if not for ever.
    """

    consolidator: Consolidator
    recollection: Recollection
    background: Background
    clock: Clock
    summary_first: bool = False

    async def enter(self, conversation: Conversation, scope: Scope) -> None:
        """Somebody speaks in this scope; what was said in another one leaves the view."""
        if await conversation.enter(scope.name):
            self.consolidator.was_reset(conversation.key)

    async def reset(self, conversation: Conversation) -> None:
        """Start afresh."""
        await conversation.reset()
        self.consolidator.was_reset(conversation.key)

    async def make_room(self, conversation: Conversation, room: float, tokens: TokenEstimator) -> None:
        """Make the replay fit into `room` tokens, if it does not."""
        if self.summary_first and conversation.finished and not conversation.fits(room, tokens):
            await self._within_limits(conversation.key, conversation.finished)
        left = await conversation.make_room(room, tokens, await self.recollection.newest())
        if left:
            self.consolidator.left_view(conversation.key, left)

    async def compact(self, conversation: Conversation) -> Archiving:
        """Archive all that is over, now; of what is archived, only the last turns stay in view. Raises StoreError."""
        done = await self.consolidator.archive(conversation.key, conversation.finished)
        if done.is_whole:
            await conversation.keep_last(IN_VIEW, await self.recollection.newest())
        return done

    async def now(self, session: str) -> Archiving:
        """Archive what was said in a session until now, unless a turn is at work in it or the model does not answer."""
        if self.consolidator.is_busy(session):
            return Archiving(failure="turn")
        try:
            return await self.consolidator.archive(session, "", patient=False)
        except StoreError as error:
            log.warning("%s could not be archived: %s", session, error)
            return Archiving(failure="disk")

    async def all_now(self) -> Sequence[Archiving]:
        """The same for every session. Raises StoreError if it cannot be told which they are."""
        return [await self.now(session) for session in await self.consolidator.owing()]

    def begin(self) -> None:
        """At the start of the program: archive in the background what has rested, or was cleared, meanwhile."""
        self.background.start("archive what is owed", lambda: self.consolidator.archive_rested(self.clock.now()))

    async def leave(self, session: str, *, once: bool = False) -> Archiving:
        """Archive a conversation that the program ends with, unless that takes longer than WAIT.

        Who asks `once` may ask again soon, and has no time: then it is done only if something has waited for longer
        than the time of rest. What was not to be done at all is no failure.
        """
        try:
            waited = await self.consolidator.waiting(session)
        except StoreError as error:
            log.warning("%s", error)
            return Archiving(failure="disk")
        if waited is None or (once and waited < self.consolidator.rest):
            return Archiving(is_whole=True)
        return await self._within_limits(session, "")

    async def _within_limits(self, session: str, through: str) -> Archiving:
        """What is not done within WAIT is given up for now; nothing is asked while the model is left alone."""
        if setback := self.consolidator.setback(session):
            return Archiving(failure=setback.kind)
        done = Archiving(failure="slow")

        async def work() -> None:
            nonlocal done
            done = await self.consolidator.archive(session, through, patient=False)

        try:
            await first_of(work(), self.clock.sleep(WAIT))
        except NanobotError as error:
            log.warning("%s could not be archived: %s", session, error)
            return Archiving(failure="disk")
        return done
