"""What Discord has to be told."""

from collections.abc import Mapping
from dataclasses import dataclass

from nanobot.i18n import Language

NAME = "discord"
"""The channel's name, as in Address.channel and at the head of each id."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """What is read, in each chat that the bot knows, of what was said while it was away.

    At most the newest `messages`, none older than `age` seconds.
    """

    messages: int = 50
    age: float = 86400.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Where Discord is, and as whom to talk.

    `token` never appears in anything that is shown. `api_base` is the REST API's address; the gateway's comes
    from there. `heartbeat_timeout`: seconds without a sign of life after which a connection counts as dead.
    """

    token: str
    api_base: str = "https://discord.com/api/v10"
    catch_up: CatchUp = CatchUp()
    heartbeat_timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command in the menu; `help` says in one line what it does, in each language."""

    name: str
    help: Mapping[Language, str]
