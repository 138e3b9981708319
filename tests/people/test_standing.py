"""What somebody may do whose message has waited."""

from dataclasses import replace

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.people.people import ConfiguredPeople, People, as_of_now
from tests.fakes.clock import FakeClock
from tests.fakes.people import GROUP, MEMBER, OWNER, STRANGER, MemoryPeople, some_people

ALONE, IN_GROUP = Scope.person("telegram", MEMBER), Scope.group("telegram", GROUP)


def said(by: str, role: Role, scope: Scope, channel: str = "telegram") -> InboundMessage:
    origin = Origin.OWNER if role is Role.OWNER else Origin.PERSON
    return InboundMessage(
        id="m", address=Address(channel, "x"), sender=Sender(by), authority=Authority(role, scope, origin), text="hi"
    )


def test_who_may_do_what_they_could_keeps_it() -> None:
    people = some_people()
    messages = [
        said(OWNER, Role.OWNER, Scope.owner()),
        said(OWNER, Role.OWNER, IN_GROUP),
        said(MEMBER, Role.MEMBER, ALONE),
    ]

    assert [as_of_now(people, message) for message in messages] == messages


def test_a_stranger_by_now_is_not_heard_but_the_machine_is() -> None:
    people = some_people()
    terminal = said("", Role.OWNER, Scope.owner(), "cli")

    assert as_of_now(people, said(STRANGER, Role.MEMBER, ALONE)) is None
    assert as_of_now(people, said(STRANGER, Role.OWNER, IN_GROUP)) is None
    assert as_of_now(people, terminal) == terminal
    assert terminal.authority == OWNER_IN_TERMINAL


def test_who_is_no_owner_any_more_speaks_as_a_member() -> None:
    alone = as_of_now(some_people(), said(MEMBER, Role.OWNER, Scope.owner()))
    in_group = as_of_now(some_people(), said(MEMBER, Role.OWNER, IN_GROUP))

    assert alone
    assert alone.authority == Authority(Role.MEMBER, ALONE, Origin.PERSON)
    assert in_group
    assert in_group.authority == Authority(Role.MEMBER, IN_GROUP, Origin.PERSON)


def test_who_became_an_owner_speaks_as_one() -> None:
    alone = as_of_now(some_people(), said(OWNER, Role.MEMBER, Scope.person("telegram", OWNER)))

    assert alone
    assert alone.authority == OWNER_IN_TERMINAL


async def test_who_is_linked_or_not_any_more_speaks_in_the_memory_of_now() -> None:
    people = People(
        MemoryPeople(),
        FakeClock(),
        {"telegram": ConfiguredPeople(members=["a"]), "discord": ConfiguredPeople(members=["b"])},
    )
    own, shared = Scope.person("discord", "b"), Scope.person("telegram", "a")
    before = said("b", Role.MEMBER, own, "discord")
    await people.link((await people.link_code("telegram", "a")).code, "discord", "b")
    linked = as_of_now(people, before)
    await people.unlink("discord", "b")
    parted = as_of_now(people, said("b", Role.MEMBER, shared, "discord"))

    assert linked
    assert linked.authority.scope == shared
    assert parted == before


def test_another_bot_stays_a_member_of_its_group_while_it_is_configured() -> None:
    people = People(MemoryPeople(), FakeClock(), {"telegram": ConfiguredPeople(bots=["b"])})
    message = said("b", Role.MEMBER, IN_GROUP)
    quoted = replace(message, authority=replace(message.authority, origin=Origin.QUOTED))

    assert as_of_now(people, message) == message
    assert as_of_now(people, quoted) == quoted
    assert as_of_now(some_people(), message) is None
