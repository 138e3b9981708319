"""Discord: people there talk with the bot. The channel itself is in channel.py."""

from nanobot import __version__
from nanobot.channels.discord.settings import NAME, PACE, DiscordSettings
from nanobot.channels.registry import ChannelServices, ChannelType, ChatChannel
from nanobot.ports.gateway import BotAccount


def _build(settings: DiscordSettings, services: ChannelServices) -> ChatChannel:
    from nanobot.channels.discord.channel import DiscordChannel  # the SDK, for those who use it

    return DiscordChannel(settings, services)


def _account(settings: DiscordSettings) -> BotAccount:
    base = settings.api_base.rstrip("/")
    return BotAccount(
        name=NAME,
        base=base,
        url=f"{base}/users/@me",
        headers={
            "Authorization": f"Bot {settings.token}",
            "User-Agent": f"DiscordBot (https://github.com/nanobot, {__version__})",  # others are turned away
        },
        refused="doctor.discord_token",
    )


DISCORD = ChannelType(
    name=NAME,
    title="Discord",
    settings=DiscordSettings,
    build=_build,
    pace=PACE,
    mode=lambda _: "gateway",
    account=_account,
)
