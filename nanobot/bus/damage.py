"""What becomes of a damaged file of the spool."""

import logging
import sqlite3
from contextlib import closing
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from nanobot.bus.rows import UnreadableError, decode
from nanobot.bus.schema import CONTENT, NAMES

_log = logging.getLogger(__name__)

SUFFIXES = ("", "-wal", "-shm")
"""Of the files that are one database."""

_DAMAGED = ".damaged-"


def set_aside(path: Path, now: datetime) -> Path:
    """Give it another name next to its own; that name. Raises OSError."""
    aside = _free(path.with_name(f"{path.name}{_DAMAGED}{now:%Y%m%dT%H%M%S}"))
    for suffix in reversed(SUFFIXES):  # without its file a log is deleted when a new file is made
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.replace(aside.with_name(aside.name + suffix))
    return aside


def _free(path: Path) -> Path:
    """This path, or with a number behind it the first that does not exist."""
    names = (path.name if number == 1 else f"{path.name}+{number}" for number in count(1))
    return next(file for name in names if not (file := path.with_name(name)).exists())


def remove_damaged(path: Path) -> None:
    """Delete the damaged files that were set aside: what is to be forgotten cannot be looked for in them."""
    for aside in path.parent.glob(f"{path.name}{_DAMAGED}*"):
        aside.unlink(missing_ok=True)
        _log.warning("%s was deleted, so that nothing that is to be forgotten stays in it", aside)


def salvage(aside: Path, connection: sqlite3.Connection) -> int:
    """Take over into a new spool each row that can be read; how many."""
    connection.execute("BEGIN")
    with closing(sqlite3.connect(f"{aside.absolute().as_uri()}?mode=ro", uri=True)) as old:
        count = sum(_salvage_table(old, connection, table) for table in NAMES)
    connection.execute("COMMIT")
    return count


def _salvage_table(old: sqlite3.Connection, connection: sqlite3.Connection, table: str) -> int:
    count = 0
    try:
        for row in old.execute(f"SELECT * FROM {table}"):  # noqa: S608 - our own names
            if _is_sound(row, table):
                places = ",".join("?" * len(row))
                connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", row)  # noqa: S608
                count += 1
    except sqlite3.Error as error:
        _log.warning("not every row of the damaged table %s could be read: %s", table, error)
    return count


def _is_sound(row: tuple[Any, ...], table: str) -> bool:
    if table in CONTENT:
        try:
            decode(row[-1], CONTENT[table])
        except UnreadableError:
            return False
    return True
