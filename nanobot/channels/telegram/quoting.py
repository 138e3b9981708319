"""Texts of others that come along with a message."""

from collections.abc import Iterator

from telegram import (
    Message,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
)

from nanobot.channels.telegram.addressed import opens_topic, words_of
from nanobot.channels.telegram.arriving import files_in
from nanobot.channels.telegram.described import described
from nanobot.channels.telegram.people import plain_name, sender_of
from nanobot.messages import Quote


def quotes_in(message: Message) -> tuple[Quote, ...]:
    """What was forwarded, marked, or replied to."""
    return tuple(quote for quote in _quotes(message) if quote.text)


def forwarded_by(message: Message) -> str | None:
    """Who wrote what is only passed on here; None for what the sender says."""
    return None if message.forward_origin is None else _origin(message.forward_origin)


def _quotes(message: Message) -> Iterator[Quote]:
    if message.forward_origin is not None:
        yield Quote(_content(message), _origin(message.forward_origin), "forward")
    replied = message.reply_to_message
    by = sender_of(replied).name if replied else ""
    if message.quote is not None:
        elsewhere = message.external_reply
        yield Quote(message.quote.text, by or (_origin(elsewhere.origin) if elsewhere else ""), "quote")
    elif replied is not None and not opens_topic(replied):
        yield Quote(_content(replied), by, "reply")


def _content(message: Message) -> str:
    files = [f"[{file.name}]" for file in files_in(message)]
    return "\n".join(filter(None, (*files, described(message), words_of(message))))


def _origin(origin: MessageOrigin) -> str:
    name = ""
    if isinstance(origin, MessageOriginUser):
        name = origin.sender_user.full_name
    elif isinstance(origin, MessageOriginHiddenUser):
        name = origin.sender_user_name
    elif isinstance(origin, MessageOriginChat):
        name = origin.sender_chat.effective_name or ""
    elif isinstance(origin, MessageOriginChannel):
        name = origin.chat.effective_name or ""
    return plain_name(name)
