"""What /status says of the gateway, and to whom."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.commands.admin import GatewayLines
from nanobot.core.commands import CommandCall
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.ports import Alert, Backlog
from nanobot.ports.gateway import ChannelState, Flow, Gap, GapReason, GatewayState

AT = datetime(2026, 3, 2, 10, 15, tzinfo=UTC)
BLOCKED = Alert(
    kind="undeliverable", id="m1", at=AT, reason="The person blocked the bot.", address=Address("telegram", "42")
)
STATE = GatewayState(
    version="1.0",
    pid=7,
    started=AT,
    uptime=60.0,
    is_stopping=False,
    channels=[
        ChannelState(name="telegram", state="up", how="polling", bot="@ada_bot", since=AT),
        ChannelState(name="discord", state="refused", how="gateway", trouble="Discord does not know this token"),
    ],
    backlog=Backlog(waiting_in=2, being_answered=1, waiting_out={"telegram": 3}, oldest=150.0, troubles=[BLOCKED]),
)


class Gateway:
    """A gateway in this state."""

    def __init__(self) -> None:
        self.state = STATE

    async def look(self, apart_from: str = "") -> GatewayState:
        return self.state

    async def acknowledge(self, ids: Collection[str]) -> None:
        left = [trouble for trouble in self.state.backlog.troubles if trouble.id not in ids]
        self.state = replace(self.state, backlog=replace(self.state.backlog, troubles=left))


def asked(argument: str = "", authority: Authority = OWNER_IN_TERMINAL) -> CommandCall:
    message = InboundMessage(
        id="1", address=Address("telegram", "1"), sender=Sender("1"), authority=authority, text="/status"
    )
    return CommandCall(message, argument, "en")


async def test_an_owner_hears_of_channels_what_waits_and_what_could_not_be_delivered() -> None:
    gateway = Gateway()
    lines = await GatewayLines(gateway.look, gateway.acknowledge)(asked())
    assert list(lines) == [
        "The gateway runs: nanobot 1.0, process 7, since 2026-03-02 10:15.",
        "telegram: up as @ada_bot, polling, since 2026-03-02 10:15",
        "discord: refused. Discord does not know this token. Put the right token into config.yaml and start the "
        "gateway again.",
        "Messages: 2 to be answered, 1 being answered, 3 to be delivered.",
        "The oldest of them has waited 2 min.",
        "- 2026-03-02 10:15: I could not deliver a message to telegram:42. What came back: The person blocked the bot.",
        "When you have seen these: /status seen",
    ]


async def test_what_was_not_read_after_a_pause_stands_behind_its_channel() -> None:
    gateway = Gateway()
    reasons: list[GapReason] = ["count", "age", "crowd", "requests", "threads", "forbidden"]
    gaps = [Gap(where=f"discord:{number}", why=why) for number, why in enumerate(reasons)]
    gaps.append(Gap(where="", why="requests", chats=7))
    gateway.state = replace(STATE, channels=[replace(STATE.channels[0], name="discord", gaps=gaps)])
    lines = await GatewayLines(gateway.look, gateway.acknowledge)(asked())
    assert lines[2] == "- discord: after I was away I could not look at 7 chats: it was too much at once"
    assert [line.split(": ")[1].split()[1] for line in lines[3:7]] == [
        "discord:5",
        "discord:4",
        "discord:3",
        "discord:2",
    ]
    assert lines[7] == "- discord: and 2 more gaps like these"
    told = msgspec.to_builtins(gateway.state)  # as `nanobot status --json` has it from the gateway
    assert told["channels"][0]["gaps"][0] == {"where": "discord:0", "why": "count", "chats": 1}
    assert list(msgspec.convert(told, GatewayState).channels[0].gaps) == gaps


async def test_what_does_not_get_through_stands_behind_its_channel() -> None:
    gateway = Gateway()
    flow = Flow(silent_until=AT, silent_chats=2, late_chats=1, late_since=AT, late_reason="cannot connect")
    gateway.state = replace(STATE, channels=[replace(STATE.channels[0], flow=flow)])
    lines = await GatewayLines(gateway.look, gateway.acknowledge)(asked())
    assert lines[2:4] == [
        "- telegram wants me to be silent in 2 chats, until 2026-03-02 10:15 at the latest. What I have to say there "
        "waits.",
        "- telegram: 1 chat I cannot get through to, the first since 2026-03-02 10:15. I go on trying. What came back: "
        "cannot connect.",
    ]


async def test_what_was_seen_is_not_listed_again() -> None:
    gateway = Gateway()
    lines = await GatewayLines(gateway.look, gateway.acknowledge)(asked("seen"))
    assert not [line for line in lines if "blocked" in line or "seen" in line]
    assert not gateway.state.backlog.troubles


async def test_others_and_groups_hear_nothing_of_it() -> None:
    gateway = Gateway()
    member = Authority(Role.MEMBER, Scope.person("telegram", "1"), Origin.PERSON)
    owner_in_a_group = Authority(Role.OWNER, Scope.group("telegram", "-1"), Origin.OWNER)
    for authority in (member, owner_in_a_group):
        assert not await GatewayLines(gateway.look, gateway.acknowledge)(asked("seen", authority))
    assert gateway.state.backlog.troubles
