"""Counting what the spool holds."""

from collections.abc import Collection
from sqlite3 import Connection

from nanobot.bus import troubles
from nanobot.bus.rows import key
from nanobot.ports import Backlog


def backlog(db: Connection, begun: Collection[str], at: float, apart_from: str) -> Backlog:
    """What there is; `begun` are the ids of the messages whose turns run, `apart_from` that of one not to count."""
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
        troubles=troubles.listed(db),
    )
