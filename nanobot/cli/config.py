"""`nanobot config`: show, check and describe the configuration."""

import argparse
import json

from nanobot.cli.settings import config_path_of, home_of, idle_words, language_here, loaded_of
from nanobot.config import chosen, presets
from nanobot.config.describing import effective, table, unset_variables
from nanobot.config.describing import schema as described
from nanobot.config.presets import why_unasked
from nanobot.errors import ConfigError
from nanobot.i18n import say


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the family."""
    actions = parser.add_subparsers(title="commands", metavar="COMMAND")
    for func, words in {
        show: "print every key as it is in effect, secrets masked",
        check: "say whether the configuration can be used",
        keys: "print a table of every key there is",
        schema: "print a JSON schema, for editors",
        path: "print where the file is",
    }.items():
        actions.add_parser(func.__name__, help=words).set_defaults(func=func)


def show(args: argparse.Namespace) -> int:

    print(effective(loaded_of(args)))
    return 0


def check(args: argparse.Namespace) -> int:

    loaded, home = loaded_of(args), home_of(args)
    known = presets(loaded.config, home)
    unasked = [why_unasked(known[name]) for name in (chosen(loaded.config, home), *loaded.config.fallbacks)]
    if all(unasked):  # nobody would be answered
        raise ConfigError(unasked[0])
    language = language_here(loaded.config.language)
    sentence = "doctor.config_ok" if loaded.path.exists() else "doctor.config_none"
    print(say(sentence, language, path=loaded.path))
    if unset := unset_variables(loaded.root):
        print(say("doctor.config_unset", language, keys=", ".join(unset)))
    for line in idle_words(loaded):
        print(line)
    return 0


def keys(_: argparse.Namespace) -> int:

    print(table())
    return 0


def schema(_: argparse.Namespace) -> int:

    print(json.dumps(described(), indent=2, ensure_ascii=False))
    return 0


def path(args: argparse.Namespace) -> int:
    print(config_path_of(args))
    return 0
