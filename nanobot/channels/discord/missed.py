"""What was said in a chat while the bot was away."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

import discord

from nanobot.channels.discord.settings import CatchUp

log = logging.getLogger(__name__)

MOST_READ = 2000
"""Messages of a chat that are looked at, whoever wrote them: twenty requests."""


Cut = Literal["", "count", "age", "crowd"]
"""Why what is older was not read: there was too much for the bot, it is too old, or too much of others."""


@dataclass(slots=True)
class Missed:
    """The messages of a chat after a certain one, the oldest first, and why there are no older ones."""

    messages: list[discord.Message] = field(default_factory=list)
    cut_by: Cut = ""


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
            found.cut_by = "age" if is_counted else ""
            break
        if is_counted and counted == bounds.messages:
            found.cut_by = "count"
            break
        counted += is_counted
        found.messages.append(message)
    else:
        found.cut_by = "crowd" if len(found.messages) == MOST_READ else ""
    found.messages.reverse()
    return found
