"""Telegram as a place to talk: what people write there comes in, what the bot says goes out."""

from nanobot.channels.registry import ChannelServices, ChannelType, ChatChannel
from nanobot.channels.telegram.settings import NAME, PACE, TelegramSettings, held_message
from nanobot.ports.gateway import BotAccount


def _build(settings: TelegramSettings, services: ChannelServices) -> ChatChannel:
    from nanobot.channels.telegram.channel import TelegramChannel  # the SDK, for those who use it

    return TelegramChannel(settings, services)


def _account(settings: TelegramSettings) -> BotAccount:
    base = settings.api_base.rstrip("/")
    return BotAccount(
        name=NAME,
        base=base,
        url=f"{base}/bot{settings.token}/getMe",
        proxy=settings.proxy,
        reads_environment=True,
        refusals=(401, 404),  # 404 for what has not the form of a token
        refused="doctor.telegram_token",
    )


TELEGRAM = ChannelType(
    name=NAME,
    title="Telegram",
    settings=TelegramSettings,
    build=_build,
    pace=PACE,
    mode=lambda settings: "webhook" if settings.webhook else "polling",
    account=_account,
    held_message=held_message,
)
