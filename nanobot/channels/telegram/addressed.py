"""Whether a message is meant for the bot, and what its sender says in it."""

import re

from telegram import Message, MessageEntity, User

from nanobot.channels.access import Meant

_COMMAND = re.compile(r"/([A-Za-z0-9_-]+)(?:@([A-Za-z0-9_]+))?(?!\S)")
"""Of the raw text: for Telegram a command ends at the first letter that its menu does not allow: /dream-restore."""


def meant(message: Message, me: User) -> Meant:
    """How the bot is addressed; what was only passed on addresses nobody."""
    if is_passed_on(message):
        return "none"
    command = _COMMAND.match(_raw(message))
    if command:
        return "command" if _is(command[2] or me.username, me) else "other"
    if any(_names(entity, text, me) for entity, text in _entities(message).items()):
        return "mention"
    replied = message.reply_to_message
    if replied is not None and replied.from_user == me and not opens_topic(replied):
        return "reply"
    return "other" if any(_calls_another_bot(entity, text) for entity, text in _entities(message).items()) else "none"


def is_passed_on(message: Message) -> bool:
    """Whether the sender did not write this: it was forwarded, or another bot wrote it in their name."""
    return message.forward_origin is not None or message.via_bot is not None or message.paid_media is not None


def opens_topic(replied: Message) -> bool:
    """Whether this is not what somebody replied to, but how Telegram ties a message to its topic."""
    return replied.forum_topic_created is not None


def own_words(message: Message, me: User) -> str:
    """What the sender wrote, without our name behind a command or at its head; "" for what was passed on."""
    if is_passed_on(message):
        return ""
    text = _raw(message)
    command = _COMMAND.match(text)
    if command and command[2] and _is(command[2], me):
        return f"/{command[1]}{text[command.end() :]}"
    for entity, name in _entities(message).items():
        if entity.offset == 0 and _names(entity, name, me):
            return text[len(name) :].lstrip(" \t\n,:，：、") or text
    return text


def words_of(message: Message) -> str:
    """All text of a message, whoever wrote it, with the addresses of its links."""
    return _raw(message)


def _raw(message: Message) -> str:
    units = (message.text or message.caption or "").encode("utf-16-le", "surrogatepass")
    for entity in sorted(_entities(message), key=lambda entity: entity.offset, reverse=True):
        if entity.type == MessageEntity.TEXT_LINK:
            end = 2 * (entity.offset + entity.length)  # Telegram counts UTF-16 units
            units = units[:end] + f" ({entity.url})".encode("utf-16-le") + units[end:]
    return units.decode("utf-16-le", "replace")


def _entities(message: Message) -> dict[MessageEntity, str]:
    return message.parse_entities() if message.text else message.parse_caption_entities() if message.caption else {}


def _names(entity: MessageEntity, text: str, me: User) -> bool:
    if entity.type == MessageEntity.TEXT_MENTION:
        return entity.user == me
    return entity.type == MessageEntity.MENTION and _is(text.removeprefix("@"), me)


def _calls_another_bot(entity: MessageEntity, text: str) -> bool:
    """Return whether a name at the head is that of a bot: on Telegram those end in "bot", and only those."""
    if entity.offset > 0:
        return False
    if entity.type == MessageEntity.TEXT_MENTION:
        return entity.user is not None and entity.user.is_bot
    return entity.type == MessageEntity.MENTION and text.casefold().endswith("bot")


def _is(name: str | None, me: User) -> bool:
    return bool(name) and (name or "").casefold() == (me.username or "").casefold()
