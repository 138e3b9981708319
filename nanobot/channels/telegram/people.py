"""Who speaks, and where."""

from telegram import Message, User

from nanobot.channels.telegram.ids import NAME
from nanobot.messages import Address, Sender

_LONGEST_NAME = 64


def sender_of(message: Message) -> Sender:
    """A person, or the chat in whose name somebody speaks (see `speaks_for_chat`)."""
    if message.sender_chat is not None:
        return Sender(str(message.sender_chat.id), plain_name(message.sender_chat.effective_name or ""))
    return person(message.from_user) if message.from_user else Sender("")


def person(user: User) -> Sender:
    """A person, as they call themselves."""
    return Sender(str(user.id), plain_name(user.full_name))


def is_nobody(message: Message) -> bool:
    """Whether no person can be told: anonymous admins, a linked channel, other bots."""
    return message.sender_chat is not None or message.from_user is None or message.from_user.is_bot


def topic_of(message: Message) -> str | None:
    """The topic, if it is one: in plain groups a chain of replies carries a thread's number, too."""
    return str(message.message_thread_id) if message.is_topic_message and message.message_thread_id else None


def address(chat: int, message: Message) -> Address:
    """Where a message was written; `chat` is what the chat was called at first."""
    return Address(NAME, str(chat), topic_of(message))


def is_private(message: Message) -> bool:
    return message.chat.type == message.chat.PRIVATE


def plain_name(name: str) -> str:
    """A name that people gave themselves, in one line."""
    return " ".join("".join(char if char.isprintable() else " " for char in name).split())[:_LONGEST_NAME]
