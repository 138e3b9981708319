"""The registry of channels: each platform describes itself in one ChannelType, built-in and plug-in alike."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pkgutil import resolve_name
from typing import Any, Generic, Protocol, TypeVar, cast

import msgspec

from nanobot.channels.access import AccessPolicy
from nanobot.channels.delivery.rate_limit import Pace
from nanobot.channels.platform import Platform, PlatformStatus
from nanobot.errors import ConfigError
from nanobot.i18n import Language
from nanobot.messages import Address, OutboundMessage
from nanobot.people.people import ConfiguredPeople
from nanobot.ports import Bookmarks, Clock, Media, Publish, Transcriber
from nanobot.ports.gateway import BotAccount, HeldMessage

BUILT_IN: Mapping[str, str] = {
    "telegram": "nanobot.channels.telegram:TELEGRAM",
    "discord": "nanobot.channels.discord:DISCORD",
}
"""The ChannelType of each platform that comes along, by the name of its section in config.yaml; written like an
entry point, and imported when the section is there."""

_ID_LISTS = ("owners", "members", "store_all", "bots")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings(ConfiguredPeople):
    """The keys that the section of every channel has: people, groups, and whether answers grow while written.

    A platform adds its own keys in a subclass; a key without a default must be set.
    """

    streaming: bool = True


S = TypeVar("S", bound=ChannelSettings)


@dataclass(frozen=True, slots=True)
class MenuCommand:
    """A command for the platform's menu; `help` is one line in each language."""

    name: str
    help: Mapping[Language, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelServices:
    """The services of the bot that a channel works with.

    `notify` sends the channel's own messages (Bus.send); `language` is the one spoken at an address; `changed` is to
    be called when `status` has changed; `menu` lists the commands that can be used in a chat.
    """

    access: AccessPolicy
    media: Media
    transcriber: Transcriber | None
    bookmarks: Bookmarks
    clock: Clock
    notify: Callable[[OutboundMessage], Awaitable[None]]
    language: Callable[[Address], Language]
    changed: Callable[[], None] = lambda: None
    menu: Sequence[MenuCommand] = ()


class ChatChannel(Platform, Protocol):
    """A platform on which people talk with the bot."""

    async def listen(self, publish: Publish) -> None:
        """Publish what people say until cancelled. Raises RefusedTokenError, and others after which to try again."""
        ...

    def status(self) -> PlatformStatus:
        """The state of the connection."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelType(Generic[S]):
    """Description of a chat platform: all that the rest of the bot asks about it.

    Args:
        name: the channel's name in addresses, ids, commands and the status.
        title: the platform's name as people write it.
        settings: the dataclass of its section in config.yaml; see `read_settings`.
        build: makes the channel; imports the platform's SDK.
        pace: the rate limits of the platform.
        mode: the way in which it listens, in a word for the status.
        account: the request by which `nanobot doctor` checks the token; None: there is nothing to ask.
        held_message: the message in a bookmark of the channel, if it keeps messages there that are not on the bus yet.
    """

    name: str
    title: str
    settings: type[S]
    build: Callable[[S, ChannelServices], ChatChannel]
    pace: Pace
    mode: Callable[[S], str] = lambda _: ""
    account: Callable[[S], BotAccount] | None = None
    held_message: Callable[[str, str], HeldMessage | None] | None = None


def built_in(section: str) -> ChannelType[Any]:
    """The ChannelType of a platform that comes along."""
    return cast("ChannelType[Any]", resolve_name(BUILT_IN[section]))


def held_message(name: str, value: str) -> HeldMessage | None:
    """The message in a bookmark of any built-in channel; None if it holds none."""
    for section in BUILT_IN:
        read = built_in(section).held_message
        if read and (held := read(name, value)):
            return held
    return None


def read_settings(cls: type[S], section: object) -> S:
    """Make the settings of a channel from its section: a table of plain values, or an object with the same names.

    Raises ConfigError with the key and what is wrong with it.
    """
    if isinstance(section, Mapping):
        _check_keys(cls, section)
        section = {name: _with_text_ids(name, value) for name, value in section.items() if value is not None}
    try:
        return msgspec.convert(section, cls, from_attributes=True)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error)) from error


def _check_keys(cls: type[ChannelSettings], section: Mapping[str, object]) -> None:
    known = [each.name for each in fields(cls)]
    for name in section:
        if name not in known:
            close = get_close_matches(name, known, 1)
            meant = f"did you mean {close[0]}?" if close else f"it knows {', '.join(sorted(known))}"
            raise ConfigError(f"{name} is not a key that the channel knows; {meant}")


def _with_text_ids(name: str, value: object) -> object:
    """The value, with ids as text: YAML reads those that are written without quotes as numbers."""
    if name in _ID_LISTS and isinstance(value, list):
        return [str(each) if type(each) is int else each for each in value]
    return value
