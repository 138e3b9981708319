"""What the bot stands on."""

import os
from dataclasses import dataclass

from nanobot.config import Config, secrets_here
from nanobot.memory.secrets import redact
from nanobot.ops.logs import Hide, Mask, log_to
from nanobot.people.people import People
from nanobot.ports import Bus, Clock
from nanobot.workspace import Home, Workspace


@dataclass(frozen=True, slots=True)
class Ground:
    """What whoever starts the bot gives it."""

    config: Config
    home: Home
    workspace: Workspace
    clock: Clock
    bus: Bus
    people: People | None = None
    """Who may talk, where somebody else asks that, too: the book is written by one."""
    is_beside: bool = False
    """Whether another process has the workspace, and what is remembered is only read."""


def open_log(config: Config, home: Home) -> None:
    """Begin the log of a process, as every one that works with memory has it. Raises WorkspaceError."""
    log_to(home.log, config.log.level, config.log.format, hiding(config))


def hiding(config: Config | None) -> Hide:
    """Make what keeps the secrets of the configuration and of the environment, and whatever looks like one, out."""
    mask = Mask(secrets_here(config, os.environ)) if config else Mask(())
    return lambda text: redact(mask(text))
