"""What the bot stands on."""

from dataclasses import dataclass

from nanobot.config import Config
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
