"""`nanobot memory forget`: show what would go, ask, and erase it everywhere."""

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from nanobot.cli.settings import config_of, home_of, language_here
from nanobot.cli.telling import tell

if TYPE_CHECKING:  # nothing of it is needed for `nanobot --help`
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from nanobot.commands.forget import Asked
    from nanobot.config import Config
    from nanobot.i18n import Language

    Do = Callable[[Sequence[str]], Awaitable[Asked]]


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
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Show, ask, erase; 1 if nothing was erased, or not all."""
    import asyncio

    config = config_of(args)
    words = ["show", *(f'"{word}"' if " " in word and len(args.words) > 1 else word for word in args.words)]
    return asyncio.run(_run(config, args, words))


async def _run(config: "Config", args: argparse.Namespace, words: "Sequence[str]") -> int:
    from nanobot.commands.forget import EVERY_SCOPE

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


def _refused(args: argparse.Namespace, asked: "Asked", language: "Language") -> str:
    """Ask, or take what a program answers; what to say if nobody agrees, "" if somebody does."""
    from nanobot.i18n import say
    from nanobot.i18n.consent import consent

    if sys.stdin is not None and sys.stdin.isatty():
        question = say("forget.shell_number" if asked.number else "forget.shell_ask", language, number=asked.number)
        print(question, end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip() if sys.stdin is not None else ""
    if answer == str(asked.number) if asked.number else consent(answer):
        return ""
    return say("forget.kept", language) if answer else say("forget.shell_run", language, command=_without_asking(args))


def _without_asking(args: argparse.Namespace) -> str:
    import shlex

    given = ("workspace", "config", "scope")
    options = [part for name in given if (value := getattr(args, name)) for part in (f"--{name}", str(value))]
    return shlex.join(["nanobot", "memory", "forget", "--yes", *options, *args.words])


def _opened(config: "Config", args: argparse.Namespace) -> "AbstractAsyncContextManager[Do]":
    """The gateway that runs, or this process alone. Raises WorkspaceError if neither works."""
    from contextlib import asynccontextmanager

    import msgspec

    from nanobot import __version__
    from nanobot.commands.forget import Asked
    from nanobot.ops.control import ask
    from nanobot.ops.socket.client import NoGatewayError
    from nanobot.workspace import Workspace

    async def by_gateway(words: "Sequence[str]") -> Asked:
        return msgspec.convert(await ask(Workspace(config.workspace), __version__, "forget", words), Asked)

    @asynccontextmanager
    async def opened() -> "AsyncIterator[Do]":
        from nanobot.app.alone import alone
        from nanobot.commands.forget import forget_at_shell
        from nanobot.store.lock import InUseError

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
