"""`nanobot pair`: who may talk to the bot on chat platforms."""

import argparse
import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from zoneinfo import ZoneInfo

import msgspec

from nanobot import __version__
from nanobot.app.context import build_people, pairing_without_gateway
from nanobot.cli.settings import config_of, language_here
from nanobot.cli.telling import tell
from nanobot.commands.admin import PairingRequester
from nanobot.config import Config
from nanobot.core.commands import CommandAnswer
from nanobot.i18n import Language
from nanobot.ops.socket import NoGatewayError, ask
from nanobot.people.people import MACHINE
from nanobot.schedule.scheduler import SystemClock
from nanobot.store.lock import InUseError, WorkspaceLock
from nanobot.workspace import Workspace

_READING = ("list", "groups")


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the family."""
    parser.description = (
        "Whoever writes to the bot alone and is not known gets a code. Approving it lets them in; the "
        "first one that is approved, here on the machine, is the owner."
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND")

    listing = actions.add_parser("list", help="print who may talk, and the codes that wait")
    listing.set_defaults(func=run, words=lambda args: ["list"])

    approving = actions.add_parser("approve", help="let in whoever was given a code")
    approving.add_argument("code", metavar="CODE")
    approving.add_argument("--owner", action="store_true", help="as an owner: they share the owners' memory")
    approving.set_defaults(func=run, words=lambda args: ["approve", args.code, *(["--owner"] if args.owner else [])])

    denying = actions.add_parser("deny", help="make a code void; whoever has it gets no other for a day")
    denying.add_argument("code", metavar="CODE")
    denying.set_defaults(func=run, words=lambda args: ["deny", args.code])

    revoking = actions.add_parser("revoke", help="undo that somebody was let in")
    revoking.add_argument("who", metavar="CHANNEL:ID", help="as `nanobot pair list` prints it")
    revoking.set_defaults(func=run, words=lambda args: ["revoke", args.who])

    groups = actions.add_parser("groups", help="print the groups in which the bot answers")
    groups.set_defaults(func=run, words=lambda args: ["groups"])

    group = actions.add_parser("group", help="let a group in, set when the bot answers in it, or show it out")
    group.add_argument("group", metavar="CHANNEL:ID", help="a group, or a Discord server")
    group.add_argument("how", nargs="*", metavar="HOW", help="mention, reply (default), open, off, keep on, keep off")
    group.set_defaults(func=run, words=lambda args: ["group", args.group, *args.how])


def run(args: argparse.Namespace) -> int:
    """Do it, and print what came of it; 1 if it could not be done."""

    config = config_of(args)
    language = language_here(config.language)
    try:
        answer = asyncio.run(_by_gateway(config, args.words(args), language))
    except NoGatewayError:
        answer = _here(config, args.words(args), language)
    tell(answer.text, failed=answer.failed)
    return 1 if answer.failed else 0


async def _by_gateway(config: Config, words: Sequence[str], language: Language) -> CommandAnswer:
    """Have the running gateway do it. Raises NoGatewayError if none runs, WorkspaceError if it does not answer."""

    told = await ask(Workspace(config.workspace), __version__, "pair", [language, *words])
    return msgspec.convert(told, CommandAnswer)


def _here(config: Config, words: Sequence[str], language: Language) -> CommandAnswer:
    """Do it without a gateway. Raises WorkspaceError if another process has the workspace; to look, it may have it."""

    workspace = Workspace(config.workspace)
    clock = SystemClock(ZoneInfo(config.timezone) if config.timezone else None)
    try:
        with nullcontext() if words[0] in _READING else WorkspaceLock(workspace):
            pairing = pairing_without_gateway(build_people(config, workspace, clock), workspace, clock)
            return asyncio.run(pairing.do(words, PairingRequester(MACHINE, language, pair="nanobot pair")))
    except InUseError as error:
        raise error.or_typed(f"/pair {' '.join(words)}") from None
