"""Who may have what forgotten."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nanobot.authority import Authority, Scope, may_touch
from nanobot.memory.forget.wish import Wish


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody, wherever they talk: each channel with their id there, and the memories that are theirs, by name."""

    ids: Sequence[tuple[str, str]]
    scopes: frozenset[str]

    @property
    def is_owner(self) -> bool:
        """Whether their memory is the one that all owners share."""
        return Scope.OWNER_NAME in self.scopes


WhoIs = Callable[[str, str], Person]
"""Who somebody is, by channel and id: one who is linked is one person with all of their ids."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The scopes that are reached, by name; None: everybody's, which only the shell of the machine may."""

    scopes: frozenset[str] | None = None

    def __call__(self, scope: str) -> bool:
        return self.scopes is None or scope in self.scopes


EVERYBODY = Reach()


def reach_of(authority: Authority, who: Person) -> Reach:
    """That of somebody who talks to the bot: the scope they speak in, and no other.

    Whoever speaks in a memory of their own reaches what was kept for them before they were linked, too.
    """
    own = authority.scope
    if not may_touch(authority, own):
        return Reach(frozenset())
    return Reach(who.scopes if own.name in who.scopes else frozenset({own.name}))


def reach_for(wish: Wish, reach: Reach, who_is: WhoIs) -> Reach:
    """Of a person all goes that is theirs; what they said in groups goes only for somebody who reaches those."""
    if wish.kind != "person" or reach.scopes is None:
        return reach
    channel, _, user = wish.value.partition(":")
    return Reach(reach.scopes & who_is(channel, user).scopes)
