"""Ids that were seen, by which repetitions are recognised."""

from sqlite3 import Connection

_REMEMBERED = 14 * 86400.0
"""Seconds: a platform repeats what it does not know to have arrived for a day or so."""

_LATEST = 1000
"""So many are remembered however old they seem: a clock may have been wrong by years."""

_AT_ONCE = 20
"""More than are added at once, so that old ones become fewer, and few, so that nobody waits for it."""


def learn(db: Connection, key: bytes, at: float) -> bool:
    """Remember an id, by its key; False if it is known."""
    return db.execute("INSERT OR IGNORE INTO known (key, at) VALUES (?, ?)", (key, at)).rowcount > 0


def prune(db: Connection, at: float) -> None:
    """Forget some of those that are too old."""
    db.execute(
        "DELETE FROM known WHERE number IN (SELECT number FROM known"
        " WHERE at < ? AND number <= (SELECT max(number) FROM known) - ? ORDER BY at LIMIT ?)",
        (at - _REMEMBERED, _LATEST, _AT_ONCE),
    )
