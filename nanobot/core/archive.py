"""The archive of a conversation: episodes of what left the window, and earlier episodes shown in the prompt."""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from nanobot.aio import first_of
from nanobot.authority import Origin, Scope, least
from nanobot.core.conversation import MOST_OPEN, Conversation
from nanobot.core.lanes import BackgroundSlot
from nanobot.errors import NanobotError, StoreError
from nanobot.memory.episodes.consolidator import Archiving, Consolidator
from nanobot.memory.prompt import past_section
from nanobot.ports import Clock, Episode, Episodes
from nanobot.text import parse_time
from nanobot.tokens import TokenEstimator
from nanobot.transcript import Message

# Episodes in the prompt.


ROOM = 2_000
"""Tokens at most."""

SHARE = 0.1
"""Of the context window at most."""

OWN, OTHERS = 8, 12

log = logging.getLogger(__name__)

_Key = tuple[str, Scope, int | None, str, float]


class EpisodeContext:
    """The same text while the conversation's window stands still and nothing of it is archived.

    So the requests of a conversation stay prefixes of one another; other conversations' newer episodes wait
    until then. Of a conversation for which nothing has fixed it yet, it is as when its first message was said.
    """

    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes
        self._tokens = TokenEstimator()  # one that learns nothing always counts the same
        self._texts: OrderedDict[_Key, tuple[str, Origin | None]] = OrderedDict()
        self._shown: OrderedDict[str, Origin | None] = OrderedDict()  # by session, what its prompt told of last

    def clear(self) -> None:
        """Look again: what episodes say has changed."""
        self._texts.clear()

    def origin(self, session: str) -> Origin | None:
        """The least trusted origin of what the prompt of a session told of last; None if that was nothing."""
        return self._shown.get(session)

    async def newest(self) -> int:
        """The number of the newest episode there is."""
        return await self._episodes.last()

    async def section(self, conversation: Conversation, scope: Scope, window: int) -> str:
        """The section of the prompt for a model with this context window, in tokens; "" if there is nothing."""
        text, self._shown[conversation.key] = await self._section(conversation, scope, window)
        self._shown.move_to_end(conversation.key)
        if len(self._shown) > MOST_OPEN:
            self._shown.popitem(last=False)
        return text

    async def _section(self, conversation: Conversation, scope: Scope, window: int) -> tuple[str, Origin | None]:
        first = conversation.first
        if first is None:
            return "", None
        room = min(ROOM, window * SHARE)
        key = (conversation.key, scope, conversation.episodes, first.id, room)
        if key not in self._texts:
            try:
                self._texts[key] = await self._find(conversation, scope, first, room)
            except StoreError as error:  # the conversation goes on without
                log.warning("%s", error)
                return "", None
            if len(self._texts) > MOST_OPEN:
                self._texts.popitem(last=False)
        return self._texts[key]

    async def _find(
        self, conversation: Conversation, scope: Scope, first: Message, room: float
    ) -> tuple[str, Origin | None]:
        through, in_view = conversation.episodes, conversation.in_view
        own = await self._episodes.of_session(conversation.key, OWN, through)
        others = await self._episodes.newest(scope, OTHERS + OWN, through)

        def is_shown(episode: Episode) -> bool:
            is_past = through is not None or _is_before(episode.timestamp, first.at)
            return episode.scope == scope and is_past and not in_view.issuperset(episode.messages)

        shown = [*filter(is_shown, own)], [*filter(is_shown, others)][:OTHERS]
        origins = [_origin(episode) for episode in (*shown[0], *shown[1]) if episode.shown]
        return past_section(*shown, self._size, room), least(*origins) if origins else None

    def _size(self, text: str) -> float:
        return self._tokens.size(Message(role="system", content=text))


def _origin(episode: Episode) -> Origin:
    """Of what a prompt shows of it: where others had a part in it, that is the people's own words alone."""
    return episode.origin if episode.own is None else Origin.OWNER


def _is_before(at: str, other: str) -> bool:
    one, two = parse_time(at), parse_time(other)
    return one is not None and two is not None and one <= two


# Archiving of a conversation.


WAIT = 30.0
"""Seconds that somebody waits for a summary: a turn, where the strategy wants it first, or who leaves the program."""

IN_VIEW = 2
"""Turns that stay in view when a person has the conversation archived."""


@dataclass(frozen=True, slots=True)
class WindowArchive:
    """Moves windows, and has what leaves them archived.

    The window moves at once and the summary follows in the background, so that nobody waits for it;
    `summary_first` waits for it, if not for ever.
    """

    consolidator: Consolidator
    episode_context: EpisodeContext
    background: BackgroundSlot
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
        left = await conversation.make_room(room, tokens, await self.episode_context.newest())
        if left:
            self.consolidator.left_view(conversation.key, left)

    async def compact(self, conversation: Conversation) -> Archiving:
        """Archive all that is over, now; of what is archived, only the last turns stay in view. Raises StoreError."""
        done = await self.consolidator.archive(conversation.key, conversation.finished)
        if done.is_whole:
            await conversation.keep_last(IN_VIEW, await self.episode_context.newest())
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
        """The same for every session. Raises StoreError if these cannot be listed."""
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
        """Archive within WAIT seconds, or give up for now; no model is asked while it is left alone."""
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
