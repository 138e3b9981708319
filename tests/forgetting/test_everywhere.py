"""What is forgotten is gone, everywhere; what stands beside it stays."""

import json
from collections.abc import Iterator
from pathlib import Path

from nanobot.authority import OWNER_IN_TERMINAL
from nanobot.commands.forget import forget_at_shell
from nanobot.memory.episodes.history_file import EpisodeStore
from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.nlp.matcher import FORGOTTEN
from nanobot.ports import Erasable
from nanobot.sessions.store import SessionManager
from tests.forgetting.household import MEMBER, MEMBER_TELEGRAM, OTHER, SECRET, Household, files_in, git, inbound

INDEX = "workspace/.nanobot/cache/recall.db"


Emptied = tuple[Household, str]


def test_nothing_in_the_home_holds_what_was_forgotten(emptied: Emptied, house: Household) -> None:
    before, (after, _) = house, emptied

    assert len(before.holding(SECRET)) > 12
    assert after.holding(SECRET) == []
    lost = set(before.holding(OTHER)) - set(after.holding(OTHER))
    assert lost == {INDEX}  # it is made anew by whoever searches next
    assert not after.space.forgetting.exists()


async def test_what_was_said_beside_it_stays_and_what_rests_on_it_alone_goes(emptied: Emptied) -> None:
    house, _ = emptied

    assert await house.said("cli:default") == [
        ("user", f"I live in a {OTHER}."),
        ("assistant", "How nice."),
        ("user", "What do you know of me?"),
        ("assistant", FORGOTTEN),
        ("user", "Look it up."),
        ("assistant", None),
        ("tool", f"2\t- lives in a {OTHER}\n"),
        ("assistant", "Done."),
    ]
    first, second = await EpisodeStore(house.space).after(0, 9)
    assert (first.content, first.messages) == (f"- lives in a {OTHER}", ("m3", "m4"))
    assert [fact.text for fact in first.facts] == [f"lives in a {OTHER}"]
    assert second.content == "- Bob likes walnuts"
    memory = house.space.memory_file.read_text(encoding="utf-8")
    assert "should not give blood" not in memory  # nobody said so but in what was forgotten
    assert f"- lives in a {OTHER} (2026-03-02)\n" in memory
    assert not (house.space.memory / "health.md").exists()


async def test_what_waits_for_a_yes_loses_what_the_files_lose(emptied: Emptied) -> None:
    house, _ = emptied

    [proposal] = await house.bot().keep.memory.waiting.read()
    assert [edit.after for edit in proposal.edits.values()] == [
        f"# Memory\n\n- lives in a {OTHER} (2026-03-02)\n- has seen a {OTHER}\n".encode()
    ]


async def test_what_is_in_an_episode_stays_in_it(emptied: Emptied) -> None:
    house, _ = emptied

    [owed] = await SessionManager(house.space).unarchived("cli:default")
    assert [message.id for message in owed] == ["m5", "m6", "m7", "m8", "m9", "m10"]


async def test_the_history_of_memory_tells_of_the_rest(emptied: Emptied) -> None:
    house, _ = emptied

    log = git(house.space, "log", "--format=%B").decode()
    assert f'add "memory/MEMORY.md" text "lives in a {OTHER}" from ["m3"]' in log
    assert '"m1"' not in log
    assert "health.md" not in log
    assert git(house.space, "fsck", "--strict", "--unreachable") == b""
    assert git(house.space, "reflog").count(b"\n") <= 1


async def test_messages_on_their_way_go_but_others_are_answered(house: Household) -> None:
    await house.forget(SECRET)

    async with house.spool() as spool:
        assert (await spool.receive()).id == "in2"
        assert (await spool.backlog()).waiting_in == 1
        assert (await spool.backlog()).waiting_out == {"telegram": 1}
        assert await spool.marks("") == {"telegram:offset": "12"}


def test_the_receipt_says_how_much_and_what_nobody_here_can_reach(emptied: Emptied) -> None:
    _, receipt = emptied

    lines = receipt.splitlines()
    assert lines[0] == "Forgotten:"
    assert "- lines typed in the terminal: 1" in lines
    assert "- files that were sent: 1" in lines
    assert "backups" in receipt
    assert SECRET not in receipt


async def test_the_same_in_chinese_for_whoever_reads_that(house: Household) -> None:
    bot = house.bot()
    shown = await forget_at_shell(bot.forgetting, ["zh", "*", "show", SECRET])
    done = await forget_at_shell(bot.forgetting, ["zh", "*", "yes", shown.token, ""])

    assert shown.text.startswith("下面这些会被彻底忘掉")
    assert done.text.startswith("已经忘掉")
    assert "备份" in done.text


async def test_a_second_time_there_is_nothing(house: Household) -> None:
    await house.forget(SECRET)

    again = await house.forget(SECRET)

    assert again.failed
    assert "nothing to forget" in again.text


async def test_asking_alone_changes_nothing(house: Household) -> None:
    before = _contents(house)
    shown = await forget_at_shell(house.bot().forgetting, ["en", "*", "show", SECRET])

    assert f"Ada: My blood type is {SECRET}, you know." in shown.text
    after = {path: data for path, data in _contents(house).items() if path != house.space.forget_questions}
    assert after == before


async def test_a_persons_own_files_are_named_and_left_alone(house: Household) -> None:
    own = house.space.root / "novel" / "chapter.txt"
    own.parent.mkdir()
    own.write_text(f"One.\nAll about {SECRET}.\n", encoding="utf-8")

    receipt = await house.forget(SECRET)

    assert not receipt.failed, receipt.text
    assert f"{own}:2" in receipt.text
    assert house.holding(SECRET) == ["workspace/novel/chapter.txt"]


async def test_a_member_reaches_only_what_is_theirs(house: Household) -> None:
    before = set(house.holding(SECRET))

    answer = await house.forget_as(MEMBER, SECRET)

    assert answer.text.startswith("Forgotten:"), answer.text
    assert before - set(house.holding(SECRET)) == {INDEX}  # a message that waited was theirs, among those of others
    async with house.spool() as spool:
        assert [(await spool.receive()).id for _ in range(2)] == ["in1", "in2"]
    assert "cli" not in answer.text


async def test_a_member_reaches_what_of_theirs_is_not_dealt_with_yet(house: Household) -> None:
    async with house.spool() as spool:
        await spool.erase(lambda item: isinstance(item, InboundMessage))
        await spool.mark("telegram:held:11", _update(555, 21, f"and {SECRET}?"))
        await spool.mark("telegram:held:12", _update(7, 22, f"{SECRET}, said an owner"))
        await spool.mark("telegram:held:13", _update(555, 23, f"the {OTHER}"))
        await spool.mark("telegram:held:14", _update(-100, 24, f"{SECRET}, in a group", who=555))
        await spool.send(OutboundMessage(id="out9", address=MEMBER_TELEGRAM, text=f"You said {SECRET}.", turn="v9"))

    answer = await house.forget_as(MEMBER, SECRET)

    assert "messages just coming in or going out: 2" in answer.text, answer.text
    async with house.spool() as spool:
        held = await spool.marks("telegram:held:")
        assert sorted(held) == ["telegram:held:12", "telegram:held:13", "telegram:held:14", "telegram:held:9"]
        assert (await spool.backlog()).waiting_out == {"telegram": 2}  # both to the owner
        await spool.publish(inbound("telegram:555:21", f"and {SECRET}?", MEMBER, MEMBER_TELEGRAM))
        await spool.publish(inbound("telegram:555:23", f"the {OTHER}", MEMBER, MEMBER_TELEGRAM))
        assert (await spool.receive()).id == "telegram:555:23"


async def test_of_a_person_nothing_stays_that_waits(house: Household) -> None:
    async with house.spool() as spool:
        await spool.mark("telegram:held:11", _update(555, 21, "in other words"))
        await spool.publish(inbound("in9", "in other words", MEMBER, MEMBER_TELEGRAM))

    done = await house.forget("person:telegram:555")

    assert not done.failed, done.text
    async with house.spool() as spool:
        assert sorted(await spool.marks("telegram:held:")) == ["telegram:held:9"]
        assert [(await spool.receive()).id for _ in range(2)] == ["in1", "in2"]
        assert (await spool.backlog()).waiting_in == 2


def _update(chat: int, number: int, text: str, *, who: int | None = None) -> str:
    kind = "private" if chat > 0 else "supergroup"
    said = {"message_id": number, "chat": {"id": chat, "type": kind}, "from": {"id": who or chat}, "text": text}
    return json.dumps({"update_id": number, "message": said})


async def test_a_member_does_not_even_learn_that_others_hold_it(house: Household) -> None:
    async with house.spool() as spool:
        await spool.erase(lambda item: True)

    answer = await house.forget_as(MEMBER, SECRET)

    assert answer.text == "I find nothing like that in what is yours, so there is nothing to forget."


async def test_an_owner_in_a_chat_leaves_the_members_alone(house: Household) -> None:
    answer = await house.forget_as(OWNER_IN_TERMINAL, "walnuts")

    assert "nothing to forget" in answer.text
    assert await house.said("telegram:555") == [("user", "I am Bob, and I like walnuts."), ("assistant", "Hello Bob.")]


async def test_at_the_shell_everybody_is_reached_unless_a_scope_is_named(house: Household) -> None:
    assert (await house.forget("walnuts", scope="owner")).failed
    done = await house.forget("walnuts")

    assert not done.failed, done.text
    assert house.holding("walnuts") == []


async def test_every_file_in_the_home_belongs_to_exactly_one_store(house: Household) -> None:
    async with house.spool():  # with the files that SQLite puts beside it
        stores = _stores(house)
        owners = {path: [store.place for store in stores if store.owns(path)] for path in files_in(house.home.root)}

    assert len(owners) > 40
    assert {str(path): names for path, names in owners.items() if len(names) != 1} == {}


def _stores(house: Household) -> list[Erasable]:
    forget = house.bot().forgetting._forget
    return list(forget._house.everybody)


def _contents(house: Household) -> dict[Path, bytes]:
    return dict(_read(house))


def _read(house: Household) -> Iterator[tuple[Path, bytes]]:
    for path in files_in(house.home.root):
        if path.name != "nanobot.log" and ".nanobot/state/spool.db" not in str(path):
            yield path, path.read_bytes()
