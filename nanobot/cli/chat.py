"""`nanobot chat`: talk to the bot here, or ask it one thing."""

import argparse
import signal
import sys
from typing import TYPE_CHECKING

from nanobot.cli.settings import config_of, home_of, language_here

if TYPE_CHECKING:  # imported when they are needed: `nanobot --help` does without
    from collections.abc import Coroutine

    from nanobot.app import App
    from nanobot.i18n import Language
    from nanobot.messages import Address
    from nanobot.workspace import Home

_NOTHING_TO_ASK = 2
_BY_SIGNAL = 128  # and its number, as shells have it


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the family to the command line."""
    parser = commands.add_parser(
        "chat",
        help="talk to the bot here, or ask it one thing",
        description="Talk to the bot here. With -m, or with a text on standard input, it answers once on standard "
        "output; everything else goes to standard error. Exit codes: 0 answered, 1 the model failed, 2 a mistake in "
        "arguments or configuration, 130 interrupted.",
    )
    parser.add_argument("-m", "--message", metavar="TEXT", help="ask this, print the answer, and leave")
    parser.add_argument(
        "--session", metavar="NAME", default="default", type=_session, help="the conversation (default: %(default)s)"
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Talk until the person leaves, or answer once."""
    config = config_of(args)
    text = args.message
    if text is None and not (sys.stdin and sys.stdin.isatty()):
        text = _standard_input()
    if text is not None and not text.strip():
        print('nanobot: there is nothing to ask; write nanobot chat -m "your question"', file=sys.stderr)
        return _NOTHING_TO_ASK
    import asyncio

    from nanobot.app import build
    from nanobot.channels.terminal.person import at

    app = build(config, home_of(args), language_here(config.language))
    if text is None:
        return asyncio.run(_converse(app, at(args.session), home_of(args)))
    return asyncio.run(_until_told_to_end(_ask(app, at(args.session), text)))


async def _converse(app: "App", address: "Address", home: "Home") -> int:
    from nanobot.channels.terminal.terminal import Terminal

    def language() -> "Language":
        return app.language(address)

    commands = [(command.name, command.help(language())) for command in app.commands]
    await app.run(Terminal(address, home.terminal_history, commands, app.greeting(address), language), address)
    return 0


async def _ask(app: "App", address: "Address", text: str) -> int:
    from nanobot.channels.terminal.clean import typed
    from nanobot.channels.terminal.oneshot import OneShot, remark

    if app.is_demo(address):
        remark(app.greeting(address))
    channel = OneShot(address, typed(text), lambda: app.language(address))
    await app.run(channel, address, warm=False)
    return 0 if channel.report() else 1


async def _until_told_to_end(work: "Coroutine[None, None, int]") -> int:
    """Do the work; a signal to end cancels it, so that it leaves nothing behind, however often it comes."""
    import asyncio

    loop, task, received = asyncio.get_running_loop(), asyncio.ensure_future(work), list[int]()

    def end(number: int) -> None:
        received.append(number)
        task.cancel()

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heard = [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]  # as nohup has one
    for number in heard:
        loop.add_signal_handler(number, end, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        return _BY_SIGNAL + received[0]
    finally:
        for number in heard:
            loop.remove_signal_handler(number)


def _standard_input() -> str:
    """All that is piped in."""
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace") if sys.stdin else ""


def _session(name: str) -> str:
    if not name.strip():
        raise argparse.ArgumentTypeError("a conversation needs a name")
    return name
