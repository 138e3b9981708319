"""Plain words that call a command, and whose."""

from dataclasses import replace

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.core.commands import in_command
from nanobot.messages import Address, Attachment, InboundMessage, Quote, Sender

SAID = InboundMessage(
    id="m",
    address=Address("telegram", "7"),
    sender=Sender("7"),
    authority=OWNER_IN_TERMINAL,
    text="Please forget my old address.",
)
PRIVATE, GROUP = Scope.person("telegram", "7"), Scope.group("telegram", "-100")


def test_an_order_to_forget_is_the_command_that_asks_first() -> None:
    assert in_command(SAID).text == "/forget my old address"
    assert in_command(replace(SAID, text="忘掉我的猫")).text == "/forget 我的猫"
    assert in_command(replace(SAID, text="forget it")).text == "forget it"


@pytest.mark.parametrize(
    ("role", "scope", "may"),
    [
        (Role.MEMBER, PRIVATE, True),
        (Role.GUEST, PRIVATE, False),
        (Role.OWNER, GROUP, True),
        (Role.MEMBER, GROUP, False),
    ],
)
def test_it_is_one_only_from_those_who_may(role: Role, scope: Scope, may: bool) -> None:
    said = replace(SAID, authority=Authority(role, scope, Origin.PERSON))
    assert in_command(said).text.startswith("/forget") is may


def test_it_is_all_that_the_message_is() -> None:
    for other in (
        replace(SAID, files=(Attachment("media/a.png"),)),
        replace(SAID, quotes=(Quote("a letter"),)),
        replace(SAID, to_bot=False),
        replace(SAID, corrects="m0"),
    ):
        assert in_command(other) is other
