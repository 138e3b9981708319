"""The ids of messages on Telegram, ours and its own."""

import json
from dataclasses import dataclass

from nanobot.messages import Address, Sender

NAME = "telegram"
"""The channel's name, as in Address.channel and at the head of each id."""

HELD = f"{NAME}:held:"
"""How bookmarks begin that hold an update, as Telegram brought it, which is not on the bus yet."""


def inbound_id(chat: int, message: int) -> str:
    """The id of what a person wrote. `chat` is the chat's own id of now: a supergroup counts from 1 again."""
    return f"{NAME}:{chat}:{message}"


def message_in(chat: int, inbound: str | None) -> int | None:
    """The number that a message with this id has in a chat; None if it is not from there."""
    channel, _, rest = (inbound or "").partition(":")
    where, _, number = rest.partition(":")
    number = number.partition(":")[0]  # behind it may follow what happened to it: an edit, a press
    return int(number) if (channel, where) == (NAME, str(chat)) and number.isdecimal() else None


def platform_id(chat: int, message: int) -> str:
    """The id under which delivery knows what we said."""
    return f"{chat}:{message}"


def placed(platform_id: str) -> tuple[int, int]:
    """Chat and number of what we said."""
    chat, _, message = platform_id.partition(":")
    return int(chat), int(message)


@dataclass(frozen=True, slots=True)
class UpdateAuthor:
    """Author of a stored update: its id on the bus, the sender, the chat."""

    inbound: str
    address: Address
    sender: Sender
    is_alone: bool


def held_saying(name: str, value: str) -> UpdateAuthor | None:
    """The message in a bookmark with this name; None if it is something else, or nobody's."""
    if not name.startswith(HELD):
        return None
    try:
        update = json.loads(value)
        message = update.get("message") or update["edited_message"]
        chat, sender = message["chat"], message["from"]
        return UpdateAuthor(
            inbound_id(int(chat["id"]), int(message["message_id"])),
            Address(NAME, str(chat["id"])),
            Sender(str(sender["id"])),
            is_alone=chat.get("type") == "private",
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
