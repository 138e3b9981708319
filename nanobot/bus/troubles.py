"""The rows of what the owner should know."""

from collections.abc import Iterable, Sequence
from sqlite3 import Connection

from nanobot.bus.rows import decode, encode
from nanobot.ports import Trouble

_LISTED = 30 * 86400.0  # seconds


def add(db: Connection, trouble: Trouble) -> None:
    db.execute("INSERT INTO trouble (at, trouble) VALUES (?, ?)", (trouble.at.timestamp(), encode(trouble)))


def listed(db: Connection) -> Sequence[Trouble]:
    """All, the oldest first."""
    rows = db.execute("SELECT trouble FROM trouble ORDER BY number").fetchall()
    return [decode(raw, Trouble) for (raw,) in rows]


def acknowledge(db: Connection, ids: Iterable[str]) -> None:
    """The owner has seen these."""
    seen = set(ids)
    for number, raw in db.execute("SELECT number, trouble FROM trouble").fetchall():
        if decode(raw, Trouble).id in seen:
            db.execute("DELETE FROM trouble WHERE number = ?", (number,))


def prune(db: Connection, at: float) -> None:
    """Take those off the list that have been there for long."""
    db.execute("DELETE FROM trouble WHERE at < ?", (at - _LISTED,))
