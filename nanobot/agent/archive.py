"""What becomes of a conversation beyond its window."""

import asyncio
from dataclasses import dataclass

from nanobot.agent.background import Background
from nanobot.agent.conversation import Conversation
from nanobot.agent.recollection import Recollection
from nanobot.authority import Scope
from nanobot.memory.consolidator import Archiving, Consolidator
from nanobot.ports import Clock
from nanobot.tokens import TokenEstimator

WAIT = 60.0
"""Seconds that a turn waits for the summary where the strategy wants it first."""

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
            await self._within_limits(conversation)
        left = await conversation.make_room(room, tokens, await self.recollection.newest())
        if left:
            self.consolidator.left_view(conversation.key, left)

    async def compact(self, conversation: Conversation) -> Archiving:
        """Archive all that is over, now; of what is archived, only the last turns stay in view. Raises StoreError."""
        done = await self.consolidator.archive(conversation.key, conversation.finished)
        if done.is_whole:
            await conversation.keep_last(IN_VIEW, await self.recollection.newest())
        return done

    async def _within_limits(self, conversation: Conversation) -> None:
        if self.consolidator.setback(conversation.key):
            return
        work = asyncio.ensure_future(self.consolidator.archive(conversation.key, conversation.finished))
        limit = asyncio.ensure_future(self.clock.sleep(WAIT))
        try:
            await asyncio.wait([work, limit], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, limit):
                task.cancel()
            await asyncio.wait([work, limit])
        if work.done() and not work.cancelled():
            work.result()
