"""Removing what is to be forgotten."""

from collections.abc import Callable, Collection
from sqlite3 import Connection

from nanobot.bus import asked, inbox, outbox
from nanobot.bus.rows import decode, valid
from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.ports import Trouble

IsMeant = Callable[[InboundMessage | OutboundMessage | Trouble], bool]
"""Whether this is to be forgotten. Called in another thread: it looks at nothing but what it is given."""


def count(db: Connection, is_meant: IsMeant) -> int:
    """How many messages and troubles are meant."""
    said = _meant(db, "SELECT message FROM inbound", InboundMessage, is_meant)
    answers = _meant(db, "SELECT message FROM outbound", OutboundMessage, is_meant)
    troubles = [raw for (raw,) in db.execute("SELECT trouble FROM trouble") if is_meant(decode(raw, Trouble))]
    return len(said) + len(answers) + len(troubles)


def erase(db: Connection, is_meant: IsMeant, sessions: Collection[str] = ()) -> int:
    """Remove all that is meant, from the first question to the last trace of its delivery; how many messages.

    Of these sessions not even the keys stay.
    """
    db.executemany("DELETE FROM preview WHERE session = ?", [(valid(session),) for session in sessions])
    for question, address in asked.unsettled(db):
        if address.session_key in sessions:
            asked.settled(db, question)
    said = _meant(db, "SELECT message FROM inbound", InboundMessage, is_meant)
    inbox.remove(db, said)
    answers = _meant(db, "SELECT message FROM outbound", OutboundMessage, is_meant)
    for name in answers:
        outbox.remove(db, name)
    for number, raw in db.execute("SELECT number, trouble FROM trouble").fetchall():
        if is_meant(decode(raw, Trouble)):
            db.execute("DELETE FROM trouble WHERE number = ?", (number,))
    return len(said) + len(answers)


def _meant(
    db: Connection, query: str, kind: type[InboundMessage] | type[OutboundMessage], is_meant: IsMeant
) -> list[str]:
    messages = [decode(raw, kind) for (raw,) in db.execute(query).fetchall()]
    return [message.id for message in messages if is_meant(message)]
