"""What `GET /health` tells whoever can reach the port."""

from datetime import UTC, datetime

import pytest

from nanobot.ops.health import figures
from nanobot.ports.bus import Backlog
from nanobot.ports.gateway import ChannelState, GatewayState


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        ("/home/ada/bot/.nanobot/spool.db could not be written: disk is full", "… could not be written: disk is full"),
        ("spool (~/bot/spool.db) is locked", "spool (…) is locked"),
        ("https://api.example.com/v1 answered 502", "https://api.example.com/v1 answered 502"),
        ("/home/ada/my own bot/.nanobot/spool.db is locked: wait", "… is locked: wait"),
        ("[Errno 2] No such file or directory: '/home/ada b/c d'", "[Errno 2] No such file or directory: …"),
        ("../bot/spool.db could not be read at 127.0.0.1:80", "… could not be read at 127.0.0.1:80"),
        ("network", "network"),
    ],
)
def test_no_path_is_told(trouble: str, told: str) -> None:
    state = GatewayState(
        version="1",
        pid=1,
        started=datetime(2026, 12, 1, tzinfo=UTC),
        uptime=1.0,
        is_stopping=False,
        channels=[ChannelState(name="disk", state="trouble", trouble=trouble)],
        backlog=Backlog(waiting_in=0, being_answered=0, waiting_out={}, oldest=0.0, troubles=()),
    )

    channels = figures(state, is_well=False)["channels"]
    assert isinstance(channels, dict)
    assert channels["disk"]["trouble"] == told
