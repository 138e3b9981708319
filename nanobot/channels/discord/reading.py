"""What discord.py heard, in our words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import discord

from nanobot.channels.access import HIDDEN, Meant
from nanobot.channels.discord.settings import NAME
from nanobot.channels.discord.wording import Names, calls_another, names_me, readable
from nanobot.i18n import Language, say
from nanobot.messages import Address, Quote, Sender
from nanobot.text import as_name

_SPOKEN = (discord.MessageType.default, discord.MessageType.reply)


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was said. `groups` are the ids by which it may be let in: thread, channel, server."""

    address: Address
    groups: Sequence[str] = ()
    title: str = ""

    @classmethod
    def of(cls, channel: Any) -> "Place":
        """Of a channel as discord.py knows it; a thread or a post in a forum is a topic of its channel."""
        own = str(channel.id)
        guild = getattr(channel, "guild", None)
        if guild is None:
            return cls(Address(NAME, own))
        if isinstance(channel, discord.Thread):
            parent = str(channel.parent_id)
            title = f"{guild.name} #{channel.parent.name if channel.parent else parent} · {channel.name}"
            return cls(Address(NAME, parent, own), (own, parent, str(guild.id)), title)
        return cls(Address(NAME, own), (own, str(guild.id)), f"{guild.name} #{channel.name}")


def is_speech(message: discord.Message) -> bool:
    """Whether somebody says something: not that somebody joined, pinned, opened a thread, …"""
    return message.type in _SPOKEN


def sender_of(user: discord.abc.User) -> Sender:
    return Sender(str(user.id), user.display_name)


def names_in(message: discord.Message, me: discord.ClientUser) -> Names:
    """Who is who in a message."""
    mine = message.guild.me.roles if message.guild and message.guild.me else []
    return Names(
        me=str(me.id),
        my_name=me.name,
        my_roles=frozenset(str(role.id) for role in mine if not role.is_default()),
        users={str(user.id): user.display_name for user in message.mentions},
        roles={str(role.id): role.name for role in message.role_mentions},
        channels={str(channel.id): channel.name for channel in message.channel_mentions},
    )


def meant_by(message: discord.Message, names: Names, commands: frozenset[str]) -> Meant:
    """How a message addresses the bot."""
    word = (readable(message.content, names).split(maxsplit=1) or [""])[0]
    name, at, _ = word[1:].partition("@")
    if word[:1] in ("/", "／") and (at or name.casefold().replace("_", "-") in commands):
        return "other" if at else "command"
    if names_me(message.content, names):
        return "mention"
    replied = _replied_to(message)
    if replied is not None and str(replied.author.id) == names.me:
        return "reply"
    return (
        "other" if calls_another(message.content, {str(user.id) for user in message.mentions if user.bot}) else "none"
    )


def text_of(message: discord.Message, names: Names) -> str:
    """The words of the sender. A bare mention is a word, too."""
    text = readable(message.content, names)
    return text or (f"@{as_name(names.my_name)}" if message.content else "")


def quotes_of(
    message: discord.Message, me: discord.ClientUser, language: Language, shows: Callable[[discord.Message], bool]
) -> list[Quote]:
    """What stands on a message that its sender did not write, what it replies to, and what it passes on.

    `shows` tells whether the words of a message that is replied to may be shown.
    """
    quotes = [Quote("\n".join(_cards(message, language)), how="card")]
    replied = _replied_to(message)
    if replied is not None and not shows(replied):
        quotes += [Quote(HIDDEN)]
    elif replied is not None:
        files = (say("discord.quoted_file", language, name=as_name(file.filename)) for file in replied.attachments)
        words = [text_of(replied, names_in(replied, me)), *_cards(replied, language), *files]
        quotes += [Quote("\n".join(filter(None, words)), replied.author.display_name)]
    for snapshot in message.message_snapshots:
        quotes += [Quote("\n".join(filter(None, (snapshot.content, *_cards(snapshot, language)))), how="forward")]
    return [quote for quote in quotes if quote.text]


def files_of(message: discord.Message) -> list[discord.Attachment]:
    """The files of a message, and those that it passes on."""
    return [*message.attachments, *(file for snapshot in message.message_snapshots for file in snapshot.attachments)]


def _replied_to(message: discord.Message) -> discord.Message | None:
    reference = message.reference
    if message.type is not discord.MessageType.reply or reference is None:
        return None
    return reference.resolved if isinstance(reference.resolved, discord.Message) else None


def _cards(message: discord.Message | discord.MessageSnapshot, language: Language) -> Iterator[str]:
    """Words on what was sent: of whoever made the sticker, the poll, the page behind a link, or the app."""
    for sticker in message.stickers:
        yield say("discord.sticker", language, name=as_name(sticker.name))
    poll = getattr(message, "poll", None)
    if poll is not None:
        answers = " / ".join(answer.text for answer in poll.answers)
        yield say("discord.poll", language, question=poll.question, answers=answers)
    for embed in message.embeds:
        if embed.type == "rich":  # the others are previews of links, which Discord adds by itself, and later
            fields = (f"{field.name}: {field.value}" for field in embed.fields)
            lines = (embed.author.name, embed.title, embed.description, *fields, embed.url, embed.footer.text)
            yield "\n".join(filter(None, lines))
    for component in getattr(message, "components", ()):  # not there if Discord told none
        yield from _words_on(component)


def _words_on(component: Any) -> Iterator[str]:
    """The texts, and the labels of buttons, of a component and of those in it."""
    for name in ("content", "label", "placeholder"):
        if isinstance(text := getattr(component, name, None), str) and text:
            yield text
    for inner in (
        *(getattr(component, "children", None) or ()),
        *filter(None, [getattr(component, "accessory", None)]),
    ):
        yield from _words_on(inner)
