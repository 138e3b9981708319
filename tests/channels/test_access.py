"""The access policy in front of a channel."""

import asyncio
import logging
from dataclasses import dataclass, field, replace

import pytest

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.channels.access import ANSWER_EVERY, LOG_EVERY, Admission, Contact, Meant, PeoplePolicy
from nanobot.errors import StoreError
from nanobot.messages import Address, OutboundMessage, Sender
from nanobot.people.codes import MOST_ASKING
from nanobot.people.people import MACHINE, ConfiguredPeople, People
from tests.fakes.clock import FakeClock
from tests.fakes.people import GROUP, MEMBER, OWNER, STRANGER, MemoryPeople, nobody, some_people

OTHER_GROUP = "-200"


@dataclass
class Front:
    """An access policy, and what was said through it."""

    clock: FakeClock = field(default_factory=FakeClock)
    store: MemoryPeople = field(default_factory=MemoryPeople)
    sent: list[OutboundMessage] = field(default_factory=list)
    full: bool = False

    def __post_init__(self) -> None:
        self.people = some_people(self.clock, self.store)
        self.door = PeoplePolicy(self.people, self.send, self.clock)

    async def send(self, message: OutboundMessage) -> None:
        if self.full:
            raise StoreError("no room")
        self.sent.append(message)

    async def alone(self, user_id: str, *, name: str = "", number: int = 1, is_bot: bool = False) -> Admission | None:
        return await self.door.admit(alone(user_id, name=name, number=number, is_bot=is_bot))

    async def in_group(
        self, user_id: str, meant: Meant = "none", *, chat: str = GROUP, text: str = "", is_bot: bool = False
    ) -> Admission | None:
        contact = replace(alone(user_id), address=Address("telegram", chat), groups=(chat,), meant=meant)
        return await self.door.admit(replace(contact, text=text, is_bot=is_bot))


def alone(user_id: str, *, name: str = "", number: int = 1, is_bot: bool = False) -> Contact:
    return Contact(
        id=f"telegram:{user_id}:{number}",
        address=Address("telegram", user_id),
        sender=Sender(user_id, name),
        text="hello",
        is_bot=is_bot,
    )


@pytest.fixture
def front() -> Front:
    return Front()


async def test_alone_an_owner_opens_the_owners_memory_and_a_member_their_own(front: Front) -> None:
    assert await front.alone(OWNER) == Admission(Authority(Role.OWNER, Scope.owner(), Origin.OWNER))
    own = Scope.person("telegram", MEMBER)
    assert await front.alone(MEMBER) == Admission(Authority(Role.MEMBER, own, Origin.PERSON))
    assert front.sent == []


async def test_in_a_group_everybody_has_their_role_and_the_groups_memory(front: Front) -> None:
    scope = Scope.group("telegram", GROUP)

    assert await front.in_group(OWNER, "mention") == Admission(Authority(Role.OWNER, scope, Origin.OWNER))
    assert await front.in_group(MEMBER, "command") == Admission(Authority(Role.MEMBER, scope, Origin.PERSON))


async def test_a_thread_has_the_memory_of_its_channel_also_where_the_server_was_let_in() -> None:
    configured = ConfiguredPeople(owners=[OWNER], groups={"server": "open"})
    people = People(MemoryPeople(), FakeClock(), {"discord": configured})
    door = PeoplePolicy(people, Front().send, FakeClock())
    contact = Contact(
        id="discord:1",
        address=Address("discord", "channel", "thread"),
        sender=Sender(OWNER),
        groups=("thread", "channel", "server"),
    )

    admission = await door.admit(contact)

    assert admission is not None
    assert admission.authority.scope == Scope.group("discord", "channel")


@pytest.mark.parametrize(
    ("listening", "heard"),
    [
        ("mention", {"command", "mention"}),
        ("reply", {"command", "mention", "reply"}),
        ("open", {"command", "mention", "reply", "none"}),
    ],
)
async def test_a_group_is_listened_to_as_its_owner_wants(front: Front, listening: Meant, heard: set[Meant]) -> None:
    await front.people.admit(Address("telegram", GROUP), listening, OWNER)  # type: ignore[arg-type]  # of a parameter

    every: tuple[Meant, ...] = ("command", "mention", "reply", "other", "none")
    assert {meant for meant in every if await front.in_group(MEMBER, meant)} == heard


async def test_what_is_not_said_to_the_bot_is_kept_only_if_the_group_wants_it(front: Front) -> None:
    assert await front.in_group(MEMBER) is None
    await front.people.keep_all(Address("telegram", GROUP), OWNER, keeps_all=True)

    overheard, spoken_to = await front.in_group(MEMBER), await front.in_group(MEMBER, "mention")

    assert overheard is not None
    assert not overheard.to_bot
    assert spoken_to is not None
    assert spoken_to.to_bot


@pytest.mark.parametrize("meant", ["command", "mention", "reply", "other", "none"])
async def test_a_stranger_in_a_group_is_neither_heard_nor_kept_nor_answered(front: Front, meant: Meant) -> None:
    await front.people.admit(Address("telegram", GROUP), "open", OWNER)
    await front.people.keep_all(Address("telegram", GROUP), OWNER, keeps_all=True)
    book = front.store.book

    assert await front.in_group(STRANGER, meant, text="/pair group open") is None
    assert front.sent == []
    assert front.store.book == book


async def test_a_group_that_nobody_let_in_hears_an_owners_pair_group_and_nothing_else(front: Front) -> None:
    async def hears(user_id: str, text: str, meant: Meant = "command") -> bool:
        return await front.in_group(user_id, meant, chat=OTHER_GROUP, text=text) is not None

    for text in ("/pair group", "/pair group open", " ／PAIR@nano_bot  Group off", "/pair\ngroup keep on"):
        assert await hears(OWNER, text), text
        assert not await hears(MEMBER, text), text
        assert not await hears(STRANGER, text), text
        assert not await hears(OWNER, text, "none"), f"{text}, to another bot"
    for text in ("/pair", "/pair approve group", "/pairgroup", "/pair groups", "/help", "x /pair group", "hello"):
        assert not await hears(OWNER, text), text


async def test_an_owner_who_speaks_to_it_in_such_a_group_learns_what_to_do_once_in_a_while(front: Front) -> None:
    for _ in range(3):
        assert await front.in_group(OWNER, "mention", chat=OTHER_GROUP) is None
    assert await front.in_group(MEMBER, "mention", chat=OTHER_GROUP) is None

    assert [message.address.chat for message in front.sent] == [OTHER_GROUP]
    assert "/pair group" in front.sent[0].text


async def test_a_strangers_code_comes_once_in_a_while_in_both_languages_and_stays_the_same(front: Front) -> None:
    for number in range(3):
        assert await front.alone(STRANGER, number=number) is None
    front.clock.advance(ANSWER_EVERY)
    await front.alone(STRANGER, number=3)

    (asking,) = front.people.asking
    assert [message.id for message in front.sent] == [f"door:telegram:{STRANGER}:{number}" for number in (0, 3)]
    assert all(message.text.count(asking.code) >= 2 for message in front.sent)
    assert "配对码" in front.sent[0].text
    assert "hello" not in repr(front.store.book)


async def test_a_message_that_comes_again_after_a_restart_is_answered_under_the_same_id(front: Front) -> None:
    await front.alone(STRANGER)
    again = PeoplePolicy(front.people, front.send, front.clock)
    await again.admit(alone(STRANGER))

    assert len({message.id for message in front.sent}) == 1
    assert len({message.text for message in front.sent}) == 1


async def test_many_messages_at_once_get_one_answer(front: Front) -> None:
    await asyncio.gather(*(front.alone(STRANGER, number=number) for number in range(10)))

    assert len(front.sent) == 1


async def test_many_strangers_keep_none_from_getting_a_code(front: Front) -> None:
    for number in range(MOST_ASKING + 1):
        await front.alone(f"5{number}")
    await front.alone(STRANGER)

    assert len(front.people.asking) == MOST_ASKING
    assert front.people.asking[-1].id == STRANGER
    assert front.people.asking[-1].code in front.sent[-1].text


async def test_whoever_was_denied_hears_so_without_a_code(front: Front) -> None:
    await front.alone(STRANGER)
    await front.people.deny(front.people.asking[0].code, "an owner")
    front.clock.advance(ANSWER_EVERY)
    await front.alone(STRANGER, number=1)

    assert len(front.sent) == 2
    assert "no code" in front.sent[-1].text


async def test_without_an_owner_the_code_is_for_the_machine() -> None:
    front = Front()
    front.people = nobody(front.clock)
    front.door = PeoplePolicy(front.people, front.send, front.clock)
    await front.alone(STRANGER)

    assert f"nanobot pair approve {front.people.asking[0].code}" in front.sent[0].text


async def test_whoever_is_approved_is_let_in_with_the_next_message(front: Front) -> None:
    await front.alone(STRANGER, name="Eve")
    await front.people.approve(front.people.asking[0].code, MACHINE)

    admission = await front.alone(STRANGER, name="Eve")

    assert admission == Admission(Authority(Role.MEMBER, Scope.person("telegram", STRANGER), Origin.PERSON))
    assert front.people.paired[0].name == "Eve"
    await front.people.revoke("telegram", STRANGER, MACHINE)
    assert await front.alone(STRANGER) is None


@pytest.mark.parametrize("name", [OWNER, f"{OWNER}|{STRANGER}", "@owner", "*"])
async def test_a_name_never_lets_anybody_in(front: Front, name: str) -> None:
    assert await front.alone(STRANGER, name=name) is None


async def test_bots_get_no_code_and_are_heard_only_where_allowed_and_by_name() -> None:
    people = People(
        MemoryPeople(), FakeClock(), {"telegram": ConfiguredPeople(owners=["8"], bots=["7"], groups={GROUP: "open"})}
    )
    front = Front()
    front.people, front.door = people, PeoplePolicy(people, front.send, front.clock)

    for bot in ("7", "8", "9"):
        assert await front.alone(bot, is_bot=True) is None
    assert await front.in_group("8", "mention", is_bot=True) is None
    assert await front.in_group("7", "reply", is_bot=True) is None
    admission = await front.in_group("7", "mention", is_bot=True)
    assert admission is not None
    assert admission.authority.role is Role.MEMBER
    assert front.sent == []
    assert people.asking == []


async def test_a_full_disk_refuses_strangers_and_nobody_else(front: Front) -> None:
    front.store.full = front.full = True

    assert await front.alone(STRANGER) is None
    assert await front.alone(OWNER, name="Ada") is not None
    assert await front.in_group(OWNER, "mention", chat=OTHER_GROUP) is None
    front.store.full = front.full = False
    await front.alone(STRANGER)
    assert len(front.sent) == 1


async def test_the_log_has_one_line_for_a_stranger_and_hour_without_a_name(
    front: Front, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "nanobot.channels.access")
    for _ in range(3):
        await front.alone(STRANGER, name="Mallory")
        await front.in_group(STRANGER)
    front.clock.advance(LOG_EVERY)
    await front.alone(STRANGER)

    assert len(caplog.messages) == 2
    assert all(STRANGER in line and "Mallory" not in line for line in caplog.messages)
