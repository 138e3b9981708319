"""What the options that every subcommand has stand for."""

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from nanobot.workspace import Home

if TYPE_CHECKING:  # reading the configuration is not free, and `nanobot --help` does without
    from nanobot.config import Config


def home_of(args: Namespace) -> Home:
    """~/.nanobot, or where NANOBOT_HOME points."""
    return Home(Path(os.environ.get("NANOBOT_HOME") or "~/.nanobot").expanduser().absolute())


def config_of(args: Namespace) -> "Config":
    """The configuration that a command runs with. Raises ConfigError."""
    from nanobot.config import load

    return load(home_of(args), _path(args.config), _path(args.workspace))


def _path(option: str | None) -> Path | None:
    return None if option is None else Path(option).expanduser().absolute()
