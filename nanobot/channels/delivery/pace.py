"""How fast a platform may be asked."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so many requests within any so many seconds."""

    requests: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What a platform allows, a little below its own limits.

    `every` is the least number of seconds between two requests of lesser weight (previews, their edits, typing)
    in one chat. Chats whose id begins with `group_prefix` are groups, where `group` and `every_in_group` hold.
    """

    chat: Sequence[Rate]
    bot: Sequence[Rate]
    every: float
    group: Sequence[Rate] = ()
    every_in_group: float = 0.0
    group_prefix: str | None = None

    def of(self, chat: str) -> tuple[Sequence[Rate], float]:
        """The rates of a chat, and the seconds between its previews."""
        if self.group_prefix is not None and chat.startswith(self.group_prefix):
            return self.group, self.every_in_group
        return self.chat, self.every


TELEGRAM = Pace(
    chat=(Rate(5, 4.0),),
    bot=(Rate(25, 1.0),),
    every=1.1,
    group=(Rate(5, 4.0), Rate(20, 60.0)),
    every_in_group=4.0,
    group_prefix="-",
)
"""One message a second in a chat, thirty in all, twenty a minute in a group: "My bot is hitting limits" in the
Bot FAQ of Telegram. Short bursts are tolerated. Groups have negative ids. Previews leave room for an answer."""

DISCORD = Pace(chat=(Rate(5, 5.0),), bot=(Rate(40, 1.0),), every=1.5)
"""Five messages in five seconds in a channel, fifty requests a second in all: "Rate Limits" in Discord's manual;
what else it asks for comes as a FloodError."""
