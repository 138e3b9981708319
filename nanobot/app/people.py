"""Who may talk, as configured and as kept in the workspace."""

from nanobot.config import Config
from nanobot.people.people import Configured, People
from nanobot.ports import Clock
from nanobot.store.people import PeopleFile
from nanobot.workspace import Workspace


def build_people(config: Config, workspace: Workspace, clock: Clock) -> People:
    """Raises StoreError if what is kept cannot be read."""
    return People(PeopleFile(workspace), clock, _configured(config))


def _configured(config: Config) -> dict[str, Configured]:
    """What the configuration says of each channel that it knows."""
    configured = {}
    if telegram := config.telegram:
        configured["telegram"] = Configured(
            owners=telegram.owners, members=telegram.members, groups=telegram.groups, store_all=telegram.store_all
        )
    if discord := config.discord:
        configured["discord"] = Configured(
            owners=discord.owners,
            members=discord.members,
            groups=discord.groups,
            store_all=discord.store_all,
            bots=discord.bots,
        )
    return configured
