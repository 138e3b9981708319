"""Settings of Discord, its rate limits, and the codes in its texts."""

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Self

from nanobot.channels.delivery.rate_limit import Pace, Rate
from nanobot.channels.registry import ChannelSettings
from nanobot.text import as_name

NAME = "discord"
"""The channel's name, as in Address.channel and at the head of each id."""

PACE = Pace(chat=(Rate(5, 5.0),), bot=(Rate(40, 1.0),), every=1.5)
"""Five messages in five seconds in a channel, fifty requests a second in all: "Rate Limits" in Discord's manual;
what else it asks for comes as a FloodError."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Limits of reading, in each known chat, the messages missed while the bot was away.

    At most the newest `messages`, none older than `age` seconds.
    """

    messages: int = 50
    age: float = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordSettings(ChannelSettings):
    """The section `discord`, and `heartbeat_timeout`: seconds without a sign of life, then a connection counts as dead.

    `api_base` is the REST API's address; the gateway's comes from there.
    """

    token: str = field(repr=False)
    api_base: str = "https://discord.com/api/v10"
    catch_up: CatchUp = CatchUp()
    heartbeat_timeout: float = 60.0


# Message ids: `discord:<channel or thread>:<message>[:<mark>]`.


BY_BOT = "bot"


@dataclass(frozen=True, slots=True)
class MessageId:
    """Position of a message in Discord's numbers. `mark`: "bot" if a bot wrote it, or which edit it is."""

    channel: str
    message: str
    mark: str = ""

    def __str__(self) -> str:
        return ":".join(part for part in (NAME, self.channel, self.message, self.mark) if part)

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """None for what is no id of ours."""
        name, _, rest = (text or "").partition(":")
        channel, _, rest = rest.partition(":")
        message, _, mark = rest.partition(":")
        return cls(channel, message, mark) if name == NAME and message.isdigit() else None


# Mentions and other codes.


_CODE_OR_MENTION = re.compile(
    r"(?P<code>```.*?```|``.+?``|`[^`\n]+`|\\<)"
    r"|<@!?(?P<user>\d+)>|<@&(?P<role>\d+)>|<#(?P<channel>\d+)>|<a?:(?P<emoji>\w+):\d+>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class DiscordNames:
    """Names in use: the bot's id, the ids of its roles, and the names of those mentioned."""

    me: str
    my_roles: frozenset[str] = frozenset()
    users: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)
    my_name: str = ""


def names_me(content: str, names: DiscordNames, *, by_role: bool = True) -> bool:
    """True if the bot itself is mentioned in the words (being pinged by a reply is not that), or one of its roles."""
    for match in _CODE_OR_MENTION.finditer(content):
        if match["user"] == names.me or (by_role and match["role"] in names.my_roles):
            return True
    return False


def calls_another(content: str, bots: Set[str]) -> bool:
    """Return whether the words begin with the mention of one of these bots, by their ids."""
    match = _CODE_OR_MENTION.match(content.lstrip())
    return match is not None and match["user"] in bots


def readable(content: str, names: DiscordNames) -> str:
    """The words as a person sees them: @name (id), #channel, :emoji:; code stays as it is.

    The bot's own mention is taken off where it only calls it, at the beginning and at the end.
    """
    return _CODE_OR_MENTION.sub(_shown(names), _without_call(content, names)).strip("\n")


def _without_call(content: str, names: DiscordNames) -> str:
    mine = "|".join([f"<@!?{names.me}>", *(f"<@&{role}>" for role in sorted(names.my_roles))])
    content = re.sub(rf"\A(\s*[/／][\w-]+)@{re.escape(names.my_name)}(?!\S)", r"\1", content, flags=re.IGNORECASE)
    content = re.sub(rf"\A\s*(?:(?:{mine})[ \t]*[,:，：]?[ \t]*\n?)+", "", content)
    return re.sub(rf"(?:\s*(?<!\\)(?:{mine}))+\s*\Z", "", content)


def _shown(names: DiscordNames) -> Callable[[re.Match[str]], str]:
    def show(match: re.Match[str]) -> str:
        if user := match["user"]:
            known = as_name(names.my_name if user == names.me else names.users.get(user, ""))
            return f"@{known} ({user})" if known else f"@({user})"
        if role := match["role"]:
            return f"@{as_name(names.roles.get(role, '')) or role}"
        if channel := match["channel"]:
            return f"#{as_name(names.channels.get(channel) or '') or channel}"
        return f":{match['emoji']}:" if match["emoji"] else match["code"]

    return show
