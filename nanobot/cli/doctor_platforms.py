"""What `nanobot doctor` looks at of the chat platforms: each bot's token, and the gateway that serves them."""

import argparse
from typing import TYPE_CHECKING

from nanobot.cli.settings import config_of
from nanobot.errors import ConfigError, NanobotError

if TYPE_CHECKING:  # nothing of it is needed for `nanobot --help`
    from collections.abc import Callable, Iterator

    from nanobot.config import Config
    from nanobot.i18n import Language
    from nanobot.ops.checks.platforms import Account
    from nanobot.ops.doctor import Check, Finding
    from nanobot.ports.gateway import GatewayState


def platform_checks(args: argparse.Namespace, language: "Language") -> "list[Check]":
    """One for each platform that is configured, and one for the gateway; none if the configuration cannot be used."""
    from nanobot.ops.doctor import Check

    try:
        config = config_of(args)
    except ConfigError:
        return []
    accounts = _accounts(config)
    return [
        *(Check(f"doctor.{name}", _looking(account, language)) for name, account in accounts.items()),
        Check("doctor.gateway", lambda: _look_at_gateway(config, language)),
    ]


def _accounts(config: "Config") -> "dict[str, Callable[[], Account]]":
    """The bots by their platforms. To make one raises ConfigError if the token's variable is not set here."""
    from nanobot import __version__
    from nanobot.config import known
    from nanobot.ops.checks.platforms import Account

    accounts: dict[str, Callable[[], Account]] = {}
    if telegram := config.telegram:
        at = telegram.api_base.rstrip("/")
        accounts["telegram"] = lambda: Account(
            "telegram",
            at,
            f"{at}/bot{known(telegram.token)}/getMe",
            proxy=telegram.proxy,
            reads_environment=True,
        )
    if discord := config.discord:
        base = discord.api_base.rstrip("/")
        agent = f"DiscordBot (https://github.com/nanobot, {__version__})"  # others are turned away
        accounts["discord"] = lambda: Account(
            "discord",
            base,
            f"{base}/users/@me",
            {"Authorization": f"Bot {known(discord.token)}", "User-Agent": agent},
        )
    return accounts


def _looking(account: "Callable[[], Account]", language: "Language") -> "Callable[[], Iterator[Finding]]":
    from nanobot.channels.trouble import obstacle_of
    from nanobot.i18n import say
    from nanobot.ops.checks.platforms import platform
    from nanobot.ops.doctor import warning

    def look() -> "Iterator[Finding]":
        try:
            at = account()
        except ConfigError:
            yield warning("doctor.platform_unset")
        else:
            yield from platform(at, lambda error: say(f"trouble.{obstacle_of(error)}", language))

    return look


def _look_at_gateway(config: "Config", language: "Language") -> "Iterator[Finding]":
    import asyncio

    import msgspec

    from nanobot import __version__
    from nanobot.app.plugins import has_channels
    from nanobot.ops.control import ask
    from nanobot.ops.doctor import ok, problem, warning
    from nanobot.ops.socket.client import NoGatewayError
    from nanobot.ports.gateway import GatewayState
    from nanobot.workspace import Workspace

    try:
        told = asyncio.run(ask(Workspace(config.workspace), __version__, "status"))
    except NoGatewayError:
        is_wanted = config.telegram or config.discord or has_channels(config.plugins)
        yield warning("doctor.gateway_none") if is_wanted else ok("doctor.gateway_unneeded")
    except NanobotError as error:
        yield problem("doctor.gateway_deaf", error=error)
    else:
        yield from _judge(msgspec.convert(told, GatewayState), language)


def _judge(state: "GatewayState", language: "Language") -> "Iterator[Finding]":
    from nanobot.channels.terminal.clean import printable
    from nanobot.commands.gateway import channel_line
    from nanobot.ops.doctor import ok, problem, warning

    red = [channel for channel in state.channels if channel.is_red]
    for channel in red:
        yield problem("doctor.gateway_red", said=printable(channel_line(channel, language)))
    if troubles := len(state.backlog.troubles):
        yield warning("doctor.gateway_troubles", count=troubles)
    if not red:
        up = [channel.name for channel in state.channels if channel.state == "up"]
        yield ok("doctor.gateway_ok", pid=state.pid, at=f"{state.started:%Y-%m-%d %H:%M}", up=", ".join(up) or "-")
