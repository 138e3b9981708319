"""`nanobot memory`: what is remembered and why, taking changes back, and forgetting."""

import argparse
import asyncio
import json
import shlex
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from nanobot import __version__
from nanobot.cli.settings import config_of, home_of, language_here
from nanobot.cli.telling import tell
from nanobot.commands.forget import EVERY_SCOPE, ForgetAnswer, forget_at_shell
from nanobot.commands.memory_shell import ShellAnswer
from nanobot.config import Config
from nanobot.errors import DiskFullError
from nanobot.i18n import Language, consent, say
from nanobot.ops.socket import NoGatewayError, ask
from nanobot.store.lock import InUseError
from nanobot.workspace import Workspace

if TYPE_CHECKING:
    Do = Callable[[Sequence[str]], Awaitable[ForgetAnswer]]


# `nanobot memory forget`: show what would go, ask, and erase it everywhere.


def add_forget(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand to the family."""
    parser = actions.add_parser(
        "forget",
        help="erase something for good, and everywhere",
        description="Show what would go and, with your yes, erase it everywhere: from conversations, summaries, memory "
        "with its history, the search index, files, queues and logs. Words must all stand in one line.",
    )
    parser.add_argument(
        "words",
        metavar="WHAT",
        nargs="+",
        help="words, or note:NAME, episode:NUMBER, session:KEY, person:CHANNEL:ID, since:YYYY-MM-DD",
    )
    parser.add_argument("--scope", default=None, help="whose memory only (default: everybody's)")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(func=run_forget)


def run_forget(args: argparse.Namespace) -> int:
    """Show, ask, erase; 1 if nothing was erased, or not all."""

    config = config_of(args)
    words = ["show", *(f'"{word}"' if " " in word and len(args.words) > 1 else word for word in args.words)]
    return asyncio.run(_run(config, args, words))


async def _run(config: Config, args: argparse.Namespace, words: Sequence[str]) -> int:

    language, scope = language_here(config.language), args.scope or EVERY_SCOPE
    async with _opened(config, args) as do:
        asked = await do([language, scope, *words])
        tell(asked.text, failed=asked.failed)
        if not asked.token:
            return 1
        if not args.yes and (refused := _refused(args, asked, language)):
            await do([language, scope, "no", asked.token])
            tell(refused, failed=True)
            return 1
        done = await do([language, scope, "yes", asked.token, str(asked.number or "")])
    tell(done.text, failed=done.failed)
    return 1 if done.failed else 0


def _refused(args: argparse.Namespace, asked: ForgetAnswer, language: Language) -> str:
    """Ask, or take what a program answers; what to say if nobody agrees, "" if somebody does."""

    if sys.stdin is not None and sys.stdin.isatty():
        question = say("forget.shell_number" if asked.number else "forget.shell_ask", language, number=asked.number)
        print(question, end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip() if sys.stdin is not None else ""
    if answer == str(asked.number) if asked.number else consent(answer):
        return ""
    return say("forget.kept", language) if answer else say("forget.shell_run", language, command=_without_asking(args))


def _without_asking(args: argparse.Namespace) -> str:

    given = ("workspace", "config", "scope")
    options = [part for name in given if (value := getattr(args, name)) for part in (f"--{name}", str(value))]
    return shlex.join(["nanobot", "memory", "forget", "--yes", *options, *args.words])


def _opened(config: Config, args: argparse.Namespace) -> "AbstractAsyncContextManager[Do]":
    """The gateway that runs, or this process alone. Raises WorkspaceError if neither works."""

    async def by_gateway(words: Sequence[str]) -> ForgetAnswer:
        return msgspec.convert(await ask(Workspace(config.workspace), __version__, "forget", words), ForgetAnswer)

    @asynccontextmanager
    async def opened() -> "AsyncIterator[Do]":
        from nanobot.app.bot import alone

        try:
            await ask(Workspace(config.workspace), __version__, "ready")
        except NoGatewayError:
            try:
                async with alone(
                    config, home_of(args), language_here(config.language), partial(tell, failed=True)
                ) as bot:
                    yield lambda words: forget_at_shell(bot.forgetting, words)
            except InUseError as error:
                raise error.or_typed("" if args.scope else f"/forget {' '.join(args.words)}") from None
        else:
            yield by_gateway

    return opened()


# `nanobot memory`: what is remembered, why, and how to take changes of it back.


_READING = ("show", "why", "log")


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the family."""
    parser.description = "What the bot remembers: the files, where each line comes from, every change, and going back."
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


async def _ask(config: Config, args: argparse.Namespace, words: Sequence[str]) -> ShellAnswer:
    """Have the running gateway do it, or do it here if none runs. Raises WorkspaceError if neither works."""

    try:
        told = await ask(Workspace(config.workspace), __version__, "memory", words)
    except NoGatewayError:
        return await _here(config, args, words)
    return msgspec.convert(told, ShellAnswer)


async def _here(config: Config, args: argparse.Namespace, words: Sequence[str]) -> ShellAnswer:
    """Do it alone or, if it only reads, beside another process. Raises WorkspaceError if neither works."""
    from nanobot.app.bot import alone, beside

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
