"""The ids of messages on Telegram, ours and its own."""

from nanobot.channels.telegram.settings import NAME


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
