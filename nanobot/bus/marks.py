"""The rows of bookmarks."""

from collections.abc import Mapping
from sqlite3 import Connection

from nanobot.bus.rows import valid


def put(db: Connection, name: str, value: str) -> None:
    """Remember; an empty value forgets."""
    if value:
        db.execute("INSERT OR REPLACE INTO mark (key, value) VALUES (?, ?)", (valid(name), valid(value)))
    else:
        db.execute("DELETE FROM mark WHERE key = ?", (valid(name),))


def starting_with(db: Connection, prefix: str) -> Mapping[str, str]:
    rows = db.execute("SELECT key, value FROM mark ORDER BY key").fetchall()
    return {name: value for name, value in rows if name.startswith(valid(prefix))}
