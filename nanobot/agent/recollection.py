"""Which earlier conversations the prompt of a conversation tells of."""

import logging
from collections import OrderedDict
from datetime import datetime

from nanobot.agent.conversation import KEPT, Conversation
from nanobot.authority import Origin, Scope, least
from nanobot.errors import StoreError
from nanobot.memory.past_section import past_section
from nanobot.ports import Episode, Episodes
from nanobot.tokens import TokenEstimator
from nanobot.transcript import Message

ROOM = 2_000
"""Tokens at most."""

SHARE = 0.1
"""Of the context window at most."""

OWN, OTHERS = 8, 12

log = logging.getLogger(__name__)

_Key = tuple[str, Scope, int | None, str, float]


class Recollection:
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

    async def of(self, conversation: Conversation, scope: Scope, window: int) -> str:
        """The section of the prompt for a model with this context window, in tokens; "" if there is nothing."""
        text, self._shown[conversation.key] = await self._of(conversation, scope, window)
        self._shown.move_to_end(conversation.key)
        if len(self._shown) > KEPT:
            self._shown.popitem(last=False)
        return text

    async def _of(self, conversation: Conversation, scope: Scope, window: int) -> tuple[str, Origin | None]:
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
            if len(self._texts) > KEPT:
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

        told = [*filter(is_shown, own)], [*filter(is_shown, others)][:OTHERS]
        origins = [_origin(episode) for episode in (*told[0], *told[1]) if episode.shown]
        return past_section(*told, self._size, room), least(*origins) if origins else None

    def _size(self, text: str) -> float:
        return self._tokens.size(Message(role="system", content=text))


def _origin(episode: Episode) -> Origin:
    """Of what a prompt shows of it: where others had a part in it, that is the people's own words alone."""
    return episode.origin if episode.own is None else Origin.OWNER


def _is_before(at: str, other: str) -> bool:
    try:
        return datetime.fromisoformat(at).astimezone() <= datetime.fromisoformat(other).astimezone()
    except ValueError:
        return False
