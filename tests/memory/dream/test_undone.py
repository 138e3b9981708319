"""What a person undid does not come back, unless something new speaks for it."""

import pytest

from nanobot.memory.dream.evidence import SpokenWords
from nanobot.memory.dream.operations import RefusedOperation
from nanobot.memory.dream.validator import check_return
from nanobot.memory.tombstones import Tombstone, bury, encode
from nanobot.ports import Edit, Episode
from tests.fakes.dreamers import add, data_of, keen, lazy, merge, note, remove, wants
from tests.memory.dream.bedroom import BASE, MEMORY, Bedroom, Line


async def undo(bedroom: Bedroom) -> list[Tombstone]:
    """Takes back the newest dream, as the command does: the files, and a tombstone for each operation."""
    newest = (await bedroom.versions.log(1, author="dream"))[0]
    [commit] = (await bedroom.commits())[:1]
    at = bedroom.clock.now().isoformat()
    stones = [stone for one in commit.operations for stone in bury(one, scope="owner", at=at)]
    before = await bedroom.versions.files_at(newest.parent or "")
    now = await bedroom.versions.files()
    edits = {path: Edit(now.get(path), before.get(path)) for path in newest.paths}
    edits |= {stone.path: Edit(None, encode(stone)) for stone in stones}
    await bedroom.versions.commit(edits, "undone")
    return stones


async def test_the_same_words_do_not_bring_back_what_was_undone_and_the_cursor_stays(bedroom: Bedroom) -> None:
    await bedroom.happened("the standup is at 9:30", facts=["the standup is at 9:30"])
    await bedroom.sleep(keen)
    await undo(bedroom)
    assert bedroom.read(MEMORY) == BASE[MEMORY]
    assert await bedroom.book.cursor() == 1
    await bedroom.episodes.append(await _again(bedroom))  # the same messages, summarised once more

    report = await bedroom.sleep(wants(add("standup every day at 9:30", "2.1"), add("standup at 9:30", "m1")))

    assert [left.kind for left in report.left] == ["undone", "undone"]
    assert bedroom.read(MEMORY) == BASE[MEMORY]
    shown = data_of(bedroom.llm.requests[0], "undone")
    assert [row["claim"] for row in shown] == ["the standup is at 9:30"]


async def test_new_words_may_and_the_commit_says_so(bedroom: Bedroom) -> None:
    await bedroom.happened("the standup is at 9:30", facts=["the standup is at 9:30"])
    await bedroom.sleep(keen)
    await undo(bedroom)
    bedroom.clock.advance(1)
    await bedroom.happened("no really, the standup is at 9:30", facts=["the standup is at 9:30"])

    report = await bedroom.sleep(keen)

    assert "the standup is at 9:30" in bedroom.read(MEMORY)
    [operation] = (await bedroom.commits())[0].operations
    assert operation.remark == "was undone on 2026-03-02; this evidence is new"
    assert "(undone before, but it came up again)" in report.told("en", report.changes[0].scope)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("The user takes tea without sugar", "No sugar in my tea, please"),
        ("The standup is at 9:30", "We do have our daily standup at 9:30 in the morning"),
        ("The user is allergic to nuts", "I do have a nut allergy"),
        ("Likes hiking in the Alps", "Going hiking in the Alps is what I love most"),
        ("The user works nights at a hospital", "I am a nurse, on the night shift of the hospital"),
        ("用户喜欢喝绿茶", "其实我每天都喝绿茶，很喜欢"),
        ("用户对花生过敏", "医生说我确实对花生过敏"),
    ],
)
def test_who_says_it_again_in_other_words_says_it(claim: str, said: str) -> None:
    assert check_return(undone(claim), claim, [later(said)])


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("The landlord is Ms. Dahl.", "Is the landlord Ms. Dahl?"),
        ("The landlord is Ms. Dahl.", "Ms. Dahl moved to Paris"),
        ("The dentist is Dr. Kim", "Dr. Kim called me"),
        ("The user takes tea without sugar", "I take my tea with sugar"),
        ("The standup is at 9:30", "The standup is at 10:00"),
        ("The user lives in Berlin", "Berlin is a nice city"),
        ("用户喜欢喝绿茶", "我不喜欢喝绿茶"),
        ("用户的狗叫皮皮", "皮皮是谁"),
        ("用户住在上海", "我去上海出差"),
    ],
)
def test_who_only_speaks_of_it_or_says_otherwise_does_not_say_it(claim: str, said: str) -> None:
    with pytest.raises(RefusedOperation):
        check_return(undone(claim), claim, [later(said)])


def undone(claim: str) -> Tombstone:
    return Tombstone(scope="owner", undone="add", at="2026-03-02T10:00:00+00:00", claim=claim, evidence=("m1",))


def later(text: str) -> SpokenWords:
    return SpokenWords(frozenset({"m2"}), "2026-03-02T11:00:00+00:00", text)


async def test_words_that_do_not_say_it_do_not_bring_it_back(bedroom: Bedroom) -> None:
    await bedroom.happened("The landlord is Ms. Dahl.")
    await bedroom.sleep(wants(add("The landlord is Ms. Dahl.", "m1")))
    await undo(bedroom)
    bedroom.clock.advance(60)
    await bedroom.happened("The landlord is Mr. Petersen.", "我的生日是五月三日。", "The landlord is not Ms. Dahl.")
    await bedroom.happened(Line("The landlord is Ms. Dahl.", role="assistant"), "hm")

    claim = "The landlord is Ms. Dahl."
    report = await bedroom.sleep(
        wants(*(add(claim, name) for name in ("m2", "m3", "m4")), add(claim, "3"), add("Landlord: Ms. Dahl", "m2"))
    )

    assert [left.kind for left in report.left] == ["undone"] * 5
    assert "Dahl" not in bedroom.read(MEMORY)


async def test_what_was_said_before_it_was_undone_does_not_bring_it_back(bedroom: Bedroom) -> None:
    await bedroom.happened("Our vet is Dr. Sand.")
    await bedroom.happened("The vet is Dr. Sand.")
    await bedroom.sleep(wants(add("The vet is Dr. Sand.", "m2")))
    bedroom.clock.advance(60)
    await undo(bedroom)
    await bedroom.episodes.append(await _again(bedroom))

    report = await bedroom.sleep(wants(add("The vet is Dr. Sand.", "m1")))

    assert [left.kind for left in report.left] == ["undone"]


async def test_another_claim_that_resembles_it_is_learnt_from_its_own_words(bedroom: Bedroom) -> None:
    await bedroom.happened("The landlord is Mr. Petersen.")
    await bedroom.happened("The landlord is Ms. Dahl.")
    await bedroom.sleep(wants(add("The landlord is Ms. Dahl.", "m2")))
    bedroom.clock.advance(60)
    await undo(bedroom)
    bedroom.clock.advance(60)
    await bedroom.episodes.append(await _again(bedroom))
    await bedroom.happened("From Monday on Mr. Berg is our landlord")

    report = await bedroom.sleep(
        wants(add("The landlord is Mr. Petersen.", "m1"), add("The landlord is Mr. Berg.", "m3"))
    )

    assert not report.left
    assert "Petersen" in bedroom.read(MEMORY)
    [*operations] = (await bedroom.commits())[0].operations
    assert [operation.remark for operation in operations] == ["", ""]


async def test_only_what_comes_after_is_read_after_an_undo(bedroom: Bedroom) -> None:
    for number in range(1, 7):
        await bedroom.happened(f"thing {number} is blue", facts=[f"thing {number} is blue"])
        if number in (3, 6):
            await bedroom.sleep(keen)
    await undo(bedroom)
    for number in (7, 8):
        await bedroom.happened(f"thing {number} is blue", facts=[f"thing {number} is blue"])

    await bedroom.sleep(keen)

    assert [row["episode"] for row in data_of(bedroom.llm.requests[0], "episodes")] == [7, 8]
    kept = [number for number in range(1, 9) if f"thing {number} is blue" in bedroom.read(MEMORY)]
    assert kept == [1, 2, 3, 7, 8]
    assert await bedroom.book.cursor() == 8


async def test_what_was_removed_and_put_back_is_not_removed_again(bedroom: Bedroom) -> None:
    await bedroom.happened("the roses are red no longer")
    await bedroom.sleep(wants(remove("the roses are red", 1)))
    await undo(bedroom)
    await bedroom.episodes.append(await _again(bedroom))

    report = await bedroom.sleep(wants(remove("the roses are red", 2)))

    assert [left.kind for left in report.left] == ["undone"]
    assert "the roses are red" in bedroom.read(MEMORY)


async def test_a_note_and_a_merge_that_were_undone_are_not_made_again(bedroom: Bedroom) -> None:
    bedroom.write("memory/a.md", "- oaks stand left\n")
    bedroom.write("memory/b.md", "- ferns grow below\n")
    await bedroom.happened("the robot needs two motors")
    both = wants(
        note("robot", "the robot needs two motors", 1),
        merge(["a", "b"], "c", "- oaks stand left\n- ferns grow below\n"),
    )
    await bedroom.sleep(both)
    await undo(bedroom)
    await bedroom.episodes.append(await _again(bedroom))

    report = await bedroom.sleep(
        wants(
            note("robots", "the robot needs two motors", 2),
            merge(["b", "a"], "d", "- oaks stand left\n- ferns grow below\n"),
        )
    )

    assert [left.kind for left in report.left] == ["undone", "undone"]
    assert bedroom.read("memory/a.md")


async def test_the_tombstones_of_others_do_not_count(bedroom: Bedroom) -> None:
    stone = Tombstone(scope="person:telegram-7", undone="add", at="2026", claim="the dog is called Pixel")
    await bedroom.edit(stone.path, encode(stone).decode())
    await bedroom.happened("the dog is called Pixel")

    await bedroom.sleep(wants(add("the dog is called Pixel", 1)))

    assert "Pixel" in bedroom.read(MEMORY)
    assert data_of(bedroom.llm.requests[0], "undone") == []


async def test_what_is_undone_while_the_model_thinks_counts(bedroom: Bedroom) -> None:
    await bedroom.happened("the dog is called Pixel")
    stone = Tombstone(scope="owner", undone="add", at="2026", claim="the dog is called Pixel", evidence=("episode:1",))

    def thinks(request: object, stream: object) -> object:
        (bedroom.root / stone.path).parent.mkdir(parents=True, exist_ok=True)
        (bedroom.root / stone.path).write_bytes(encode(stone))
        return wants(add("the dog is called Pixel", 1))

    report = await bedroom.sleep(thinks, lazy)  # type: ignore[arg-type]  # its types are wider than they need to be

    assert [left.kind for left in report.left] == ["undone"]
    assert bedroom.read(MEMORY) == BASE[MEMORY]


async def _again(bedroom: Bedroom) -> Episode:
    [first] = await bedroom.episodes.after(0, 1)
    return first
