"""The `nanobot` command: one module per family of subcommands.

A family is a module with `add_to(parser)`, which adds its arguments and sets `func`, a function from the parsed
arguments to an exit code. Start-up is measured: only the family that is asked for is imported.
"""

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

from nanobot import __version__
from nanobot.cli.telling import tell, tell_error
from nanobot.errors import NO_ROOM, ConfigError, NanobotError, UsageError

_FAMILIES = {
    "chat": "talk to the bot here, or ask it one thing",
    "gateway": "serve Telegram and Discord until told to stop",
    "status": "say how the running gateway is doing",
    "pair": "let people and groups in, or show them out",
    "sessions": "list, show, search, export and delete conversations",
    "model": "list the models, fetch one, choose one",
    "config": "show, check and describe the configuration",
    "doctor": "look whether all is well, and say what to do if not",
    "recall": "search everything that was ever said or noted",
    "memory": "show what is remembered and why, and take changes back",
    "dream": "turn what was said lately into memory, now",
}
"""Name and help of each family; the module of that name is imported when it is asked for."""


USAGE = 2  # what argparse exits with; a configuration that cannot be used is the same kind of mistake
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
PIPE_CLOSED = 141  # 128 + SIGPIPE


class _Parser(argparse.ArgumentParser):
    """Knows the options that may stand before or after the subcommand: each of its subparsers has them, too."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        everywhere = self.add_argument_group("everywhere")
        unset: dict[str, Any] = {"default": argparse.SUPPRESS, "metavar": "PATH"}  # what stands before, stays
        everywhere.add_argument("--config", help="the configuration file (default: config.yaml in the home)", **unset)
        everywhere.add_argument("--workspace", help="the workspace folder (default: as configured)", **unset)
        everywhere.add_argument("--version", action="version", version=f"nanobot {__version__}")
        self.set_defaults(func=self.help_instead)  # until a subcommand knows better

    def help_instead(self, _: argparse.Namespace) -> int:
        self.print_help()
        return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code.

    A mistake in arguments or configuration is 2, another expected error 1, Ctrl-C 130.
    """
    if sys.stdout is None:  # closed by whoever started us; the next file opened would take its place
        return _cannot_write("it is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a console that cannot show a character still shows the rest
    try:
        code = _run(argv)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has had enough
        _write_nowhere()
        return PIPE_CLOSED
    except OSError as error:
        _write_nowhere()
        return _cannot_write(error.strerror or str(error))
    return code


def _run(argv: Sequence[str] | None) -> int:
    given = sys.argv[1:] if argv is None else list(argv)
    code, trouble = _done(given)
    if trouble and "--json" in given:
        tell_error(trouble)
    return code


def _done(given: Sequence[str]) -> tuple[int, str]:
    """Do what is asked for; the exit code, and what went wrong if that is more than an answer which is none."""
    args = argparse.Namespace()
    try:
        args = _parsed(given)
        return cast("Callable[[argparse.Namespace], int]", args.func)(args), ""
    except SystemExit as leaving:  # argparse has said what there is to say
        code = leaving.code if isinstance(leaving.code, int) else USAGE
        return code, "The arguments make no sense; standard error says why." if code else ""
    except NanobotError as error:
        tell(f"nanobot: {error}", failed=True)
        return USAGE if isinstance(error, ConfigError | UsageError) else 1, str(error)
    except KeyboardInterrupt:
        return INTERRUPTED, "Interrupted."
    except BrokenPipeError:
        raise
    except Exception as bug:  # the outermost boundary: a person reads a sentence, the log the traceback
        if _is_of_output(bug):
            raise
        return _report(bug, args), f"This should not have happened ({type(bug).__name__}); standard error says more."


def _parsed(given: Sequence[str]) -> argparse.Namespace:
    """The arguments; without any command, in a terminal, somebody wants to talk."""
    parser = _parser(given)
    args = parser.parse_args(given)
    is_bare = args.func == parser.help_instead
    if is_bare and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        return _parser(["chat"]).parse_args([*given, "chat"])
    return args


def _parser(given: Sequence[str]) -> _Parser:
    """Return a parser that knows all families by name, and the arguments of those that are named in `given`."""
    parser = _Parser(prog="nanobot", description="A self-hosted personal chatbot that can be trusted with your memory.")
    parser.set_defaults(config=None, workspace=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for family, summary in _FAMILIES.items():
        of_family = commands.add_parser(family, help=summary)
        if family in given:
            importlib.import_module(f"nanobot.cli.{family}").add_to(of_family)
    return parser


def _is_of_output(error: Exception) -> bool:
    """True if standard output is what could not be written: what was not, waits there, unless unbuffered."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return error.errno in NO_ROOM


def _write_nowhere() -> None:
    """Else Python would try once more at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _cannot_write(reason: str) -> int:
    tell(f"nanobot: standard output cannot be written: {reason}", failed=True)
    return 1


def _report(bug: Exception, args: argparse.Namespace) -> int:
    from nanobot.cli.settings import note_bug

    tell(f"nanobot: this should not have happened ({type(bug).__name__}); {note_bug(bug, args)}", failed=True)
    return 1
