"""From logging in to Discord until something ends it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import aiohttp
import discord

from nanobot.channels.discord.client import Client
from nanobot.channels.discord.hearing import Hearing
from nanobot.channels.discord.settings import MenuCommand
from nanobot.channels.discord.slash import Interactions
from nanobot.channels.platform import RefusedTokenError, UnreachableError
from nanobot.errors import NanobotError
from nanobot.ports import Publish

_PORTAL = "https://discord.com/developers/applications"
_TOKEN = (
    f"Discord does not know this bot's token. Open {_PORTAL}, choose the bot, then Bot and Reset Token, "
    "and put the new one where discord.token takes it from."
)
_INTENTS = (
    f"Discord does not let this bot read messages. Open {_PORTAL}, choose the bot, then Bot, and switch on "
    '"Message Content Intent" under Privileged Gateway Intents. I try again by myself.'
)
_UNKNOWN_TOKEN = 4004  # the gateway's code
_LONGEST_REASON = 200
_GOOD_BYE = 5.0


class RefusedIntentsError(NanobotError):
    """The bot may not read messages before somebody allows it on Discord's page for developers."""


async def listen(
    client: Client, hearing: Hearing, interactions: Interactions, commands: Sequence[MenuCommand], publish: Publish
) -> None:
    """Log in and hear what is said, until cancelled.

    Raises RefusedTokenError, RefusedIntentsError, UnreachableError, or StoreError.
    """
    try:
        async with hearing.open(client, publish):
            try:
                await client.enter()
                await interactions.sync(str(client.application_id), commands)
                await client.connect()
            finally:
                with suppress(TimeoutError):  # a dead connection does not answer our good-bye
                    await asyncio.wait_for(client.close(), _GOOD_BYE)
    except ExceptionGroup as several:  # what ended the first one ended the others
        raise _explained(several.exceptions[0]) from several


def _explained(error: Exception) -> Exception:
    """What it means for whoever runs the bot; bugs stay as they are."""
    if isinstance(error, discord.LoginFailure) or _close_code(error) == _UNKNOWN_TOKEN:
        return RefusedTokenError(_TOKEN)
    if isinstance(error, discord.PrivilegedIntentsRequired):
        return RefusedIntentsError(_INTENTS)
    if isinstance(error, discord.DiscordException | aiohttp.ClientError | OSError):
        reason = str(error) or type(error).__name__
        return UnreachableError(f"Discord cannot be reached: {reason[:_LONGEST_REASON]}", may_have_arrived=False)
    return error


def _close_code(error: Exception) -> int | None:
    return error.code if isinstance(error, discord.ConnectionClosed) else None
