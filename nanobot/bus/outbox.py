"""The outbox: what the bot says and what is not delivered yet."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from nanobot.bus import rows as asked
from nanobot.bus import rows as known
from nanobot.bus import rows as troubles
from nanobot.bus.rows import decode, encode, key
from nanobot.ids import new_id
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Alert, Delivery
from nanobot.text import well_formed

_PREVIEWS_KEPT = 14 * 86400.0
"""Seconds: a turn that was stopped has previews and never an answer."""


@dataclass(frozen=True, slots=True)
class WaitingDelivery:
    """A message that waits, for so many more seconds at least."""

    message: OutboundMessage
    seconds: float


def add(db: Connection, message: OutboundMessage, at: float) -> bool:
    """Put a message on its way; False if its id is known."""
    if not known.learn(db, key("out", message.id), at):
        return False
    cursor = db.execute(
        "INSERT OR IGNORE INTO outbound (key, at, channel, message) VALUES (?, ?, ?, ?)",
        (key("out", message.id), at, well_formed(message.address.channel), encode(message)),
    )
    if message.holds_up_a_turn:
        asked.record_question(db, message)
    return cursor.rowcount > 0


def waiting(db: Connection, at: float) -> Sequence[WaitingDelivery]:
    """All that is not delivered, in order. A clock that was set back makes nobody wait longer than was asked for."""
    rows = db.execute("SELECT message, postponed_at, postponed_for FROM outbound ORDER BY number").fetchall()
    return [
        WaitingDelivery(decode(raw, OutboundMessage), min(max(since + seconds - at, 0.0), seconds))
        for raw, since, seconds in rows
    ]


def delivery(db: Connection, message_id: str) -> Delivery | None:
    """A message with how far it got; None if it is not there any more."""
    id_key = key("out", message_id)
    row = db.execute("SELECT message, is_attempting, attempts FROM outbound WHERE key = ?", (id_key,)).fetchone()
    if row is None:
        return None
    message = decode(row[0], OutboundMessage)
    parts = db.execute("SELECT platform_id FROM part WHERE message = ? ORDER BY number", (id_key,)).fetchall()
    previews = _previews(db, message)
    return Delivery(
        message=message,
        parts=tuple(name for (name,) in parts),
        previews=tuple(name for name in previews if name is not None),
        # A preview that may have arrived was dealt with when the first part did.
        is_uncertain=bool(row[1]) or (None in previews and not parts),
        attempts=row[2],
        place=asked.question_place(db, message.settles) if message.settles else "",
    )


def _previews(db: Connection, message: OutboundMessage) -> Sequence[str | None]:
    if message.turn is None:
        return []
    rows = db.execute(
        "SELECT platform_id FROM preview WHERE turn = ? AND session = ? ORDER BY number",
        (key("turn", message.turn), well_formed(message.address.session_key)),
    )
    return [name for (name,) in rows.fetchall()]


def attempting(db: Connection, message_id: str) -> None:
    db.execute("UPDATE outbound SET is_attempting = 1 WHERE key = ?", (key("out", message_id),))


def arrived(db: Connection, message_id: str, platform_id: str) -> None:
    id_key = key("out", message_id)
    if db.execute("UPDATE outbound SET is_attempting = 0 WHERE key = ?", (id_key,)).rowcount:
        db.execute("INSERT INTO part (message, platform_id) VALUES (?, ?)", (id_key, platform_id))


def previewing(db: Connection, turn: str, address: Address, at: float) -> None:
    db.execute(
        "INSERT INTO preview (turn, session, at) VALUES (?, ?, ?)",
        (key("turn", turn), well_formed(address.session_key), at),
    )


def previewed(db: Connection, turn: str, platform_id: str | None) -> None:
    """The oldest preview of the turn whose outcome is open has arrived, or has not (None)."""
    row = db.execute(
        "SELECT number FROM preview WHERE turn = ? AND platform_id IS NULL ORDER BY number", (key("turn", turn),)
    ).fetchone()
    if row and platform_id is None:
        db.execute("DELETE FROM preview WHERE number = ?", row)
    elif row:
        db.execute("UPDATE preview SET platform_id = ? WHERE number = ?", (platform_id, *row))


def keep(db: Connection, turn: str, platform_ids: Iterable[str]) -> None:
    """These previews are messages of their own from now on."""
    rows = [(key("turn", turn), name) for name in platform_ids]
    db.executemany("DELETE FROM preview WHERE turn = ? AND platform_id = ?", rows)


def leave(db: Connection) -> Sequence[tuple[str, Address]]:
    """At a start all previews belong to processes that have ended: by a name for each turn, those that nobody clears.

    A turn that goes on has previews of its own, so those of before get another name. Those of a turn whose answer
    waits go with it; one of which it is not known whether it arrived stays the turn's, which can be searched for.
    """
    waits = {key("turn", turn) for turn in _turns_underway(db)}
    rows = db.execute("SELECT DISTINCT turn, session FROM preview WHERE platform_id IS NOT NULL ORDER BY number")
    left = [(new_id(), turn, session) for turn, session in rows.fetchall() if turn not in waits]
    db.executemany(
        "UPDATE preview SET turn = ? WHERE turn = ? AND session = ? AND platform_id IS NOT NULL",
        [(key("turn", name), turn, session) for name, turn, session in left],
    )
    return [(name, Address(*session.split(":", 2))) for name, _, session in left]


def _turns_underway(db: Connection) -> Iterator[str]:
    for (raw,) in db.execute("SELECT message FROM outbound").fetchall():
        if turn := decode(raw, OutboundMessage).turn:
            yield turn


def postpone(db: Connection, message_id: str, at: float, seconds: float, *, may_have_arrived: bool) -> None:
    db.execute(
        "UPDATE outbound SET attempts = attempts + 1, is_attempting = ?, postponed_at = ?, postponed_for = ?"
        " WHERE key = ?",
        (may_have_arrived, at, seconds, key("out", message_id)),
    )


def remove(db: Connection, message_id: str) -> OutboundMessage | None:
    """A message that needs no delivery any more, with all that was noted for it."""
    id_key = key("out", message_id)
    row = db.execute("SELECT message FROM outbound WHERE key = ?", (id_key,)).fetchone()
    if row is None:
        return None
    message = decode(row[0], OutboundMessage)
    db.execute("DELETE FROM outbound WHERE key = ?", (id_key,))
    if message.settles:
        asked.settle_question(db, message.settles)
    elif message.holds_up_a_turn:
        _place(db, message)
    db.execute("DELETE FROM part WHERE message = ?", (id_key,))
    if message.turn is not None:
        session = well_formed(message.address.session_key)
        db.execute("DELETE FROM preview WHERE turn = ? AND session = ?", (key("turn", message.turn), session))
    return message


def _place(db: Connection, message: OutboundMessage) -> None:
    """The buttons of a question stand below its last part."""
    last = "SELECT platform_id FROM part WHERE message = ? ORDER BY number DESC LIMIT 1"
    if row := db.execute(last, (key("out", message.id),)).fetchone():
        asked.record_question(db, message, row[0])


def fail(db: Connection, message_id: str, reason: str, now: datetime) -> OutboundMessage | None:
    """A message that will never be delivered: it is removed, and the owner can see why."""
    message = remove(db, message_id)
    if message is not None:
        trouble = Alert(kind="undeliverable", id=message_id, at=now, reason=reason, address=message.address)
        troubles.add_alert(db, trouble)
    return message


def prune(db: Connection, at: float) -> None:
    """Forget previews whose turn has come to nothing."""
    db.execute("DELETE FROM preview WHERE at < ?", (at - _PREVIEWS_KEPT,))
