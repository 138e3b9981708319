"""What was written, without Discord's codes for who was meant."""

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field

from nanobot.text import as_name

_CODE_OR_MENTION = re.compile(
    r"(?P<code>```.*?```|``.+?``|`[^`\n]+`|\\<)"
    r"|<@!?(?P<user>\d+)>|<@&(?P<role>\d+)>|<#(?P<channel>\d+)>|<a?:(?P<emoji>\w+):\d+>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Names:
    """Who is who: the bot's id, the ids of its roles, and the names of those that are mentioned."""

    me: str
    my_roles: frozenset[str] = frozenset()
    users: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)
    my_name: str = ""


def names_me(content: str, names: Names, *, by_role: bool = True) -> bool:
    """Whether the bot itself is mentioned in the words (being pinged by a reply is not that), or one of its roles."""
    for match in _CODE_OR_MENTION.finditer(content):
        if match["user"] == names.me or (by_role and match["role"] in names.my_roles):
            return True
    return False


def calls_another(content: str, bots: Set[str]) -> bool:
    """Return whether the words begin with the mention of one of these bots, by their ids."""
    match = _CODE_OR_MENTION.match(content.lstrip())
    return match is not None and match["user"] in bots


def readable(content: str, names: Names) -> str:
    """The words as a person sees them: @name (id), #channel, :emoji:; code stays as it is.

    The bot's own mention is taken off where it only calls it, at the beginning and at the end.
    """
    return _CODE_OR_MENTION.sub(_shown(names), _without_call(content, names)).strip("\n")


def _without_call(content: str, names: Names) -> str:
    mine = "|".join([f"<@!?{names.me}>", *(f"<@&{role}>" for role in sorted(names.my_roles))])
    content = re.sub(rf"\A(\s*[/／][\w-]+)@{re.escape(names.my_name)}(?!\S)", r"\1", content, flags=re.IGNORECASE)
    content = re.sub(rf"\A\s*(?:(?:{mine})[ \t]*[,:，：]?[ \t]*\n?)+", "", content)
    return re.sub(rf"(?:\s*(?<!\\)(?:{mine}))+\s*\Z", "", content)


def _shown(names: Names) -> Callable[[re.Match[str]], str]:
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
