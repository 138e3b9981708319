"""What was said in a chat while the bot was away."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import discord

from nanobot.channels.discord.settings import CatchUp

log = logging.getLogger(__name__)

MOST_READ = 2000
"""Messages of a chat that are looked at, whoever wrote them: twenty requests."""


@dataclass(slots=True)
class Missed:
    """The messages of a chat after a certain one, the oldest first; `is_cut` if there may be more before them."""

    messages: list[discord.Message] = field(default_factory=list)
    is_cut: bool = False


async def missed(
    place: discord.abc.Messageable,
    since: int,
    bounds: CatchUp,
    now: datetime,
    is_heard: Callable[[discord.Message], bool],
) -> Missed:
    """Read back until the message `since`, the bounds, or MOST_READ; only what `is_heard` counts for the bounds.

    Raises discord.NotFound and discord.Forbidden if the chat cannot be read any more, other DiscordExceptions
    and OSError if it cannot be read now.
    """
    found, counted = Missed(), 0
    oldest = now - timedelta(seconds=bounds.age)
    async for message in place.history(limit=MOST_READ):
        if message.id <= since:
            break
        is_counted = is_heard(message)
        if message.created_at < oldest:
            found.is_cut = is_counted
            break
        if is_counted and counted == bounds.messages:
            found.is_cut = True
            break
        counted += is_counted
        found.messages.append(message)
    else:
        found.is_cut = len(found.messages) == MOST_READ
    found.messages.reverse()
    return found
