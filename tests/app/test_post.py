"""One chat platform, as it is told of."""

from datetime import UTC, datetime, timedelta

from nanobot.app.channels import flow_of
from nanobot.channels.delivery.deliverer import DeliveryStatus
from nanobot.channels.delivery.rate_limit import Delay
from nanobot.messages import Address
from nanobot.ports.gateway import Flow

NOW = datetime(2026, 3, 2, 10, 15, tzinfo=UTC)


def test_what_does_not_get_through_is_told_with_times_that_people_read() -> None:
    late = [
        Delay(Address("telegram", chat), NOW - timedelta(minutes=age), "no way.", 5.0)
        for chat, age in (("7", 9), ("8", 1))
    ]
    assert flow_of(DeliveryStatus(0.0, {}, []), NOW) == Flow()
    assert flow_of(DeliveryStatus(60.0, {"7": 90.0}, []), NOW) == Flow(silent_until=NOW + timedelta(minutes=1))
    assert flow_of(DeliveryStatus(0.0, {"7": 30.0, "8": 60.0}, late), NOW) == Flow(
        silent_until=NOW + timedelta(minutes=1),
        silent_chats=2,
        late_chats=2,
        late_since=NOW - timedelta(minutes=9),
        late_reason="no way",
    )
