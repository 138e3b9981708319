"""`nanobot status`: how the running gateway is doing."""

import argparse
import json

from nanobot.cli.settings import config_of, language_here


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the family to the command line."""
    parser = commands.add_parser(
        "status",
        help="say how the running gateway is doing",
        description="Ask the running gateway how it is doing. Exit codes: 0 all is well, 1 a channel is down, or no "
        "gateway runs.",
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print it; 1 unless all is well."""
    import asyncio

    import msgspec

    from nanobot import __version__
    from nanobot.channels.terminal.clean import printable
    from nanobot.commands.gateway import gateway_lines
    from nanobot.ops.control import ask
    from nanobot.ports.gateway import GatewayState
    from nanobot.workspace import Workspace

    config = config_of(args)
    told = asyncio.run(ask(Workspace(config.workspace), __version__, "status"))
    state = msgspec.convert(told, GatewayState)
    if args.json:
        print(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        for line in gateway_lines(state, language_here(config.language)):
            print(printable(line))
    return 1 if any(channel.is_red for channel in state.channels) else 0
