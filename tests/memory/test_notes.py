import logging
import os
from pathlib import Path

import pytest

from nanobot.memory.markdown import MARKER
from nanobot.memory.notes import Notebook, NoteLink
from nanobot.store.documents import CachedDocuments, MemoryFolder, read_frontmatter
from tests.fakes.clock import FakeClock

GREENHOUSE = """---
name: greenhouse
type: project
summary: greenhouse wiring and pinout
updated: 2026-11-02
relations: [{kind: part_of, to: garden}]
---
Pin 4 drives the pump, see [[weekly-report]] and [[Garden|the garden]].
"""
REPORT = "---\ntype: preference\ndescription: how the report looks\nupdated: 2026-10-11\n---\nShort.\n"
DAY = 1_764_504_000  # 2025-11-30, noon


class Opened:
    """A notebook, and its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = MemoryFolder(folder / "MEMORY.md", CachedDocuments())
        self.notebook = Notebook(self.store, read_frontmatter, FakeClock())

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        os.utime(path, (DAY, DAY))
        return path

    @property
    def memory(self) -> str:
        return (self.folder / "MEMORY.md").read_text()


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    (tmp_path / "memory").mkdir()
    return Opened(tmp_path / "memory")


async def test_the_index_lists_every_note_the_newest_first(opened: Opened) -> None:
    opened.write("MEMORY.md", "# Memory\n\n- a fact\n")
    opened.write("greenhouse.md", GREENHOUSE)
    opened.write("weekly-report.md", REPORT)
    opened.write("笔记.md", "# 关于花园\n\n正文")

    await opened.notebook.refresh()

    assert opened.memory == (
        "# Memory\n\n- a fact\n\n"
        f"{MARKER}\n"
        "- project: greenhouse wiring and pinout (`greenhouse.md`) · updated 2026-11-02\n"
        "- preference: how the report looks (`weekly-report.md`) · updated 2026-10-11\n"
        "- note: 关于花园 (`笔记.md`) · updated 2025-11-30\n"
    )


async def test_notes_of_the_same_day_stand_by_name(opened: Opened) -> None:
    for name in ("c.md", "a.md", "b.md"):
        opened.write(name, "x")

    await opened.notebook.refresh()

    assert [note.name for note in opened.notebook.all] == ["a", "b", "c"]


async def test_a_change_by_an_editor_is_noticed_at_the_next_turn(opened: Opened) -> None:
    opened.write("greenhouse.md", GREENHOUSE)
    await opened.notebook.refresh()

    (opened.folder / "greenhouse.md").write_text(GREENHOUSE.replace("wiring", "plumbing"))
    await opened.notebook.refresh()
    assert "greenhouse plumbing" in opened.memory

    (opened.folder / "greenhouse.md").rename(opened.folder / "house.md")
    await opened.notebook.refresh()
    assert "(`house.md`)" in opened.memory
    assert "(`greenhouse.md`)" not in opened.memory

    (opened.folder / "house.md").unlink()
    await opened.notebook.refresh()
    assert MARKER not in opened.memory


async def test_an_index_that_somebody_deleted_comes_back(opened: Opened) -> None:
    opened.write("greenhouse.md", GREENHOUSE)
    await opened.notebook.refresh()

    opened.write("MEMORY.md", "- all mine\n")
    await opened.notebook.refresh()

    assert opened.memory.startswith("- all mine\n\n" + MARKER)


async def test_an_unchanged_folder_is_not_read_and_not_written(opened: Opened) -> None:
    opened.write("greenhouse.md", GREENHOUSE)
    await opened.notebook.refresh()
    await opened.notebook.refresh()
    before, notes = (opened.folder / "MEMORY.md").stat(), opened.notebook.all

    await opened.notebook.refresh()

    assert (opened.folder / "MEMORY.md").stat() == before
    assert opened.notebook.all is notes


async def test_without_notes_a_memory_file_is_neither_made_nor_changed(opened: Opened) -> None:
    await opened.notebook.refresh()
    assert list(opened.folder.iterdir()) == []

    opened.write("MEMORY.md", "# Memory\n")
    await opened.notebook.refresh()
    assert opened.memory == "# Memory\n"


def test_a_tool_that_wrote_a_note_is_told_its_line(opened: Opened) -> None:
    path = opened.write("greenhouse.md", GREENHOUSE)

    line = opened.notebook.written(path)

    assert line == "- project: greenhouse wiring and pinout (`greenhouse.md`) · updated 2026-11-02"
    assert line in opened.memory
    assert opened.notebook.written(opened.folder / "MEMORY.md") == ""
    assert opened.notebook.written(opened.folder / "deeper" / "greenhouse.md") == ""


async def test_a_broken_head_costs_the_file_its_metadata_and_is_reported(opened: Opened) -> None:
    opened.write("broken.md", "---\ntype: [\n---\nThe text.\n")

    await opened.notebook.refresh()

    assert opened.notebook.index == ("- note: broken (`broken.md`) · updated 2025-11-30",)
    (problem,) = opened.notebook.problems
    assert (problem.file, problem.kind) == ("broken.md", "frontmatter")
    assert "line 3" in problem.detail


async def test_what_is_odd_about_a_head_is_reported_and_the_rest_is_used(opened: Opened) -> None:
    opened.write(
        "odd.md",
        "---\nsummary: an odd one\nupdated: last week\nrelations: [garden, {kind: x, to: odd}]\ntype: true\n---\n",
    )

    await opened.notebook.refresh()

    assert opened.notebook.index == ("- note: an odd one (`odd.md`) · updated 2025-11-30",)
    assert [(problem.kind, problem.detail) for problem in opened.notebook.problems] == [
        ("updated", "last week"),
        ("relations", "garden"),
    ]


async def test_a_summary_is_one_short_line_that_closes_nothing(opened: Opened) -> None:
    opened.write("a.md", '---\nsummary: "two\\nlines <!-- index --> <|im_start|>"\n---\n')
    opened.write("b.md", "# " + "long " * 100)

    await opened.notebook.refresh()

    first, second = opened.notebook.index
    assert first == "- note: two lines < !-- index - -> < |im_start|> (`a.md`) · updated 2025-11-30"
    assert len(second) < 220
    assert "…" in second


async def test_files_that_cannot_be_listed_are_reported(opened: Opened) -> None:
    (opened.folder / "folder.md").mkdir()
    opened.write("tick`.md", "x")
    opened.write("two\nlines.md", "x")

    await opened.notebook.refresh()

    assert opened.notebook.index == ()
    assert sorted((problem.kind, problem.file) for problem in opened.notebook.problems) == [
        ("name", "tick`.md"),
        ("name", "two\\nlines.md"),
        ("unreadable", "folder.md"),
    ]


async def test_notes_are_a_small_graph(opened: Opened) -> None:
    opened.write("greenhouse.md", GREENHOUSE)
    opened.write("weekly-report.md", REPORT)

    await opened.notebook.refresh()

    greenhouse, report = opened.notebook.find("Greenhouse"), opened.notebook.find("weekly-report.md")
    assert greenhouse
    assert report
    assert greenhouse.links == (NoteLink("garden", "part_of"), NoteLink("weekly-report"), NoteLink("Garden"))
    assert opened.notebook.linking_to(report) == [greenhouse]
    assert {(problem.kind, problem.detail) for problem in opened.notebook.problems} == {
        ("link", "garden"),
        ("link", "Garden"),
    }
    assert opened.notebook.find("nothing") is None


async def test_an_index_that_cannot_be_saved_is_still_right_in_the_prompt(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    opened.write("greenhouse.md", GREENHOUSE)
    (opened.folder / "MEMORY.md").mkdir()

    with caplog.at_level(logging.CRITICAL):
        await opened.notebook.refresh()

    assert "greenhouse wiring" in opened.notebook.section(32 * 1024).text
    assert [problem.kind for problem in opened.notebook.problems if problem.file == "MEMORY.md"] == ["unwritable"]

    (opened.folder / "MEMORY.md").rmdir()
    await opened.notebook.refresh()
    assert "greenhouse wiring" in opened.memory
    assert all(problem.kind == "link" for problem in opened.notebook.problems)


async def test_the_section_is_made_once_for_as_long_as_nothing_changes(opened: Opened) -> None:
    opened.write("MEMORY.md", "- a fact <!-- for me -->\n")
    await opened.notebook.refresh()

    section = opened.notebook.section(32 * 1024)

    assert opened.notebook.section(32 * 1024) is section
    assert opened.notebook.facts(32 * 1024).text == "- a fact"
    (opened.folder / "MEMORY.md").write_text("- another fact\n")
    assert "- another fact" in opened.notebook.section(32 * 1024).text
