"""The rows of questions that hold up a turn, until their buttons are gone."""

from collections.abc import Sequence
from sqlite3 import Connection

import msgspec

from nanobot.bus import marks
from nanobot.messages import Address, OutboundMessage

_PREFIX = "question:"


class _Row(msgspec.Struct):
    """Where a question was asked, and the platform's id of the message with its buttons, "" while there is none."""

    address: Address
    place: str = ""


def asked(db: Connection, message: OutboundMessage, place: str = "") -> None:
    """Keep that this question is open, and where it stands."""
    marks.put(db, _PREFIX + message.id, msgspec.json.encode(_Row(message.address, place)).decode())


def place_of(db: Connection, question: str) -> str:
    """Where it stands; "" if it has not arrived."""
    value = marks.starting_with(db, _PREFIX + question).get(_PREFIX + question)
    return msgspec.json.decode(value, type=_Row).place if value else ""


def settled(db: Connection, question: str) -> None:
    """Its buttons are gone."""
    marks.put(db, _PREFIX + question, "")


def unsettled(db: Connection) -> Sequence[tuple[str, Address]]:
    """All that are open, by their ids."""
    rows = marks.starting_with(db, _PREFIX).items()
    return [(name.removeprefix(_PREFIX), msgspec.json.decode(value, type=_Row).address) for name, value in rows]
