"""The rows of what people said and what is not answered yet."""

import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from sqlite3 import Connection

from nanobot.bus import rows as known
from nanobot.bus import rows as troubles
from nanobot.bus.rows import decode, encode, key
from nanobot.messages import Address, InboundMessage
from nanobot.ports import Alert

_log = logging.getLogger(__name__)

MOST_DEATHS = 3
"""Processes that may die while they answer a message, before it is set aside."""

SUSPECT = MOST_DEATHS - 1
"""Deaths after which a message is answered with nothing beside it: only the last one, which it dies alone, counts."""


def add(db: Connection, message: InboundMessage, at: float) -> bool:
    """Take a message in; False if its id is known."""
    if not known.learn(db, key("in", message.id), at):
        return False
    cursor = db.execute(
        "INSERT OR IGNORE INTO inbound (key, at, message) VALUES (?, ?, ?)",
        (key("in", message.id), at, encode(message)),
    )
    return cursor.rowcount > 0  # after weeks it may be forgotten and still not be answered


def after(db: Connection, number: int) -> tuple[int, InboundMessage] | None:
    """The first message after the one of this number, and its own."""
    row = db.execute(
        "SELECT number, message FROM inbound WHERE number > ? AND NOT is_aside ORDER BY number LIMIT 1", (number,)
    ).fetchone()
    return (row[0], decode(row[1], InboundMessage)) if row else None


def begin(db: Connection, message_id: str) -> int:
    """A turn begins, and is at work from now on; in how many processes it had begun before."""
    id_key = key("in", message_id)
    row = db.execute("SELECT begun FROM inbound WHERE key = ?", (id_key,)).fetchone()
    db.execute("UPDATE inbound SET begun = begun + 1 WHERE key = ?", (id_key,))
    work(db, [message_id])
    return int(row[0]) if row else 0


def work(db: Connection, message_ids: Iterable[str]) -> None:
    """They are at work: if the process dies now, it may be their doing."""
    db.executemany("INSERT OR IGNORE INTO working (key) VALUES (?)", [(key("in", name),) for name in message_ids])


def rest(db: Connection, message_ids: Iterable[str]) -> None:
    """They are not at work: they wait for something, or the process ends in order."""
    db.executemany("DELETE FROM working WHERE key = ?", [(key("in", name),) for name in message_ids])


def charge(db: Connection) -> None:
    """The process before this one died if something was at work in it: that is counted against what was.

    Of several nobody knows which it was, so that makes each no more than a suspect. What is at work alone is set
    aside by one death more.
    """
    ((number,),) = db.execute("SELECT count(*) FROM working JOIN inbound USING (key)").fetchall()
    most = SUSPECT if number > 1 else MOST_DEATHS
    db.execute("UPDATE inbound SET deaths = deaths + 1 WHERE deaths < ? AND key IN (SELECT key FROM working)", (most,))
    db.execute("DELETE FROM working")


def suspects(db: Connection) -> Sequence[str]:
    """The ids of what is to be answered with nothing beside it."""
    rows = db.execute("SELECT message FROM inbound WHERE deaths >= ? AND NOT is_aside", (SUSPECT,)).fetchall()
    return [decode(raw, InboundMessage).id for (raw,) in rows]


def remove(db: Connection, message_ids: Iterable[str]) -> None:
    """These are dealt with."""
    ids = list(message_ids)
    rest(db, ids)
    db.executemany("DELETE FROM inbound WHERE key = ?", [(key("in", name),) for name in ids])


def set_aside(db: Connection, now: datetime) -> None:
    """Set aside a message that took too many processes down with it."""
    dead = "WHERE deaths >= ? AND NOT is_aside"
    for raw, deaths in db.execute(f"SELECT message, deaths FROM inbound {dead}", (MOST_DEATHS,)).fetchall():  # noqa: S608 - a constant
        message = decode(raw, InboundMessage)
        reason = f"the process ended {deaths} times while this was being answered"
        troubles.add_alert(db, Alert(kind="set_aside", id=message.id, at=now, reason=reason, address=message.address))
        _log.error("%s: message %s is set aside: %s", message.address.session_key, message.id, reason)
    db.execute(f"UPDATE inbound SET is_aside = 1 {dead}", (MOST_DEATHS,))  # noqa: S608 - a constant


def at(db: Connection, address: Address) -> Collection[str]:
    """The ids of what was said there and is not dealt with."""
    rows = db.execute("SELECT message FROM inbound").fetchall()
    return [message.id for (raw,) in rows if (message := decode(raw, InboundMessage)).address == address]


def aside(db: Connection) -> Sequence[InboundMessage]:
    """Return the messages that were set aside and not dealt with."""
    rows = db.execute("SELECT message FROM inbound WHERE is_aside ORDER BY number").fetchall()
    return [decode(raw, InboundMessage) for (raw,) in rows]
