"""`nanobot gateway`: the bot on Telegram and Discord, and for every `nanobot chat`."""

import argparse
import asyncio
import signal
from contextlib import suppress

from nanobot.app.gateway import EndRequest, serve
from nanobot.app.plugins import has_channels
from nanobot.cli.settings import config_path_of, home_of, language_here, loaded_of, starting_words
from nanobot.cli.telling import tell
from nanobot.config import Config
from nanobot.errors import ConfigError, WorkspaceError
from nanobot.i18n import Language
from nanobot.store.lock import InUseError
from nanobot.workspace import Home

_BY_SIGNAL = 128  # and its number, as shells have it


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the family."""
    parser.description = (
        "Serve the chat platforms that are configured. SIGTERM or Ctrl-C lets what runs finish "
        "(gateway.drain), a second one ends at once. Meanwhile `nanobot chat` joins the same bot. Exit codes: "
        "0 told to stop, 1 it could not go on, 2 a mistake in the configuration, 130 or 143 told to stop at once."
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop."""
    loaded = loaded_of(args)
    config = loaded.config

    if not has_channels(config):
        raise ConfigError(
            f"There is nothing to serve: {config_path_of(args)} names no chat platform. For Telegram, talk to "
            "@BotFather, then write\n\n  telegram:\n    token: <what BotFather gave you>\n\n(docs/deploy.md goes "
            "through it, for Discord, too.) To talk right here, run: nanobot chat"
        )

    for line in starting_words(args, loaded):
        _tell(line)
    return asyncio.run(_serve(config, home_of(args), language_here(config.language)))


async def _serve(config: Config, home: Home, language: Language) -> int:

    ending, loop, received = EndRequest(), asyncio.get_running_loop(), list[int]()

    def end(number: int) -> None:
        received.append(number)
        (ending.at_once if ending.asked.is_set() else ending.asked).set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            loop.add_signal_handler(number, end, number)
    try:
        await serve(config, home, language, _tell, ending)
    except InUseError as error:
        if error.holder and error.holder.serves:
            raise WorkspaceError(
                f"A gateway serves the workspace {config.workspace} already: {error.holder}. `nanobot status` says how "
                f"it is; `kill {error.holder.pid}` stops it."
            ) from None
        raise
    return _BY_SIGNAL + received[-1] if ending.at_once.is_set() else 0


def _tell(line: str) -> None:
    with suppress(OSError):  # whoever started it has stopped reading; that is no reason to end
        tell(line)
