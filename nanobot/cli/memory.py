"""`nanobot memory`: what is remembered, why, and how to take changes of it back."""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from nanobot.cli.forget import add_forget
from nanobot.cli.settings import config_of, home_of, language_here
from nanobot.cli.telling import tell

if TYPE_CHECKING:  # nothing of it is needed for `nanobot --help`
    from collections.abc import Sequence

    from nanobot.commands.memory_shell import ShellAnswer
    from nanobot.config import Config

_READING = ("show", "why", "log")


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the family to the command line."""
    parser = commands.add_parser(
        "memory",
        help="show what is remembered and why, and take changes back",
        description="What the bot remembers: the files, where each line comes from, every change, and going back.",
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND")

    showing = actions.add_parser("show", help="print what is remembered, or all of one file")
    showing.add_argument("words", metavar="NAME", nargs="*", help="the name or the number of a file")
    showing.add_argument("--all", action="store_true", help="all of it, uncut")

    asking = actions.add_parser("why", help="print where a line comes from: the words that were said")
    asking.add_argument("words", metavar="WORDS", nargs="+", help="some of the line's words")
    _finish(showing, "show")
    _finish(asking, "why")
    add_history(actions, "memory")
    add_forget(actions)


def add_history(actions: "argparse._SubParsersAction[argparse.ArgumentParser]", family: str) -> None:
    """Add log, restore and undo to a family."""
    logging = actions.add_parser("log", help="print the latest changes, or one of them with its diff")
    logging.add_argument("words", metavar="N|ID", nargs="?", help="how many, or which one")
    restoring = actions.add_parser("restore", help="go back to before a change; without one, list them")
    restoring.add_argument("words", metavar="ID", nargs="?", help=f"as `nanobot {family} log` prints it")
    undoing = actions.add_parser("undo", help="undo one change, and keep all that came later")
    undoing.add_argument("words", metavar="ID", help=f"as `nanobot {family} log` prints it")
    for parser, action in ((logging, "log"), (restoring, "restore"), (undoing, "undo")):
        _finish(parser, action, family)


def _finish(parser: argparse.ArgumentParser, action: str, family: str = "memory") -> None:
    parser.add_argument(
        "--scope", default="owner", help="whose memory: owner (default), person:CHANNEL-ID or group:CHANNEL-ID"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(func=run, action=action, family=family)


def run(args: argparse.Namespace) -> int:
    """Do it, and print what came of it; 1 if it could not be done."""
    import asyncio
    import json

    config = config_of(args)
    words = [args.words] if isinstance(args.words, str) else args.words or []
    if args.action == "show" and args.all:
        words = ["--all"]
    asked = [language_here(config.language), args.scope, f"{args.family} {args.action}", *words]
    answer = asyncio.run(_ask(config, args, asked))
    if args.json:
        print(json.dumps(answer.data, ensure_ascii=False, indent=2))
    else:
        tell(answer.text, failed=answer.failed)
    return 1 if answer.failed else 0


async def _ask(config: "Config", args: argparse.Namespace, words: "Sequence[str]") -> "ShellAnswer":
    """Have the running gateway do it, or do it here if none runs. Raises WorkspaceError if neither works."""
    import msgspec

    from nanobot import __version__
    from nanobot.commands.memory_shell import ShellAnswer
    from nanobot.ops.control import ask
    from nanobot.ops.socket.client import NoGatewayError
    from nanobot.workspace import Workspace

    try:
        told = await ask(Workspace(config.workspace), __version__, "memory", words)
    except NoGatewayError:
        return await _here(config, args, words)
    return msgspec.convert(told, ShellAnswer)


async def _here(config: "Config", args: argparse.Namespace, words: "Sequence[str]") -> "ShellAnswer":
    """Do it alone or, if it only reads, beside another process. Raises WorkspaceError if neither works."""
    from nanobot.app.alone import alone, beside
    from nanobot.errors import DiskFullError
    from nanobot.store.lock import InUseError

    try:
        async with alone(config, home_of(args), language_here(config.language), partial(tell, failed=True)) as bot:
            return await bot.shell.do(words)
    except InUseError as error:
        if args.action not in _READING and args.words:
            own = f"/dream-{args.action} {args.words}" if args.scope == "owner" else ""
            raise error.or_typed(own) from None
    except DiskFullError:
        if args.action not in _READING:
            raise
    async with beside(config, home_of(args)) as bot:
        return await bot.shell.do(words)
