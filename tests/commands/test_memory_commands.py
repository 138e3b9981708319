import re
from pathlib import Path

import pytest

from nanobot.authority import OWNER_IN_TERMINAL, Authority, Origin, Role, Scope
from nanobot.commands.memory import MemoryView, memory_command, remember_command
from nanobot.core.commands import Command, CommandCall
from nanobot.i18n import LANGUAGES, Language
from nanobot.memory.scopes import MemoryRegistry
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.store.documents import CachedDocuments, MemoryFolder, read_frontmatter
from nanobot.workspace import Workspace
from tests.fakes.clock import FakeClock

IN_A_GROUP = Authority(Role.OWNER, Scope.group("telegram", "-1"), Origin.OWNER)


def call(argument: str = "", *, authority: Authority = OWNER_IN_TERMINAL, language: Language = "en") -> CommandCall:
    message = InboundMessage(
        id="1", address=Address("cli", "main"), sender=Sender("me"), authority=authority, text=f"/x {argument}"
    )
    return CommandCall(message, argument, language)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    return tmp_path / "memory"


def commands(folder: Path) -> tuple[Command, Command]:
    documents = CachedDocuments()
    shelves = MemoryRegistry(
        Workspace(folder.parent), lambda path: MemoryFolder(path, documents), read_frontmatter, FakeClock(), budget=2048
    )
    return memory_command(MemoryView(shelves, documents, 2048)), remember_command(shelves)


async def test_what_is_remembered_is_shown_with_the_titles_of_the_notes(folder: Path) -> None:
    (folder / "greenhouse.md").write_text("---\nsummary: wiring\nupdated: 2026-11-02\n---\nPin 4, see [[garden]]\n")
    memory, remember = commands(folder)

    told = await remember.handler(call("Please remember that My dog is called Pixel"))
    overview = await memory.handler(call())

    assert ": My dog is called Pixel (2026-03-02)" in told.text
    assert "- My dog is called Pixel (2026-03-02)\n" in (folder / "MEMORY.md").read_text()
    assert "## Remembered\n- My dog is called Pixel (2026-03-02)" in overview.text
    assert "- 1 · greenhouse: wiring (2026-11-02)" in overview.text
    assert f"{folder}; you can edit them" in overview.text
    assert 'greenhouse.md: links to "garden"' in overview.text


async def test_a_long_file_is_shown_by_its_beginning_and_whole_by_number_or_name(folder: Path) -> None:
    (folder.parent / "USER.md").write_text("# The user\n\n- likes tea\n<!-- a hint -->\n")
    (folder / "MEMORY.md").write_text("# Memory\n\n" + "".join(f"- fact {number}\n" for number in range(300)))
    (folder / "garden.md").write_text("Roses.\n")
    memory, _ = commands(folder)

    overview = (await memory.handler(call())).text
    whole = (await memory.handler(call("--all"))).text

    assert "**USER.md** · about you\n\n- likes tea\n" in overview
    assert "hint" not in overview
    assert len(overview) < 3000
    assert "- fact 0\n" in overview
    assert re.search(r"… and \d+ more lines: /memory MEMORY", overview)
    for argument in ("memory", "MEMORY.md", "--all"):
        assert "- fact 299" in (await memory.handler(call(argument))).text
    assert "Roses." in whole
    assert "Roses." in (await memory.handler(call("1"))).text
    assert (await memory.handler(call("2"))).failed


async def test_who_cannot_reach_the_files_is_not_told_to_edit_them(folder: Path) -> None:
    memory, remember = commands(folder)
    await remember.handler(call("tea for the group", authority=IN_A_GROUP))
    (folder.parent / "groups" / "telegram--1" / "plan.md").write_text("see [[nowhere]]\n")

    told = (await memory.handler(call(authority=IN_A_GROUP))).text

    assert "- tea for the group" in told
    assert "/forget" in told
    assert not re.search("edit|config|nowhere|" + re.escape(str(folder.parent)), told.replace("see [[nowhere]]", ""))


async def test_an_empty_memory_says_how_to_fill_it(folder: Path) -> None:
    memory, remember = commands(folder)

    assert "/remember" in (await memory.handler(call())).text
    assert "/remember" in (await remember.handler(call())).text


async def test_who_asks_for_the_files_that_are_no_memory_hears_where_they_are(folder: Path) -> None:
    memory, _ = commands(folder)

    told = await memory.handler(call("soul"))

    assert told.failed
    assert told.text.endswith(f"here: {folder.parent / 'SOUL.md'}")
    assert str(folder.parent) not in (await memory.handler(call("SOUL.md", authority=IN_A_GROUP))).text


async def test_a_note_is_shown_with_what_links_to_it(folder: Path) -> None:
    (folder / "garden.md").write_text("Roses.\n")
    (folder / "greenhouse.md").write_text("---\nrelations: [{kind: part_of, to: garden}]\n---\nPin 4\n")
    memory, _ = commands(folder)

    garden = (await memory.handler(call("Garden"))).text
    greenhouse = (await memory.handler(call("greenhouse.md"))).text

    assert "Roses." in garden
    assert "Linked from: greenhouse" in garden
    assert "Links to: part_of: garden" in greenhouse
    assert "called nothing" in (await memory.handler(call("nothing"))).text


async def test_a_memory_too_long_for_the_prompt_is_said_to_be(folder: Path) -> None:
    (folder / "MEMORY.md").write_text("- filler\n" * 1000)

    assert "of 9,000 bytes fit" in (await commands(folder)[0].handler(call())).text


async def test_an_answer_says_whether_what_was_asked_for_was_done(folder: Path) -> None:
    memory, remember = commands(folder)

    said = [
        await remember.handler(call(text)) for text in ("tea at five", "Tea at five.", "", "my password is hunter2")
    ]
    shown = [await memory.handler(call(name)) for name in ("", "nothing")]

    assert [answer.failed for answer in (*said, *shown)] == [
        *(False, False, True, True),
        *(False, True),
    ]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_problem_has_a_sentence(folder: Path, language: Language) -> None:
    (folder / "MEMORY.md").mkdir()
    (folder / "a.md").write_text("---\na: [\n---\n")
    (folder / "b.md").write_text("---\nupdated: x\nrelations: x\n---\n[[nowhere]]")
    (folder / "c`.md").write_text("x")
    (folder / "d.md").mkdir()

    text = (await commands(folder)[0].handler(call(language=language))).text

    assert len([line for line in text.split("\n") if line.startswith("- ") and ("：" in line or ": " in line)]) == 9


async def test_the_owners_memory_is_not_opened_in_a_group(folder: Path) -> None:
    (folder / "MEMORY.md").write_text("- private\n")
    memory, remember = commands(folder)

    assert "private" not in (await memory.handler(call(authority=IN_A_GROUP))).text
    told = await remember.handler(call("tea for the group", authority=IN_A_GROUP))
    assert not told.failed
    assert (folder / "MEMORY.md").read_text() == "- private\n"
    assert "- tea for the group" in (folder.parent / "groups" / "telegram--1" / "MEMORY.md").read_text()
