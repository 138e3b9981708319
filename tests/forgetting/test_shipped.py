"""What came with the program is not memory; what people wrote into its files is, and is named line by line."""

from pathlib import Path

import pytest

from nanobot.commands.forget import forget_at_shell
from nanobot.store.template import template_folder
from tests.forgetting.household import Household, git, user


@pytest.fixture
def new(private_home: Path) -> Household:
    """A home as it is before anybody says anything."""
    return Household(private_home)


async def preview(house: Household, words: str) -> list[str]:
    shown = await forget_at_shell(house.bot().forgetting, ["en", "*", "show", words])
    return shown.text.splitlines()


@pytest.mark.parametrize("word", ["the", "memory", "review", "weekly", "Ada", "project", "description", "index"])
async def test_words_of_the_template_alone_are_nothing_to_forget(new: Household, word: str) -> None:
    assert "nothing to forget" in (await preview(new, word))[0]


async def test_lines_of_the_template_stay_and_are_no_leftover(new: Household) -> None:
    await new.bot().keep.memory.versions.ensure()
    await new.say("cli:default", user("m1", "t1", "My weekly review of the garden"))

    done = await new.forget("review")

    assert not done.failed, done.text
    assert "still stands" not in done.text
    for name in ("AGENTS.md", "skills/weekly-review/SKILL.md", "USER.md", "memory/MEMORY.md"):
        assert (new.space.root / name).read_bytes() == (template_folder() / name).read_bytes()


async def test_what_a_person_wrote_into_such_a_file_is_named_with_its_line(new: Household) -> None:
    for path in (new.space.agents, new.space.heartbeat):
        path.write_text(path.read_text(encoding="utf-8") + "- Ask about the pelican\n", encoding="utf-8")
    numbers = {
        path.name: path.read_text(encoding="utf-8").count("\n") for path in (new.space.agents, new.space.heartbeat)
    }

    lines = await preview(new, "pelican")

    for name, number in numbers.items():
        assert f"  - {name}:{number}: Ask about the pelican" in lines


async def test_an_example_that_somebody_made_their_own_is_theirs(new: Household) -> None:
    example = "- Ada prefers metric units and short answers."
    assert example in new.space.user.read_text(encoding="utf-8")
    new.space.user.write_text(f"{new.space.user.read_text(encoding='utf-8')}{example}\n", encoding="utf-8")

    lines = await preview(new, "Ada metric")
    await new.forget("Ada metric")

    assert lines[1] == "- lines of memory and its history: 1"
    assert new.space.user.read_text(encoding="utf-8").count(example) == 1  # in the comment, where it came from


async def test_the_words_of_a_notes_head_are_no_words_of_a_person(new: Household) -> None:
    note = new.space.memory / "pond.md"
    note.write_text("---\ntype: project\nsummary: the pond\n---\nTwo pelicans.\n", encoding="utf-8")

    assert "nothing to forget" in (await preview(new, "summary"))[0]
    assert "nothing to forget" in (await preview(new, "project"))[0]
    assert (await preview(new, "pelicans"))[2] == "  - memory/pond.md:5: Two pelicans."


async def test_what_stands_only_in_older_versions_is_found_and_erased(new: Household) -> None:
    versions, note = new.bot().keep.memory.versions, new.space.memory / "birds.md"
    for text in ("about a pelican\n", "about a swan\n"):
        note.write_text(text, encoding="utf-8")
        await versions.commit_hand_edits()

    lines = await preview(new, "pelican")
    done = await new.forget("pelican")

    assert lines[1:3] == [
        "- lines of memory and its history: 1",
        "  - memory/birds.md (in older versions): about a pelican",
    ]
    assert not done.failed, done.text
    assert b"pelican" not in git(new.space, "cat-file", "--batch-all-objects", "--batch")
    assert note.read_text(encoding="utf-8") == "about a swan\n"


async def test_a_skill_of_ones_own_goes_by_its_name(new: Household) -> None:
    skill = new.space.skills / "pelican-watch" / "SKILL.md"
    skill.parent.mkdir()
    skill.write_text("---\nname: pelican-watch\n---\nLook out of the window.\n", encoding="utf-8")

    done = await new.forget("pelican")

    assert not done.failed, done.text
    assert not skill.exists()


async def test_a_conversation_that_is_called_so_is_told_and_stays(new: Household) -> None:
    await new.say("cli:pelican", user("m1", "t1", "Hello"))
    await new.say("cli:default", user("m2", "t2", "A pelican!"))

    done = await new.forget("pelican")

    assert not done.failed, done.text
    assert "pelican.jsonl:1" in done.text
    assert "session:KEY" in done.text
