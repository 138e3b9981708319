"""`nanobot chat`: talk to the bot here, or ask it one thing."""

import argparse
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

from nanobot.cli.settings import home_of, idle_words, language_here, loaded_of
from nanobot.errors import WorkspaceError

if TYPE_CHECKING:  # imported when they are needed: `nanobot --help` does without
    from collections.abc import Awaitable, Callable, Coroutine

    from nanobot.app import App
    from nanobot.channels.socket.joined import Joined
    from nanobot.config import Config
    from nanobot.i18n import Language
    from nanobot.messages import Address
    from nanobot.workspace import Home

    Talk = Callable[[App | Joined, Address, Home], Awaitable[int]]

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
    loaded = loaded_of(args)
    config = loaded.config
    text = args.message
    if text is None and not (sys.stdin and sys.stdin.isatty()):
        text = _standard_input()
    if text is not None and not text.strip():
        print('nanobot: there is nothing to ask; write nanobot chat -m "your question"', file=sys.stderr)
        return _NOTHING_TO_ASK
    for line in idle_words(loaded):
        print(f"nanobot: {line}", file=sys.stderr)
    import asyncio

    from nanobot.channels.socket.desk import ONCE
    from nanobot.channels.terminal.person import at

    if text is None:
        return asyncio.run(_talk(args, config, at(args.session), _converse))
    return asyncio.run(_until_told_to_end(_talk(args, config, at(args.session), partial(_ask, text=text), ONCE)))


async def _talk(args: argparse.Namespace, config: "Config", address: "Address", how: "Talk", *words: str) -> int:
    """With the gateway that runs, or with the bot in this process."""
    from nanobot import __version__
    from nanobot.channels.socket.joined import Joined
    from nanobot.ops.socket.client import NoGatewayError, connected
    from nanobot.workspace import Workspace

    try:
        wire = await connected(Workspace(config.workspace), __version__, "attach", [address.chat, *words])
    except NoGatewayError:
        return await _talk_alone(args, config, address, how)
    try:
        return await how(await Joined.join(wire), address, home_of(args))
    finally:
        await wire.aclose()


async def _talk_alone(args: argparse.Namespace, config: "Config", address: "Address", how: "Talk") -> int:
    """With the bot in this process, which takes the workspace."""
    from nanobot.app import build
    from nanobot.store.lock import InUseError

    try:
        return await how(build(config, home_of(args), language_here(config.language)), address, home_of(args))
    except InUseError as error:
        if error.holder and error.holder.serves:
            raise WorkspaceError(
                f"A gateway has the workspace {config.workspace} ({error.holder}) and does not answer. If it is just "
                f"starting or stopping, try again in a moment; if it is stuck, `kill {error.holder.pid}` ends it."
            ) from None
        raise


async def _converse(bot: "App | Joined", address: "Address", home: "Home") -> int:
    from nanobot.channels.terminal.terminal import Terminal

    def language() -> "Language":
        return bot.language(address)

    terminal = Terminal(address, home.terminal_history, bot.menu(address), bot.greeting(address), language)
    await bot.run(terminal, address)
    return 0


async def _ask(bot: "App | Joined", address: "Address", _: "Home", *, text: str) -> int:
    from nanobot.channels.terminal.clean import typed
    from nanobot.channels.terminal.oneshot import OneShot, remark

    if bot.is_demo(address):
        remark(bot.greeting(address))
    channel = OneShot(address, typed(text), lambda: bot.language(address))
    await bot.run(channel, address, once=True)
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
