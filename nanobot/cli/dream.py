"""`nanobot dream`: go through what was said lately, now; and what came of it before."""

import argparse
import asyncio
from functools import partial

import msgspec

from nanobot import __version__
from nanobot.app.bot import alone
from nanobot.cli.memory import add_history
from nanobot.cli.settings import config_of, home_of, language_here
from nanobot.cli.telling import tell
from nanobot.commands.memory import dream_at_shell
from nanobot.config import Config
from nanobot.core.commands import CommandAnswer
from nanobot.ops.socket import NoGatewayError, ask
from nanobot.store.lock import InUseError
from nanobot.workspace import Workspace


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the family."""
    parser.description = (
        "Go through what was said since the last time, and change what is remembered. The bot does it "
        "by itself while it runs (memory.dream.every in the configuration). log, restore and undo "
        "are as in `nanobot memory`."
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND")
    running = actions.add_parser("run", help="do it now; the same as `nanobot dream`")
    for each in (parser, running):
        each.set_defaults(func=run)
    add_history(actions, "dream")


def run(args: argparse.Namespace) -> int:
    """Dream, and print what changed; 1 if it did not work."""

    config = config_of(args)
    answer = asyncio.run(_dream(config, args))
    tell(answer.text, failed=answer.failed)
    return 1 if answer.failed else 0


async def _dream(config: Config, args: argparse.Namespace) -> CommandAnswer:
    """Have the running gateway do it, or do it here if none runs. Raises WorkspaceError if neither works."""

    language = language_here(config.language)
    try:
        told = await ask(Workspace(config.workspace), __version__, "dream", [language], partial(tell, failed=True))
    except NoGatewayError:
        try:
            async with alone(config, home_of(args), language, partial(tell, failed=True)) as bot:
                return await dream_at_shell(
                    bot.keep.dream, bot.keep.archive.all_now, language, partial(tell, failed=True)
                )
        except InUseError as error:
            raise error.or_typed("/dream") from None
    return msgspec.convert(told, CommandAnswer)
