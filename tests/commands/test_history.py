"""/dream-log, /dream-restore, /dream-undo: what was changed, and taking it back."""

import asyncio
import json
import random
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from nanobot.commands.history import HistoryRequester
from nanobot.commands.history_words import told
from nanobot.memory.changes import ChangeRequest, parse
from nanobot.memory.tombstones import FOLDER
from nanobot.memory.tool_changes import ToolChanges
from nanobot.messages import Address
from nanobot.ports import Caller, Edit
from nanobot.store.documents import read_frontmatter
from tests.commands.historian import ADA, ADA_IN_GROUP, BOB, IN_GROUP, Historian, memory_of, version_in
from tests.fakes.dreamers import add, change, keen, note, remove, wants
from tests.memory.dream.bedroom import BASE, MEMORY, Bedroom


@pytest.fixture
async def ada(tmp_path: Path) -> Historian:
    return Historian(await Bedroom(tmp_path / "workspace", git=True).began())


async def dreams(ada: Historian, *facts: str) -> str:
    """One dream that takes in these facts; the start of its version's number."""
    for fact in facts:
        await ada.bedroom.happened(fact, facts=[fact])
    report = await ada.bedroom.sleep(keen)
    assert report.version
    return report.version[:7]


def stones(ada: Historian) -> list[dict[str, object]]:
    files = sorted((ada.bedroom.root / FOLDER).glob("*.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


async def test_the_log_tells_dreams_from_hand_edits_and_from_what_was_asked_for(ada: Historian) -> None:
    dream = await dreams(ada, "the standup is at 9:30")
    ada.bedroom.write("USER.md", "# The user\n\n- likes coffee\n")
    await ada.says("/remember my dog is called Pixel")

    text = await ada.says("/dream-log")
    lines = text.splitlines()

    assert [line.partition(" · ")[2] for line in lines if " · " in line] == [
        "asked to remember",
        "edited by hand",
        "Dream",
        "what was there when the history began",
    ]
    assert "  - new in MEMORY.md: my dog is called Pixel" in lines
    assert "  - USER.md: likes coffee (before: likes tea)" in lines
    assert f"- `{dream}` 2026-03-02 10:15 · Dream" in lines
    assert len((await ada.says("/dream_log 1")).splitlines()) < len(lines)


async def test_one_change_is_shown_line_by_line_in_both_spellings(ada: Historian) -> None:
    dream = await dreams(ada, "the standup is at 9:30")

    text = await ada.says(f"/dream-log {dream}")

    assert "```diff\n+ the standup is at 9:30 (2026-03-02)\n```" in text.replace("+## Remembered\n", "")
    assert "Read summary 1 of what was said." in text
    assert f"/dream-undo {dream}" in text
    assert text == await ada.says(f"/dream_log {dream[:5]}")


async def test_restoring_makes_the_files_as_they_were_before_and_the_restore_can_be_restored(ada: Historian) -> None:
    await dreams(ada, "one is red", "two is blue", "three is green")
    before_bad = memory_of(ada.bedroom.root)
    bad = await dreams(ada, "four is bad")
    with_bad = memory_of(ada.bedroom.root)
    history = (ada.bedroom.root / "memory" / "history.jsonl").read_bytes()

    receipt = await ada.says(f"/dream-restore {bad}")

    assert memory_of(ada.bedroom.root) == before_bad
    assert "what Dream has read counts as read" in receipt
    assert await ada.bedroom.book.cursor() == 4
    assert [stone["claim"] for stone in stones(ada)] == ["four is bad"]
    assert (ada.bedroom.root / "memory" / "history.jsonl").read_bytes() == history

    await ada.says(f"/dream-restore {version_in(receipt)}")

    assert memory_of(ada.bedroom.root) == with_bad
    assert stones(ada) == []
    kinds = [line.partition(" · ")[2] for line in (await ada.says("/dream-log")).splitlines() if " · " in line]
    assert kinds == ["restored", "restored", "Dream", "Dream", "what was there when the history began"]


async def test_what_was_restored_away_is_not_dreamt_again_from_the_same_words(ada: Historian) -> None:
    bad = await dreams(ada, "the standup is at 9:30")
    await ada.says(f"/dream_restore {bad}")
    for number in (2, 3):
        await ada.bedroom.happened(f"thing {number} is blue", facts=[f"thing {number} is blue"])

    report = await ada.bedroom.sleep(keen)

    assert (report.episodes, await ada.bedroom.book.cursor()) == (2, 3)
    assert "thing 2 is blue" in ada.bedroom.read(MEMORY)
    assert "standup" not in ada.bedroom.read(MEMORY)


async def test_a_restore_names_the_hand_edits_that_it_takes_back_and_leaves_the_rules_alone(ada: Historian) -> None:
    dream = await dreams(ada, "one is red")
    ada.bedroom.write("USER.md", "# The user\n\n- likes coffee\n")
    ada.bedroom.write("AGENTS.md", "Be brief.\n")
    ada.bedroom.write("skills/tea/SKILL.md", "Boil water.\n")
    ada.bedroom.write("people/telegram-7/USER.md", "- is Bob\n")

    receipt = await ada.says(f"/dream-restore {dream}")

    assert "1 later change is undone" in receipt
    assert "edited by hand\n  " in receipt
    assert "USER.md" in receipt
    assert ada.bedroom.read("USER.md") == BASE["USER.md"]
    assert ada.bedroom.read("AGENTS.md") == "Be brief.\n"
    assert ada.bedroom.read("skills/tea/SKILL.md") == "Boil water.\n"
    assert ada.bedroom.read("people/telegram-7/USER.md") == "- is Bob\n"
    await ada.says(f"/dream-restore {version_in(receipt)}")
    assert ada.bedroom.read("USER.md") == "# The user\n\n- likes coffee\n"


async def test_undoing_keeps_what_came_later_and_what_people_wrote(ada: Historian) -> None:
    bad = await dreams(ada, "the standup is at 9:30")
    await dreams(ada, "the shop opens at 8")
    ada.bedroom.write(MEMORY, ada.bedroom.read(MEMORY).replace("roses are red", "roses are white"))

    receipt = await ada.says(f"/dream-undo {bad}")

    text = ada.bedroom.read(MEMORY)
    assert "standup" not in text
    assert "the shop opens at 8" in text
    assert "roses are white" in text
    assert "I will not learn this again from the same words" in receipt
    await ada.says(f"/dream_undo {version_in(receipt)}")
    assert "the standup is at 9:30" in ada.bedroom.read(MEMORY)
    assert stones(ada) == []


async def test_where_later_changes_are_in_the_way_nothing_is_undone_and_the_lines_are_named(ada: Historian) -> None:
    dream = await dreams(ada, "the standup is at 9:30")
    ada.bedroom.write(MEMORY, ada.bedroom.read(MEMORY).replace("standup is at 9:30", "standup is at 10"))
    before = ada.bedroom.files()

    text = await ada.refuses(f"/dream-undo {dream}")

    assert "memory/MEMORY.md: the standup is at 9:30" in text
    assert f"/dream-restore {dream}" in text
    assert ada.bedroom.files().keys() == before.keys()
    assert ada.bedroom.read(MEMORY).encode() == before[MEMORY]


async def test_nothing_is_taken_back_while_something_is_being_erased(ada: Historian) -> None:
    dream = await dreams(ada, "the boat is blue")
    before = await ada.newest()

    async with asyncio.timeout(120):
        async with ada.erasure_lock.alone():
            undoing = asyncio.create_task(ada.says(f"/dream-undo {dream}"))
            for _ in range(20):  # it would be done by then
                assert (await ada.newest()).id == before.id
            assert not undoing.done()
        await undoing

    assert (await ada.newest()).id != before.id


async def test_a_replaced_fact_is_neither_put_back_nor_taken_away_again(ada: Historian) -> None:
    await ada.bedroom.happened("the pump hangs on pin 5", facts=["the pump hangs on pin 5"])
    report = await ada.bedroom.sleep(wants(change("the pump hangs on pin 4", "the pump hangs on pin 5", "1.1")))

    await ada.says(f"/dream-undo {report.version}")

    assert ada.bedroom.read(MEMORY) == BASE[MEMORY]
    assert {(stone["undone"], stone["claim"]) for stone in stones(ada)} == {
        ("add", "the pump hangs on pin 5"),
        ("remove", "the pump hangs on pin 4"),
    }


async def test_a_note_that_is_undone_leaves_its_lines_as_a_claim(ada: Historian) -> None:
    await ada.bedroom.happened("the boat is blue", "and leaks", facts=["the boat is blue", "the boat leaks"])
    report = await ada.bedroom.sleep(wants(note("boat", "The boat is blue.\nThe boat leaks.", "1.1", "1.2")))
    assert "The boat leaks." in ada.bedroom.read("memory/boat.md")

    await ada.says(f"/dream-undo {report.version}")

    assert not (ada.bedroom.root / "memory/boat.md").exists()
    assert [stone["claim"] for stone in stones(ada)] == ["The boat is blue.\nThe boat is blue.\nThe boat leaks."]
    assert "boat" not in ada.bedroom.read(MEMORY)


async def test_what_never_stood_there_in_the_end_gets_no_tombstone(ada: Historian) -> None:
    first = await dreams(ada, "the tap drips")
    await ada.bedroom.happened("the tap is fine", facts=["the tap does not drip"])
    await ada.bedroom.sleep(wants(remove("the tap drips", "2.1")))

    await ada.says(f"/dream-restore {first}")

    assert [(stone["undone"], stone["claim"]) for stone in stones(ada)] == [("add", "the tap drips")]


async def test_undoing_twice_changes_nothing_the_second_time(ada: Historian) -> None:
    dream = await dreams(ada, "one is red")
    await ada.says(f"/dream-undo {dream}")
    newest = await ada.newest()

    text = await ada.refuses(f"/dream-undo {dream}")

    assert "nothing is left" in text
    assert await ada.newest() == newest


async def test_an_undone_undo_of_an_undo_buries_again_what_it_had_lifted(ada: Historian) -> None:
    dream = await dreams(ada, "one is red")
    away = version_in(await ada.says(f"/dream-undo {dream}"))
    buried = stones(ada)
    back = version_in(await ada.says(f"/dream-undo {away}"))
    assert stones(ada) == []

    await ada.says(f"/dream-undo {back}")

    assert stones(ada) == buried
    assert "one is red" not in ada.bedroom.read(MEMORY)


async def test_the_choice_of_versions_comes_with_a_button_for_each(ada: Historian) -> None:
    dream = await dreams(ada, "one is red")

    answer = await ada.types("/dream-restore")

    assert [button.value for button in answer.buttons] == [f"/dream-restore {dream}", "/dream-restore no"]
    assert (await ada.types(answer.no)).text == "All right, I leave everything as it is."
    assert answer.buttons[0].label == f"2026-03-02 10:15 · {dream} · + one is red"
    assert "one is red" not in answer.text  # the buttons say it
    await ada.says(answer.buttons[0].value)
    assert ada.bedroom.read(MEMORY) == BASE[MEMORY]


async def test_what_is_no_number_of_a_version_is_refused(ada: Historian) -> None:
    before = ada.bedroom.files()

    for wrong in ("HEAD", "main~1", "zzzzzzz", "123456789abc", "--all", "../x", "0" * 41, "abc"):
        for command in ("/dream-restore", "/dream-undo", "/dream-log"):
            assert wrong in await ada.refuses(f"{command} {wrong}")
    assert ada.bedroom.files() == before


async def test_the_beginning_cannot_be_undone(ada: Historian) -> None:
    base = (await ada.newest()).id[:7]

    assert "the history begins" in await ada.refuses(f"/dream-undo {base}")
    assert "the history begins" in await ada.refuses(f"/dream-restore {base}")
    assert "/dream-" not in await ada.says(f"/dream-log {base}")


async def test_a_line_that_came_replaced_only_one_about_the_same(ada: Historian) -> None:
    doctor = "- My doctor is Dr. Wu; she has her practice by the dog park, wants calls before ten, and knows Pixel\n"
    ada.bedroom.write(MEMORY, f"{BASE[MEMORY]}{doctor}")
    await ada.says("/dream-log")

    ada.bedroom.write(MEMORY, f"{BASE[MEMORY]}- my dog is Pixel\n")

    lines = (await ada.says("/dream-log 1")).splitlines()
    assert "  - new in MEMORY.md: my dog is Pixel" in lines
    assert not any("before:" in line for line in lines)


async def test_while_memory_is_dreamt_about_nothing_is_taken_back(ada: Historian) -> None:
    dream = await dreams(ada, "one is red")
    ada.is_dreaming = True

    for command in ("/dream-restore", "/dream-undo"):
        assert "try again" in await ada.refuses(f"{command} {dream}")
    assert "one is red" in ada.bedroom.read(MEMORY)


async def test_everybody_sees_and_changes_their_own_memory_only(ada: Historian) -> None:
    mine = await dreams(ada, "one is red")
    await ada.bedroom.happened("bob sails", facts=["Bob sails"], scope=BOB.scope, session="telegram:7")
    his = (await ada.bedroom.sleep(wants(add("Bob sails", "2.1")))).version[:7]

    assert "Bob sails" in await ada.says("/dream-log", BOB)
    assert "one is red" not in await ada.says("/dream-log", BOB)
    assert "Bob sails" not in await ada.says("/dream-log")
    for command in ("/dream-log", "/dream-undo", "/dream-restore"):
        assert "no change with the number" in await ada.refuses(f"{command} {mine}", BOB)
        assert "no change with the number" in await ada.refuses(f"{command} {his}")
    await ada.says(f"/dream-undo {his}", BOB)
    assert "Bob sails" not in ada.bedroom.read("people/telegram-7/MEMORY.md")
    assert [stone["scope"] for stone in stones(ada)] == [BOB.scope.name]
    assert "one is red" in ada.bedroom.read(MEMORY)


async def test_one_dream_over_two_memories_is_told_and_undone_in_each_by_itself(ada: Historian) -> None:
    await ada.bedroom.happened("one is red", facts=["one is red"])
    await ada.bedroom.happened("bob sails", facts=["Bob sails"], scope=BOB.scope, session="telegram:7")
    report = await ada.bedroom.sleep(keen, keen)

    mine, his = await ada.says(f"/dream-log {report.version}"), await ada.says(f"/dream-log {report.version}", BOB)
    await ada.says(f"/dream-undo {report.version}")

    assert "one is red" in mine
    assert "sails" not in mine
    assert "sails" in his
    assert "is red" not in his
    assert "one is red" not in ada.bedroom.read(MEMORY)
    assert "Bob sails" in ada.bedroom.read("people/telegram-7/MEMORY.md")


async def test_in_a_group_everybody_may_look_and_only_an_owner_may_take_back(ada: Historian) -> None:
    await ada.bedroom.happened("we meet at 8", facts=["we meet at 8"], scope=IN_GROUP.scope, session="telegram:-1")
    version = (await ada.bedroom.sleep(keen)).version[:7]

    assert "we meet at 8" in await ada.says("/dream-log", IN_GROUP)
    for command in (f"/dream-restore {version}", "/dream-restore", f"/dream-undo {version}"):
        assert "only my owner" in await ada.refuses(command, IN_GROUP)
    await ada.says(f"/dream-undo {version}", ADA_IN_GROUP)
    assert "we meet" not in ada.bedroom.read("groups/telegram--1/MEMORY.md")


async def test_a_change_of_the_rules_is_shown_and_left_to_people(ada: Historian) -> None:
    ada.bedroom.write("AGENTS.md", "Be brief.\n")
    await ada.says("/dream-log")
    version = (await ada.newest()).id[:7]

    assert "+Be brief." in await ada.says(f"/dream-log {version}")
    assert "AGENTS.md" in await ada.refuses(f"/dream-undo {version}")
    assert ada.bedroom.read("AGENTS.md") == "Be brief.\n"


async def test_the_commit_tells_what_it_takes_back_and_who_asked(ada: Historian) -> None:
    dream = await dreams(ada, "one is red")
    await ada.says(f"/dream-undo {dream}")

    version = await ada.newest()
    commit = parse(version.message)

    assert commit is not None
    assert (version.author, commit.kind, commit.reverts[:7], commit.scopes) == ("nanobot", "undo", dream, ("owner",))
    assert [(one.verb, one.text, one.messages) for one in commit.operations] == [
        ("remove", "one is red", ("telegram:1#telegram:1:99",))
    ]
    assert [f"{FOLDER}/{name}.json" for name in commit.buried] == [p for p in version.paths if p.startswith(FOLDER)]


async def test_the_index_of_notes_is_true_right_after_going_back(ada: Historian) -> None:
    await ada.bedroom.happened("the boat is blue", facts=["the boat is blue"])
    version = (await ada.bedroom.sleep(wants(note("boat", "The boat is blue.", "1.1")))).version
    receipt = await ada.says(f"/dream-undo {version}")
    assert ada.shelves.of(ADA_IN_GROUP.scope.owner()).notebook.find("boat") is None

    await ada.says(f"/dream-undo {version_in(receipt)}")

    assert "(`boat.md`)" in ada.bedroom.read(MEMORY)


async def test_without_git_it_says_in_one_sentence_what_is_missing(
    ada: Historian, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    for command in ("/dream-log", "/dream-log abcd", "/dream-restore", "/dream-restore abcd", "/dream-undo abcd"):
        assert "git is not installed" in await ada.refuses(command)
    assert "I wrote it down" in await ada.says("/remember my dog is called Pixel")
    assert "Pixel" in ada.bedroom.read(MEMORY)


async def test_it_is_told_in_chinese_too(ada: Historian) -> None:
    dream = await dreams(ada, "one is red")

    assert "整理记忆" in await ada.says("/dream-log", language="zh")
    assert "已撤销" in await ada.says(f"/dream-undo {dream}", language="zh")


async def test_whatever_was_taken_back_comes_back_exactly_tombstones_included(ada: Historian) -> None:
    chance = random.Random(7)
    for number in range(6):
        if number % 2 == 0:
            await dreams(ada, f"thing {number} is blue")
        else:
            ada.bedroom.write("USER.md", ada.bedroom.read("USER.md") + f"- note {number} by hand\n")
        await ada.says("/dream-log 1")
        before = memory_of(ada.bedroom.root), stones(ada)
        entries = await ada.bedroom.versions.log()
        how, target = chance.choice(("undo", "restore")), chance.choice(entries[:-1])
        answer = await ada.types(f"/dream-{how} {target.id}")
        if answer.failed:
            assert (memory_of(ada.bedroom.root), stones(ada)) == before
            continue
        after = memory_of(ada.bedroom.root), stones(ada)

        back = version_in(await ada.says(f"/dream-undo {version_in(answer.text)}"))
        assert (memory_of(ada.bedroom.root), stones(ada)) == before
        if chance.random() < 0.5:
            await ada.says(f"/dream-undo {back}")
            assert (memory_of(ada.bedroom.root), stones(ada)) == after
        standing = ada.bedroom.read(MEMORY)
        assert [stone["claim"] for stone in stones(ada) if f"- {stone['claim']} (" in standing] == []


async def test_a_change_that_has_another_number_since_something_was_forgotten_says_so(ada: Historian) -> None:
    dream = await dreams(ada, "one is red")
    asking = HistoryRequester(ChangeRequest("telegram:1", ADA), "en", lambda action: f"/{action}", dream)
    shown = await ada.history.do("log", dream, asking)

    assert told(shown, asking).text.startswith(f"`{dream}`")
    assert told(shown, replace(asking, typed="0ld0ld0")).text.startswith(f"0ld0ld0 is now {dream}: ")


@pytest.mark.parametrize(("path", "name"), [("AGENTS.md", "AGENTS.md"), ("skills/rhyme/SKILL.md",) * 2])
async def test_lines_of_a_guarded_file_that_a_tool_wrote_are_listed_under_its_name(
    ada: Historian, path: str, name: str
) -> None:
    file = ada.bedroom.root / path
    before = file.read_bytes() if file.exists() else None
    edit = Edit(before, (before or b"") + b"# Rules\n\n- answer in rhyme\n- no jokes\n")
    caller = Caller(Address("telegram", "1"), ADA, "t1", "en")
    assert await ToolChanges(ada.writer, ada.proposals, read_frontmatter).keep(PurePosixPath(path), edit, caller)

    text = await ada.says("/dream-log")

    assert f"new in {name}: answer in rhyme\n" in text
    assert f"new in {name}: no jokes\n" in text
    assert f"note {name}" not in text
