"""Which earlier conversations the prompt of a conversation tells of."""

import logging
from collections import OrderedDict
from datetime import datetime

from nanobot.agent.conversation import KEPT, Conversation
from nanobot.authority import Scope
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
        self._texts: OrderedDict[_Key, str] = OrderedDict()

    def clear(self) -> None:
        """Look again: what episodes say has changed."""
        self._texts.clear()

    async def newest(self) -> int:
        """The number of the newest episode there is."""
        return await self._episodes.last()

    async def of(self, conversation: Conversation, scope: Scope, window: int) -> str:
        """The section of the prompt for a model with this context window, in tokens; "" if there is nothing."""
        first = conversation.first
        if first is None:
            return ""
        room = min(ROOM, window * SHARE)
        key = (conversation.key, scope, conversation.episodes, first.id, room)
        if key not in self._texts:
            try:
                self._texts[key] = await self._find(conversation, scope, first, room)
            except StoreError as error:  # the conversation goes on without
                log.warning("%s", error)
                return ""
            if len(self._texts) > KEPT:
                self._texts.popitem(last=False)
        return self._texts[key]

    async def _find(self, conversation: Conversation, scope: Scope, first: Message, room: float) -> str:
        through, in_view = conversation.episodes, conversation.in_view
        own = await self._episodes.of_session(conversation.key, OWN, through)
        others = await self._episodes.newest(scope, OTHERS + OWN, through)

        def is_shown(episode: Episode) -> bool:
            is_past = through is not None or _is_before(episode.timestamp, first.at)
            return episode.scope == scope and is_past and not in_view.issuperset(episode.messages)

        return past_section([*filter(is_shown, own)], [*filter(is_shown, others)][:OTHERS], self._size, room)

    def _size(self, text: str) -> float:
        return self._tokens.size(Message(role="system", content=text))


def _is_before(at: str, other: str) -> bool:
    try:
        return datetime.fromisoformat(at).astimezone() <= datetime.fromisoformat(other).astimezone()
    except ValueError:
        return False
