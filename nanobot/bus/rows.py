"""Rows of the spool: messages, bookmarks, known ids, open questions, and alerts for the owner."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from sqlite3 import Connection
from typing import Any, Literal, TypeVar

import msgspec

from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.ports import Alert, Backlog
from nanobot.text import well_formed

# Encoding of messages, and keys of rows.


T = TypeVar("T", bound=InboundMessage | OutboundMessage | Alert)


class UnreadableError(Exception):
    """Error: a row does not hold what was put there."""


def key(kind: Literal["in", "out", "turn"], name: str) -> bytes:
    """A name as 16 bytes: as long as it is remembered that an id was seen, nothing of a chat is kept for it."""
    return hashlib.blake2b(well_formed(name).encode(), digest_size=16, person=kind.encode()).digest()


def encode(content: InboundMessage | OutboundMessage | Alert) -> bytes:
    """As JSON. Half a surrogate pair, which JSON can carry and UTF-8 cannot, becomes U+FFFD."""
    try:
        return msgspec.json.encode(content)
    except UnicodeEncodeError:
        return msgspec.json.encode(_valid(msgspec.to_builtins(content)))


def decode(raw: bytes, kind: type[T]) -> T:
    """Decode a row. Raises UnreadableError."""
    try:
        content = msgspec.json.decode(raw, type=kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableError(str(error)) from error
    lists: dict[str, Any] = {
        field.name: tuple(value) for field in fields(content) if isinstance(value := getattr(content, field.name), list)
    }
    return replace(content, **lists)


def _valid(content: Any) -> Any:
    if isinstance(content, str):
        return well_formed(content)
    if isinstance(content, dict):
        return {name: _valid(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_valid(value) for value in content]
    return content


# Ids that were seen.


_REMEMBERED = 14 * 86400.0
"""Seconds: a platform repeats what it does not know to have arrived for a day or so."""

_LATEST = 1000
"""So many are remembered however old they seem: a clock may have been wrong by years."""

_AT_ONCE = 20
"""More than are added at once, so that old ones become fewer, and few, so that nobody waits for it."""


def learn(db: Connection, key: bytes, at: float) -> bool:
    """Remember an id, by its key; False if it is known."""
    return db.execute("INSERT OR IGNORE INTO known (key, at) VALUES (?, ?)", (key, at)).rowcount > 0


def prune_known(db: Connection, at: float) -> None:
    """Forget some of those that are too old."""
    db.execute(
        "DELETE FROM known WHERE number IN (SELECT number FROM known"
        " WHERE at < ? AND number <= (SELECT max(number) FROM known) - ? ORDER BY at LIMIT ?)",
        (at - _REMEMBERED, _LATEST, _AT_ONCE),
    )


# Bookmarks.


def put_mark(db: Connection, name: str, value: str) -> None:
    """Remember; an empty value forgets."""
    if value:
        db.execute("INSERT OR REPLACE INTO mark (key, value) VALUES (?, ?)", (well_formed(name), well_formed(value)))
    else:
        db.execute("DELETE FROM mark WHERE key = ?", (well_formed(name),))


def marks_starting_with(db: Connection, prefix: str) -> Mapping[str, str]:
    rows = db.execute("SELECT key, value FROM mark ORDER BY key").fetchall()
    return {name: value for name, value in rows if name.startswith(well_formed(prefix))}


# Questions whose buttons are shown.


_PREFIX = "question:"


class _Row(msgspec.Struct):
    """Place of a question, and the platform's id of the message with its buttons ("" while there is none)."""

    address: Address
    place: str = ""


def record_question(db: Connection, message: OutboundMessage, place: str = "") -> None:
    """Keep that this question is open, and where it stands."""
    put_mark(db, _PREFIX + message.id, msgspec.json.encode(_Row(message.address, place)).decode())


def question_place(db: Connection, question: str) -> str:
    """Return the place of a question; "" if it has not arrived."""
    value = marks_starting_with(db, _PREFIX + question).get(_PREFIX + question)
    return msgspec.json.decode(value, type=_Row).place if value else ""


def settle_question(db: Connection, question: str) -> None:
    """Its buttons are gone."""
    put_mark(db, _PREFIX + question, "")


def unsettled_questions(db: Connection) -> Sequence[tuple[str, Address]]:
    """All that are open, by their ids."""
    rows = marks_starting_with(db, _PREFIX).items()
    return [(name.removeprefix(_PREFIX), msgspec.json.decode(value, type=_Row).address) for name, value in rows]


# Alerts.


_LISTED = 30 * 86400.0  # seconds


def add_alert(db: Connection, trouble: Alert) -> None:
    db.execute("INSERT INTO trouble (at, trouble) VALUES (?, ?)", (trouble.at.timestamp(), encode(trouble)))


def alerts(db: Connection) -> Sequence[Alert]:
    """All, the oldest first."""
    rows = db.execute("SELECT trouble FROM trouble ORDER BY number").fetchall()
    return [decode(raw, Alert) for (raw,) in rows]


def acknowledge_alerts(db: Connection, ids: Iterable[str]) -> None:
    """The owner has seen these."""
    seen = set(ids)
    for number, raw in db.execute("SELECT number, trouble FROM trouble").fetchall():
        if decode(raw, Alert).id in seen:
            db.execute("DELETE FROM trouble WHERE number = ?", (number,))


def prune_alerts(db: Connection, at: float) -> None:
    """Take those off the list that have been there for long."""
    db.execute("DELETE FROM trouble WHERE at < ?", (at - _LISTED,))


# Backlog.


def backlog(db: Connection, begun: Collection[str], at: float, apart_from: str) -> Backlog:
    """Return the backlog; `begun` are the ids of messages whose turns run, `apart_from` that of one not to count."""
    asking = key("in", apart_from)
    waiting = {name for (name,) in db.execute("SELECT key FROM inbound WHERE NOT is_aside").fetchall()} - {asking}
    running = waiting & {key("in", name) for name in begun}
    ((oldest,),) = db.execute(
        "SELECT min(at) FROM"
        " (SELECT at FROM inbound WHERE NOT is_aside AND key != ? UNION ALL SELECT at FROM outbound)",
        (asking,),
    ).fetchall()
    return Backlog(
        waiting_in=len(waiting - running),
        being_answered=len(running),
        waiting_out=dict(db.execute("SELECT channel, count(*) FROM outbound GROUP BY channel").fetchall()),
        oldest=0.0 if oldest is None else max(at - oldest, 0.0),
        troubles=alerts(db),
    )
