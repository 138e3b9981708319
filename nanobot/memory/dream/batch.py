"""The episodes that are read at once, and what they were made of."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from nanobot.authority import Scope
from nanobot.errors import StoreError
from nanobot.memory.dream.evidence import Witnesses
from nanobot.memory.dream.limits import Limits
from nanobot.memory.proposals import Proposals
from nanobot.ports import DreamBook, Episode, Episodes, SessionStore, VersionStore
from nanobot.transcript import Message, Span

CALLS_PER_SCOPE = 2
"""The question, and what is told once about the answer."""

LEAST_TOKENS = 6000
"""Of one call; where a run may spend less on each, fewer scopes are asked about."""


@dataclass(frozen=True, slots=True)
class Stores:
    """Where everything is that Dream reads and writes."""

    episodes: Episodes
    sessions: SessionStore
    versions: VersionStore
    book: DreamBook
    proposals: Proposals


@dataclass(frozen=True)
class Batch:
    """A contiguous piece of history behind the cursor, or an episode once more that was given up.

    All through `taken_in` was taken in before.
    """

    episodes: Sequence[Episode]
    witnesses: Mapping[Scope, Witnesses]
    taken_in: int = 0

    @property
    def first(self) -> int:
        return self.episodes[0].cursor

    @property
    def last(self) -> int:
        return self.episodes[-1].cursor

    @property
    def through(self) -> int:
        """All through this episode is taken in when it has landed."""
        return max(self.last, self.taken_in)

    @property
    def is_again(self) -> bool:
        """Whether it was given up before."""
        return self.last <= self.taken_in

    @property
    def scopes(self) -> Sequence[Scope]:
        """In the order in which they come up."""
        return list(dict.fromkeys(episode.scope for episode in self.episodes))

    def of(self, scope: Scope) -> Sequence[Episode]:
        return [episode for episode in self.episodes if episode.scope == scope]


async def next_batch(stores: Stores, cursor: int, limits: Limits, most: int) -> Batch:
    """At most so many episodes behind the cursor, of as many scopes as one run can ask about. Raises StoreError."""
    found = await stores.episodes.after(cursor, most)
    scopes_at_once = max(1, min(limits.steps, limits.tokens // LEAST_TOKENS) // CALLS_PER_SCOPE)
    return await _with_witnesses(stores, _few_scopes(found, scopes_at_once), cursor)


async def once_more(stores: Stores, cursor: int, taken_in: int) -> Batch:
    """An episode that was given up; nothing if it is there no more. Raises StoreError."""
    episode = await stores.episodes.get(cursor)
    return await _with_witnesses(stores, [episode] if episode else [], taken_in)


async def _with_witnesses(stores: Stores, episodes: Sequence[Episode], taken_in: int) -> Batch:
    spans: defaultdict[str, set[Span]] = defaultdict(set)
    for episode in episodes:
        spans[episode.session].add(episode.messages)
    sessions = {key: await _messages(stores.sessions, key, wanted) for key, wanted in spans.items()}
    scopes = {episode.scope for episode in episodes}
    return Batch(episodes, {scope: Witnesses(scope, episodes, sessions) for scope in scopes}, taken_in)


def _few_scopes(episodes: Sequence[Episode], most: int) -> Sequence[Episode]:
    """The first ones, up to where one more scope would come up than can be asked about."""
    seen: set[Scope] = set()
    for place, episode in enumerate(episodes):
        seen.add(episode.scope)
        if len(seen) > most:
            return episodes[:place]
    return episodes


async def _messages(sessions: SessionStore, key: str, spans: Collection[Span]) -> Sequence[Message]:
    """The messages of a session's episodes; none if it cannot be read, so that its episodes must do as evidence."""
    try:
        return await sessions.between(key, spans)
    except (StoreError, ValueError):
        return ()
