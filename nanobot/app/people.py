"""Who may talk, as configured and as kept in the workspace."""

from nanobot.bus.spool import Spool
from nanobot.commands.pair import Pairing
from nanobot.config import Config
from nanobot.messages import OutboundMessage
from nanobot.people.people import Configured, People
from nanobot.ports import Clock
from nanobot.store.people import PeopleFile
from nanobot.workspace import Workspace


def build_people(config: Config, workspace: Workspace, clock: Clock) -> People:
    """For one process, which holds the workspace when it first asks for somebody."""
    return People(PeopleFile(workspace), clock, _configured(config))


def pairing_without_gateway(people: People, workspace: Workspace, clock: Clock) -> Pairing:
    """For a process that holds the workspace and serves no chat platform: who is let in hears of it from the gateway,
    as soon as one runs."""

    async def send(message: OutboundMessage) -> None:
        async with Spool(workspace.spool, clock) as spool:
            await spool.send(message)

    return Pairing(people, send)


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
