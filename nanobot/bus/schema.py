"""The tables of the spool."""

import sqlite3
from pathlib import Path

from nanobot.errors import StoreError
from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.ports import Trouble

VERSION = 1

# Messages are JSON. Keys are hashes of ids (see rows.py). Times are seconds since 1970, by the clock on the wall.
_TABLES = """
CREATE TABLE known (  -- ids that came in or went out, for recognising repetitions
    number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, at REAL NOT NULL);
CREATE INDEX known_at ON known (at);
CREATE TABLE inbound (  -- what is not answered yet
    number INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, at REAL NOT NULL,
    begun INTEGER NOT NULL DEFAULT 0,     -- processes in which its turn began
    deaths INTEGER NOT NULL DEFAULT 0,    -- of processes in which it was at work
    is_aside INTEGER NOT NULL DEFAULT 0,  -- it is not received any more
    message BLOB NOT NULL);
CREATE TABLE outbound (  -- what is not delivered yet
    number INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, at REAL NOT NULL, channel TEXT NOT NULL,
    is_attempting INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
    postponed_at REAL NOT NULL DEFAULT 0, postponed_for REAL NOT NULL DEFAULT 0,  -- seconds
    message BLOB NOT NULL);
CREATE TABLE part (  -- of an outbound message, that has arrived
    number INTEGER PRIMARY KEY, message BLOB NOT NULL, platform_id TEXT NOT NULL);
CREATE TABLE preview (  -- of a turn's answer; without platform_id it is not known whether it arrived
    number INTEGER PRIMARY KEY, turn BLOB NOT NULL, session TEXT NOT NULL, at REAL NOT NULL, platform_id TEXT);
CREATE TABLE trouble (number INTEGER PRIMARY KEY, at REAL NOT NULL, trouble BLOB NOT NULL);
CREATE TABLE mark (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_WORKING = """
CREATE TABLE IF NOT EXISTS working (  -- messages whose turns are at work; at a start, those that were at a death
    key BLOB PRIMARY KEY) WITHOUT ROWID;
"""
NAMES = ("known", "inbound", "outbound", "part", "preview", "trouble", "mark")
CONTENT: dict[str, type[InboundMessage] | type[OutboundMessage] | type[Trouble]] = {
    "inbound": InboundMessage,
    "outbound": OutboundMessage,
    "trouble": Trouble,
}
"""What the last column of these tables holds."""


def make_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Make those of a new file. Raises StoreError if a newer version made them."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer nanobot (version {version} of the file, this one knows {VERSION}). "
            "Install that one again; nothing was changed."
        )
    if version == 0:
        connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
    connection.execute(_WORKING)
