"""Who may have what forgotten."""

from collections.abc import Callable
from dataclasses import dataclass

from nanobot.authority import Authority, Scope, may_touch
from nanobot.memory.forget.wish import Wish

PersonScope = Callable[[str, str], Scope]
"""Whose memory somebody's is, by channel and id."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The scopes that are reached, by name; None: everybody's, which only the shell of the machine may."""

    scopes: frozenset[str] | None = None

    def __call__(self, scope: str) -> bool:
        return self.scopes is None or scope in self.scopes


EVERYBODY = Reach()


def reach_of(authority: Authority) -> Reach:
    """That of somebody who talks to the bot: the scope they speak in, and no other."""
    own = authority.scope
    return Reach(frozenset({own.name}) if may_touch(authority, own) else frozenset())


def reach_for(wish: Wish, reach: Reach, person_scope: PersonScope) -> Reach:
    """Of a person all goes that is theirs; what they said in groups goes only for somebody who reaches those."""
    if wish.kind != "person" or reach.scopes is None:
        return reach
    channel, _, user = wish.value.partition(":")
    return Reach(reach.scopes & {person_scope(channel, user).name})
