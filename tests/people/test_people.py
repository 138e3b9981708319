"""Who may talk, by the configuration and by pairing."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.authority import Role
from nanobot.errors import PairingError, StoreError
from nanobot.messages import Address, Sender
from nanobot.people.codes import ALPHABET, LENGTH, MOST_ASKING, MOST_WRONG
from nanobot.people.people import MACHINE, ConfiguredPeople, People
from nanobot.ports.people import PairingRequest
from nanobot.store.state import PeopleFile
from nanobot.workspace import Workspace
from tests.fakes.clock import FakeClock
from tests.fakes.people import GROUP, MEMBER, OWNER, STRANGER, MemoryPeople, nobody, some_people

CHAT = "an owner"
HOUR = 3600.0


async def code_of(people: People, user_id: str = STRANGER, channel: str = "telegram") -> str:
    asking = await people.code_for(channel, Sender(user_id), user_id)
    assert asking is not None
    return asking.code


async def trouble(doing: object) -> str:
    with pytest.raises(PairingError) as caught:
        await doing  # type: ignore[misc]  # any of the coroutines below
    return caught.value.kind


async def lock(people: People) -> None:
    for _ in range(MOST_WRONG):
        assert await trouble(people.approve("WRONG", CHAT)) == "wrong_code"


def test_an_empty_list_admits_nobody() -> None:
    people = nobody()

    assert people.role("telegram", OWNER) is Role.GUEST
    assert people.role("unheard-of", OWNER) is Role.GUEST
    assert people.served("telegram", [GROUP]) is None
    assert not people.has_owner


@given(st.text(), st.text(max_size=3))
def test_only_the_very_same_id_on_the_same_channel_is_somebody(user_id: str, around: str) -> None:
    people = some_people()
    is_known = user_id in (OWNER, MEMBER)

    assert (people.role("telegram", user_id) is not Role.GUEST) == is_known
    assert people.role("discord", OWNER) is Role.GUEST
    assert (people.role("telegram", around + OWNER + around) is Role.OWNER) == (around == "")


async def test_of_two_roles_the_higher_one_holds() -> None:
    store, clock = MemoryPeople(), FakeClock()
    before = nobody(clock, store)
    await before.approve(await code_of(before, MEMBER), MACHINE)
    await before.approve(await code_of(before, OWNER), MACHINE)

    after = some_people(clock, store)

    assert before.role("telegram", OWNER) is Role.MEMBER
    assert after.role("telegram", OWNER) is Role.OWNER
    assert after.role("telegram", MEMBER) is Role.OWNER


async def test_the_first_approval_on_the_machine_makes_the_owner_and_later_ones_members() -> None:
    people = nobody()

    first = await people.approve(await code_of(people), MACHINE)
    second = await people.approve(await code_of(people, "5", "discord"), MACHINE)
    third = await people.approve(await code_of(people, "6"), MACHINE, owner=True)

    assert [first.role, second.role, third.role] == [Role.OWNER, Role.MEMBER, Role.OWNER]
    assert people.role("telegram", STRANGER) is Role.OWNER
    assert people.role("discord", STRANGER) is Role.GUEST
    assert people.asking == []


async def test_an_owner_on_any_channel_by_the_configuration_means_that_there_is_one() -> None:
    people = People(
        MemoryPeople(), FakeClock(), {"discord": ConfiguredPeople(owners=["7"]), "telegram": ConfiguredPeople()}
    )

    assert (await people.approve(await code_of(people), MACHINE)).role is Role.MEMBER


async def test_over_chat_nobody_becomes_an_owner_and_no_owner_is_revoked() -> None:
    people = nobody()

    assert (await people.approve(await code_of(people), CHAT)).role is Role.MEMBER
    assert await trouble(people.approve(await code_of(people, "5"), CHAT, owner=True)) == "owner_by_machine"
    await people.approve(await code_of(people, "5"), MACHINE)
    assert await trouble(people.revoke("telegram", "5", CHAT)) == "owner_by_machine"
    assert people.role("telegram", "5") is Role.OWNER
    assert await people.revoke("telegram", "5", MACHINE) is Role.GUEST


async def test_codes_hold_nothing_that_looks_like_something_else_and_are_all_different() -> None:
    codes = {await code_of(nobody()) for _ in range(200)}

    assert len(codes) == 200
    assert all(len(code) == LENGTH and set(code) <= set(ALPHABET) for code in codes)
    assert not set("01OILS52Z8B6") & set(ALPHABET)


async def test_a_code_is_the_same_while_it_is_valid_and_is_taken_however_it_is_typed() -> None:
    clock = FakeClock()
    people = nobody(clock)
    code = await code_of(people)
    clock.advance(HOUR - 1)

    assert await code_of(people) == code
    assert (await people.approve(f"{code[:4].lower()}-{code[4:]}\n", MACHINE)).id == STRANGER


async def test_a_code_that_is_over_says_so_and_a_new_one_is_another() -> None:
    clock = FakeClock()
    people = nobody(clock)
    old = await code_of(people)
    clock.advance(HOUR)

    assert await trouble(people.approve(old, MACHINE)) == "expired_code"
    new = await code_of(people)
    assert new != old
    assert await trouble(people.approve(old, CHAT)) == "expired_code"
    assert (await people.approve(new, CHAT)).id == STRANGER
    assert await trouble(people.approve(new, CHAT)) == "wrong_code"


async def test_a_flood_of_strangers_keeps_nobody_from_getting_a_code_and_locks_nothing(tmp_path: Path) -> None:
    """Each message is on the disk before it is answered, as in a gateway."""
    clock, store = FakeClock(), PeopleFile(Workspace(tmp_path))
    people = nobody(clock, store)
    for number in range(MOST_ASKING + 20):
        clock.advance(0.1)
        assert await people.code_for("telegram", Sender(f"7{number}"), "chat") is not None
    code = await code_of(people)
    for number in range(MOST_ASKING - 1):  # whoever asked keeps their code while as many others ask
        await code_of(people, f"8{number}")

    assert len(people.asking) == MOST_ASKING
    assert len(store.read().asking) == MOST_ASKING
    assert people.locked_until is None
    assert (await nobody(clock, store).approve(code, CHAT)).id == STRANGER


async def test_whose_code_had_to_make_room_gets_another() -> None:
    people = nobody()
    first = await code_of(people)
    elsewhere = await code_of(people, channel="discord")
    for number in range(MOST_ASKING):
        await code_of(people, f"7{number}")

    assert await trouble(people.approve(first, MACHINE)) == "wrong_code"
    assert await code_of(people) != first
    assert await code_of(people, channel="discord") == elsewhere


async def test_many_who_ask_at_the_same_moment_each_get_their_code() -> None:
    people = nobody()
    codes = await asyncio.gather(*(people.code_for("telegram", Sender(str(number)), "chat") for number in range(20)))

    assert len({code.code for code in codes if code}) == 20


async def test_however_many_codes_wait_few_guesses_are_looked_at_in_a_day() -> None:
    clock = FakeClock()
    people = nobody(clock)
    looked_at = 0
    for _ in range(24 * 60):
        for _ in range(10):
            looked_at += await trouble(people.approve("AAAAAAAA", CHAT)) == "wrong_code"
        clock.advance(60)

    chance = looked_at * MOST_ASKING / len(ALPHABET) ** LENGTH  # of hitting any code with guesses over chat
    assert looked_at <= 24 * MOST_WRONG
    assert chance < 1e-5


async def test_what_was_allowed_is_taken_back_when_a_role_or_a_link_changes_and_not_otherwise() -> None:
    people = some_people()
    heard: list[str] = []
    people.on_standing.append(lambda: heard.append("now"))

    async def changes(doing: Awaitable[object]) -> int:
        heard.clear()
        await doing
        return len(heard)

    code = await code_of(people)
    assert not heard
    assert await changes(people.approve(code, MACHINE)) == 1
    assert await changes(people.seen("telegram", Sender(STRANGER, "Ben"))) == 0
    linking = await people.link_code("telegram", STRANGER)
    assert await changes(people.link(linking.code, "telegram", MEMBER)) == 1
    assert await changes(people.unlink("telegram", MEMBER)) == 1
    assert await changes(people.admit(Address("telegram", "-7"), "reply", CHAT)) == 0
    assert await changes(people.revoke("telegram", STRANGER, MACHINE)) == 1


async def test_whoever_was_denied_gets_no_code_for_a_day() -> None:
    clock = FakeClock()
    people = nobody(clock)
    await people.deny(await code_of(people), CHAT)

    assert await people.code_for("telegram", Sender(STRANGER), STRANGER) is None
    clock.advance(24 * HOUR)
    assert await people.code_for("telegram", Sender(STRANGER), STRANGER) is not None


async def test_wrong_codes_lock_over_chat_also_the_right_one_but_not_on_the_machine() -> None:
    clock, store = FakeClock(), MemoryPeople()
    people = nobody(clock, store)
    code = await code_of(people)
    await lock(people)

    assert await trouble(people.approve(code, CHAT)) == "locked"
    assert await trouble(people.deny(code, CHAT)) == "locked"
    assert await trouble(nobody(clock, store).approve(code, CHAT)) == "locked"  # a restart does not help
    assert (await people.approve(code, MACHINE)).id == STRANGER
    assert (await people.approve(await code_of(people, "5"), CHAT)).id == "5"


async def test_the_lock_opens_an_hour_after_the_first_of_the_wrong_codes() -> None:
    clock = FakeClock()
    people = nobody(clock)
    await lock(people)
    clock.advance(HOUR - 1)
    assert people.locked_until is not None
    clock.advance(1)

    assert people.locked_until is None
    assert (await people.approve(await code_of(people), CHAT)).id == STRANGER


async def test_of_a_stranger_ids_name_and_code_are_kept_and_go_when_they_are_over() -> None:
    clock, store = FakeClock(), MemoryPeople()
    people = nobody(clock, store)
    await code_of(people)
    assert set(PairingRequest.__dataclass_fields__) == {"channel", "id", "chat", "code", "until", "name"}
    clock.advance(2 * HOUR)
    await code_of(people, "5")

    assert [each.id for each in store.book.asking] == ["5"]


async def test_the_name_is_the_one_they_had_last_and_decides_nothing() -> None:
    store = MemoryPeople()
    people = nobody(store=store)
    await people.approve(await code_of(people), MACHINE)
    await people.seen("telegram", Sender(STRANGER, "Ada"))
    await people.seen("telegram", Sender("5", "Ada"))
    await people.seen("telegram", Sender(STRANGER, ""))

    assert [person.name for person in store.book.people] == ["Ada"]
    assert people.role("telegram", "Ada") is Role.GUEST


async def test_what_cannot_be_written_does_not_hold() -> None:
    store = MemoryPeople()
    people = nobody(store=store)
    code = await code_of(people)
    store.full = True

    with pytest.raises(StoreError):
        await people.approve(code, MACHINE)
    assert people.role("telegram", STRANGER) is Role.GUEST
    store.full = False
    assert (await people.approve(code, MACHINE)).role is Role.OWNER


async def test_revoking_undoes_the_pairing_and_says_what_the_configuration_leaves() -> None:
    store = MemoryPeople()
    before = nobody(store=store)
    await before.approve(await code_of(before, MEMBER), MACHINE)
    people = some_people(store=store)

    assert await people.revoke("telegram", MEMBER, MACHINE) is Role.MEMBER
    assert await trouble(people.revoke("telegram", MEMBER, MACHINE)) == "configured"
    assert await trouble(people.revoke("telegram", STRANGER, MACHINE)) == "not_paired"


async def test_a_group_is_served_as_its_closest_id_says_and_the_owner_in_it_last() -> None:
    configured = ConfiguredPeople(groups={"server": "mention", "channel": "open"})
    people = People(MemoryPeople(), FakeClock(), {"discord": configured})

    def listening(*ids: str) -> str | None:
        served = people.served("discord", ids)
        return served.listening if served else None

    assert listening("thread", "channel", "server") == "open"
    assert listening("other", "server") == "mention"
    assert listening("elsewhere") is None
    await people.admit(Address("discord", "channel"), "reply", CHAT)
    assert listening("thread", "channel", "server") == "reply"
    await people.dismiss(Address("discord", "channel"))
    assert listening("thread", "channel", "server") == "open"
    assert await trouble(people.dismiss(Address("discord", "channel"))) == "configured"
    assert await trouble(people.dismiss(Address("discord", "other"))) == "not_admitted"


async def test_keeping_everything_is_a_choice_of_its_own_that_a_new_policy_leaves_alone() -> None:
    configured = ConfiguredPeople(groups={"a": "mention"}, store_all=["b"])
    people = People(MemoryPeople(), FakeClock(), {"telegram": configured})
    a, b, c = (Address("telegram", chat) for chat in "abc")

    def keeps(at: Address) -> bool | None:
        served = people.served("telegram", [at.chat])
        return served.keeps_all if served else None

    await people.keep_all(a, CHAT, keeps_all=True)
    await people.admit(a, "open", CHAT)
    assert keeps(a) is True
    assert keeps(b) is None  # it is not served
    await people.admit(b, "open", CHAT)
    assert keeps(b) is True
    assert await trouble(people.keep_all(b, CHAT, keeps_all=False)) == "configured"
    assert await trouble(people.keep_all(c, CHAT, keeps_all=True)) == "not_admitted"
    await people.keep_all(a, CHAT, keeps_all=False)
    assert keeps(a) is False


async def test_a_group_keeps_its_title_until_a_new_one_is_known() -> None:
    people = nobody()
    at = Address("telegram", GROUP)
    await people.admit(at, "open", CHAT, "Garden")
    await people.admit(at, "mention", CHAT)

    assert [(group.title, group.listening) for group in people.admitted] == [("Garden", "mention")]


def test_another_bot_may_talk_only_by_the_configuration_of_bots() -> None:
    people = People(MemoryPeople(), FakeClock(), {"discord": ConfiguredPeople(members=["1"], bots=["2"])})

    assert [people.may_bot("discord", each) for each in ("1", "2")] == [False, True]
    assert not people.may_bot("telegram", "2")
