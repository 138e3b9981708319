"""What was said in a chat while the bot was away."""

import logging
from datetime import datetime, timedelta

import discord

from nanobot.channels.discord.settings import CatchUp

log = logging.getLogger(__name__)


async def missed(
    client: discord.Client, channel: str, since: int, bounds: CatchUp, now: datetime
) -> list[discord.Message]:
    """The messages of a chat after this one, the oldest first, within the bounds.

    Raises discord.NotFound and discord.Forbidden if the chat cannot be read any more, other DiscordExceptions
    and OSError if it cannot be read now.
    """
    place = client.get_channel(int(channel)) or await client.fetch_channel(int(channel))
    if not bounds.messages or not isinstance(place, discord.abc.Messageable):
        return []
    oldest, found = now - timedelta(seconds=bounds.age), []
    async for message in place.history(limit=bounds.messages):
        if message.id <= since:
            break
        if message.created_at < oldest:
            log.warning("discord: chat %s: what is older than %.0f s is not read", channel, bounds.age)
            break
        found.append(message)
    else:
        if len(found) == bounds.messages:
            log.warning("discord: chat %s: only the last %d messages are read", channel, bounds.messages)
    return found[::-1]
