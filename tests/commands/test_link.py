"""/link, through the door and back."""

import re

import pytest

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.channels.access import Contact, PeoplePolicy
from nanobot.commands.admin import link_command
from nanobot.core.commands import CommandAnswer, CommandCall
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.people.codes import MOST_WRONG
from nanobot.people.people import ConfiguredPeople, People
from tests.fakes.clock import FakeClock
from tests.fakes.people import MemoryPeople

TELEGRAM, DISCORD = ("telegram", "1"), ("discord", "2")


class House:
    """Two members and an owner on two channels."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        configured = {
            "telegram": ConfiguredPeople(owners=["9"], members=["1"], groups={"-5": "open"}),
            "discord": ConfiguredPeople(members=["2", "3"]),
        }
        self.people = People(MemoryPeople(), self.clock, configured)
        self.access = PeoplePolicy(self.people, self._send, self.clock)

    async def _send(self, message: OutboundMessage) -> None:
        raise AssertionError(message)

    async def scope(self, who: tuple[str, str], group: str = "") -> Authority:
        where = Address(who[0], group or who[1])
        contact = Contact(id="m", address=where, sender=Sender(who[1]), groups=[group] if group else [])
        admission = await self.access.admit(contact)
        assert admission is not None
        return admission.authority

    async def type(self, who: tuple[str, str], argument: str = "", group: str = "") -> CommandAnswer:
        where = Address(who[0], group or who[1])
        message = InboundMessage(
            id="m", address=where, sender=Sender(who[1]), authority=await self.scope(who, group), text=argument
        )
        return await link_command(self.people).handler(CommandCall(message, argument, "en"))

    async def code(self, who: tuple[str, str]) -> str:
        found = re.search(r"/link (\w+)", (await self.type(who)).text)
        assert found is not None
        return found[1]


async def test_a_member_on_two_channels_shares_the_memory_of_the_first_and_stays_a_member() -> None:
    house = House()

    told = await house.type(DISCORD, await house.code(TELEGRAM))

    assert not told.failed
    shared = Authority(Role.MEMBER, Scope.person(*TELEGRAM), Origin.PERSON)
    assert await house.scope(DISCORD) == await house.scope(TELEGRAM) == shared
    assert (await house.scope(TELEGRAM, group="-5")).scope == Scope.group("telegram", "-5")

    await house.type(DISCORD, "off")
    assert (await house.scope(DISCORD)).scope == Scope.person(*DISCORD)


async def test_who_joins_brings_along_those_who_had_joined_them() -> None:
    house, third = House(), ("discord", "3")

    await house.type(third, await house.code(DISCORD))
    await house.type(DISCORD, await house.code(TELEGRAM))

    assert {(await house.scope(who)).scope for who in (TELEGRAM, DISCORD, third)} == {Scope.person(*TELEGRAM)}
    assert (await house.type(TELEGRAM, await house.code(third))).failed


async def test_the_link_is_taken_back_on_either_side() -> None:
    house = House()
    await house.type(DISCORD, await house.code(TELEGRAM))

    assert not (await house.type(TELEGRAM, "off")).failed

    assert (await house.scope(DISCORD)).scope == Scope.person(*DISCORD)
    assert (await house.scope(TELEGRAM)).scope == Scope.person(*TELEGRAM)
    assert (await house.type(TELEGRAM, "off")).failed


async def test_codes_that_either_had_given_are_void_once_they_are_linked() -> None:
    house, third = House(), ("discord", "3")
    earlier = await house.code(DISCORD)
    await house.type(DISCORD, await house.code(TELEGRAM))

    assert (await house.type(third, earlier)).failed

    assert (await house.scope(third)).scope == Scope.person(*third)


async def test_a_code_serves_once_and_for_ten_minutes() -> None:
    house = House()
    used, old = await house.code(TELEGRAM), ""
    await house.type(DISCORD, used)
    await house.type(DISCORD, "off")

    assert (await house.type(DISCORD, used)).failed
    old = await house.code(TELEGRAM)
    house.clock.advance(601)
    assert (await house.type(DISCORD, old)).failed
    assert (await house.scope(DISCORD)).scope == Scope.person(*DISCORD)


async def test_owners_are_neither_made_nor_linked_this_way() -> None:
    house, owner = House(), ("telegram", "9")

    assert (await house.type(owner)).failed
    assert (await house.type(owner, await house.code(TELEGRAM))).failed
    assert (await house.scope(owner)).scope.is_owner
    assert (await house.scope(TELEGRAM)).role is Role.MEMBER


async def test_who_guesses_is_not_listened_to_for_an_hour_and_others_are() -> None:
    house = House()
    code = await house.code(TELEGRAM)

    for _ in range(MOST_WRONG):
        assert "no such code" in (await house.type(DISCORD, "AAAAAAAA")).text
    assert "an hour" in (await house.type(DISCORD, code)).text
    assert not (await house.type(("discord", "3"), code)).failed
    house.clock.advance(3601)
    assert not (await house.type(DISCORD, await house.code(TELEGRAM))).failed


@pytest.mark.parametrize("argument", ["", "AAAAAAAA", "off"])
async def test_in_a_group_nothing_is_linked(argument: str) -> None:
    house = House()

    assert "private chat" in (await house.type(TELEGRAM, argument, group="-5")).text
