"""What Discord has to be told."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from nanobot.channels.access import Door
from nanobot.i18n import Language
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Bookmarks, Clock, Media

NAME = "discord"
"""The channel's name, as in Address.channel and at the head of each id."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """What is read, in each chat that the bot knows, of what was said while it was away.

    At most the newest `messages`, none older than `age` seconds.
    """

    messages: int = 50
    age: float = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where Discord is, and as whom to talk.

    `token` never appears in anything that is shown. `api_base` is the REST API's address; the gateway's comes
    from there. `heartbeat_timeout`: seconds without a sign of life after which a connection counts as dead.
    """

    token: str = field(repr=False)
    api_base: str = "https://discord.com/api/v10"
    catch_up: CatchUp = CatchUp()
    heartbeat_timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class MenuCommand:
    """A command in the menu; `help` says in one line what it does, in each language."""

    name: str
    help: Mapping[Language, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What Discord works with.

    `notify` sends what the channel itself has to say (Bus.send); `language` is the one spoken at an address;
    `changed` hears that `status` has changed.
    """

    door: Door
    media: Media
    bookmarks: Bookmarks
    clock: Clock
    notify: Callable[[OutboundMessage], Awaitable[None]]
    language: Callable[[Address], Language]
    changed: Callable[[], None] = lambda: None
