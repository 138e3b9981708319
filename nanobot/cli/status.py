"""`nanobot status`: how the running gateway is doing."""

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from nanobot import __version__
from nanobot.cli.settings import config_of, home_of, language_here
from nanobot.cli.telling import tell
from nanobot.commands.admin import asked_at_shell, gateway_lines
from nanobot.config import Config
from nanobot.i18n import Language, say
from nanobot.ops.socket import NoGatewayError, ask
from nanobot.ports.gateway import GatewayState
from nanobot.workspace import Workspace

NOT_WELL = 1


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the family."""
    parser.description = (
        "Ask the running gateway how it is doing, and how its memory is. Exit codes: 0 all is well, 1 a "
        "channel is down, or no gateway runs (then you hear of its memory only)."
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="for programs")
    how.add_argument("-q", "--quiet", action="store_true", help="print nothing: the exit code says it")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print it; 1 unless all is well."""

    config = config_of(args)
    language = language_here(config.language)
    try:
        told = _ask(config.workspace, [] if args.quiet else [language])
    except NoGatewayError:
        none = say("gateway.none", language, workspace=config.workspace)
        if not args.quiet:
            tell(none, failed=True)
        memory = [] if args.quiet or not config.workspace.is_dir() else list(_about_memory(config, args, language))
        if args.json:
            print(json.dumps({"running": False, "error": none, "memory": memory}, ensure_ascii=False, indent=2))
        else:
            for line in memory:
                tell(line)
        return NOT_WELL
    state = msgspec.convert(told, GatewayState)
    if args.json:
        print(json.dumps({"running": True, **told}, ensure_ascii=False, indent=2))
    elif not args.quiet:
        for line in (*gateway_lines(state, language), *told["memory"]):
            tell(line)
    return NOT_WELL if any(channel.is_red for channel in state.channels) else 0


def _about_memory(config: Config, args: argparse.Namespace, language: Language) -> Sequence[str]:
    """Return the state of memory, read where no gateway reports it."""

    from nanobot.app.bot import beside

    async def lines() -> Sequence[str]:
        async with beside(config, home_of(args)) as bot:
            return await bot.about_memory(asked_at_shell(language))

    return asyncio.run(lines())


def _ask(root: Path, words: Sequence[str]) -> dict[str, Any]:

    told = asyncio.run(ask(Workspace(root), __version__, "status", words))
    return msgspec.convert(told, dict[str, object])
