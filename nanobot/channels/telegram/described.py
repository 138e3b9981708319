"""What is neither text nor a file, in words."""

from collections.abc import Callable
from typing import Any

from telegram import Message


def described(message: Message) -> str:
    """A short description for the model; "" if there is nothing of the kind."""
    for name, describe in _DESCRIBED.items():
        if (content := getattr(message, name)) is not None:
            return f"[{describe(content)}]"
    return ""


def _sticker(sticker: Any) -> str:
    return " ".join(filter(None, ("sticker", sticker.emoji, sticker.set_name and f"from the set {sticker.set_name}")))


def _place(location: Any) -> str:
    return f"{location.latitude:.6f}, {location.longitude:.6f}"


def _contact(contact: Any) -> str:
    name = " ".join(filter(None, (contact.first_name, contact.last_name)))
    return f"contact: {name}, {contact.phone_number}"


def _poll(poll: Any) -> str:
    return f"poll: {poll.question} — {' / '.join(option.text for option in poll.options)}"


_DESCRIBED: dict[str, Callable[[Any], str]] = {
    "sticker": _sticker,
    "venue": lambda venue: f"place: {venue.title}, {venue.address}, {_place(venue.location)}",  # before its location
    "location": lambda location: f"location: {_place(location)}",
    "contact": _contact,
    "poll": _poll,
    "dice": lambda dice: f"dice {dice.emoji}: {dice.value}",
    "game": lambda game: f"game: {game.title}",
    "story": lambda _: "story",
    "invoice": lambda invoice: f"invoice: {invoice.title}",
    "paid_media": lambda _: "paid media",
    "checklist": lambda checklist: (
        f"checklist: {checklist.title} — {' / '.join(task.text for task in checklist.tasks)}"
    ),
}
"""Attributes of a Message. Telegram's service messages have none of them."""
