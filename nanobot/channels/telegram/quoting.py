"""What of a message its sender did not write: what was passed on or replied to, and the words on cards."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from telegram import (
    ExternalReplyInfo,
    Message,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
)

from nanobot.channels.access import HIDDEN
from nanobot.channels.telegram.addressed import opens_topic, words_of
from nanobot.channels.telegram.arriving import files_in
from nanobot.channels.telegram.people import plain_name, sender_of
from nanobot.messages import Quote
from nanobot.text import as_name


@dataclass(frozen=True, slots=True)
class Source:
    """Who wrote what somebody only passes on, and how it came."""

    by: str
    how: Literal["forward", "via", "card"]


def source_of(messages: Sequence[Message]) -> Source | None:
    """The source of what is passed on; None for what the sender says. Of an album, one picture says it for all."""
    for message in messages:
        if message.forward_origin is not None:
            return Source(_origin(message.forward_origin), "forward")
        if message.via_bot is not None:
            return Source(plain_name(message.via_bot.full_name), "via")
        if message.paid_media is not None:  # only channels and bots can send it
            return Source("", "card")
    return None


def quotes_in(message: Message, source: Source | None, shows: Callable[[Message], bool]) -> tuple[Quote, ...]:
    """What was passed on, what stands on a card, what was marked, or replied to.

    `shows` tells whether the words of a message that is replied to may be shown.
    """
    return tuple(quote for quote in _quotes(message, source, shows) if quote.text)


def sign_of(content: Message | ExternalReplyInfo) -> str:
    """What somebody sent that has no words: a sticker, dice, a place on the map; "" if it is none of these."""
    return _described(content, _SIGNS)


def has_card(message: Message) -> bool:
    """Whether a card came: a contact, a poll, …"""
    return any(getattr(message, name) is not None for name in _CARDS)


def _quotes(message: Message, source: Source | None, shows: Callable[[Message], bool]) -> Iterator[Quote]:
    if source is not None:
        yield Quote(_content(message), source.by, source.how)
    else:
        yield Quote(_described(message, _CARDS), how="card")
    replied, elsewhere, story = message.reply_to_message, message.external_reply, message.reply_to_story
    if replied is not None and not opens_topic(replied) and not shows(replied):
        yield Quote(HIDDEN)
    elif message.quote is not None:
        by = sender_of(replied).name if replied else _origin(elsewhere.origin) if elsewhere else ""
        yield Quote(message.quote.text, by, "quote")
    elif replied is not None and not opens_topic(replied):
        yield Quote(_content(replied), sender_of(replied).name)
    elif elsewhere is not None:
        yield Quote(
            "\n".join(filter(None, (sign_of(elsewhere), _described(elsewhere, _CARDS)))), _origin(elsewhere.origin)
        )
    elif story is not None:
        yield Quote("[story]", plain_name(story.chat.effective_name or ""))


def _content(message: Message) -> str:
    files = [f"[{as_name(file.name)}]" for file in files_in(message)]
    return "\n".join(filter(None, (*files, sign_of(message), _described(message, _CARDS), words_of(message))))


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


def _described(content: Message | ExternalReplyInfo, ways: "Mapping[str, Callable[[Any], str]]") -> str:
    for name, describe in ways.items():
        if (found := getattr(content, name)) is not None:
            text = describe(found)
            return f"[{text}]" if text else ""
    return ""


def _place(location: Any) -> str:
    return f"{location.latitude:.6f}, {location.longitude:.6f}"


def _contact(contact: Any) -> str:
    name = as_name(" ".join(filter(None, (contact.first_name, contact.last_name))))
    return "\n".join(filter(None, (f"contact: {name}, {as_name(contact.phone_number)}", contact.vcard)))


def _poll(poll: Any) -> str:
    options = " / ".join(option.text for option in poll.options)
    more = (poll.description, poll.explanation)
    return "\n".join(filter(None, (f"poll: {poll.question} — {options}", *more)))


def _titled(kind: str) -> Callable[[Any], str]:
    return lambda found: "\n".join(
        filter(None, (f"{kind}: {found.title}", found.description, getattr(found, "text", None)))
    )


def _giveaway(giveaway: Any) -> str:
    return f"giveaway: {giveaway.prize_description}" if giveaway.prize_description else "giveaway"


_SIGNS: Mapping[str, Callable[[Any], str]] = {
    "sticker": lambda sticker: f"sticker {sticker.emoji}" if sticker.emoji else "sticker",
    "location": lambda location: f"location: {_place(location)}",
    "dice": lambda dice: f"dice {dice.emoji}: {dice.value}",
}
"""Attributes of a Message in which nobody has put words."""

_CARDS: Mapping[str, Callable[[Any], str]] = {
    "sticker": lambda sticker: f"from the set {as_name(sticker.set_name)}" if sticker.set_name else "",
    "venue": lambda venue: f"place: {venue.title}, {venue.address}",
    "contact": _contact,
    "poll": _poll,
    "game": _titled("game"),
    "story": lambda story: f"story of {plain_name(story.chat.effective_name or '')}",
    "invoice": _titled("invoice"),
    "paid_media": lambda _: "paid media",
    "checklist": lambda checklist: (
        f"checklist: {checklist.title} — {' / '.join(task.text for task in checklist.tasks)}"
    ),
    "giveaway": _giveaway,
    "giveaway_winners": _giveaway,
}
"""Attributes of a Message whose words are of whoever made them. Telegram's service messages have none of them."""
