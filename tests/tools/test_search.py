"""Listing, finding, searching."""

import asyncio
import os
import subprocess
from pathlib import PurePosixPath

import pytest

from nanobot.tools import search
from nanobot.tools.search import matches
from tests.tools.desk import Desk


async def test_a_folder_is_listed_with_kinds_and_sizes(desk: Desk) -> None:
    desk.put("b.txt", "x" * 1234)
    desk.put("a/x.txt")
    (desk.root / "c").symlink_to("b.txt")
    os.mkfifo(desk.root / "d")
    assert await desk.text("list_dir") == "a/\nb.txt  1,234 bytes\nc  (a link)\nd  (a device or a pipe)\nmemory/"
    assert await desk.text("list_dir", path="memory") == "(nothing)"
    assert "not a folder" in await desk.refusal("list_dir", path="b.txt")
    assert "does not exist" in await desk.refusal("list_dir", path="missing")


async def test_a_name_is_shown_with_every_blank_so_that_it_can_be_read(desk: Desk) -> None:
    desk.put(" a  b.txt", "needle")
    (name,) = (await desk.text("find_files", pattern="*")).split("\n")
    assert await desk.text("read_file", path=name) == "needle"


async def test_a_name_cannot_pretend_to_be_another_line(desk: Desk) -> None:
    desk.put("x\nfake.txt  1 bytes")
    assert len((await desk.text("list_dir")).split("\n")) == 2


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.md", "a/b/c.md", True),
        ("*.md", "c.md", True),
        ("**", "a/b.txt", True),
        ("**/*.py", "x.py", True),
        ("**/*.py", "a/b/x.py", True),
        ("a/*.py", "a/x.py", True),
        ("a/*.py", "a/b/x.py", False),
        ("a/**/x.py", "a/x.py", True),
        ("a/**/x.py", "a/b/c/x.py", True),
        ("a/**", "a/b/c", True),
        ("a/**", "b/c", False),
        ("**/a/**/b/**", "x/a/y/z/b/q", True),
        ("**/**/**/**/x", "a/b/c/d/e/f/y", False),
        ("A*", "abc", False),
        ("[ab]?.txt", "b1.txt", True),
        ("你*", "a/你好.md", True),
    ],
)
def test_patterns_mean_what_people_expect(pattern: str, path: str, fits: bool) -> None:
    assert matches(PurePosixPath(path), pattern) is fits


async def test_files_are_found_by_name_below_a_folder(desk: Desk) -> None:
    for path in ("a/one.md", "a/b/two.md", "c/three.md", "a/x.txt"):
        desk.put(path)
    assert await desk.text("find_files", pattern="*.md", path="a") == "a/one.md\na/b/two.md"
    assert await desk.text("find_files", pattern="b/*.md", path="a") == "a/b/two.md"
    assert await desk.text("find_files", pattern="*.pdf") == "(nothing)"


async def test_too_many_finds_are_cut_and_it_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_MAX_FOUND", 3)
    monkeypatch.setattr(search, "_MAX_MATCHES", 2)
    for number in range(5):
        desk.put(f"{number}.txt", "x\n")
    assert await desk.text("find_files", pattern="*.txt") == (
        "0.txt\n1.txt\n2.txt\n[stopped after 3: there are more, be more precise]"
    )
    assert await desk.text("grep", pattern="x") == (
        "0.txt:1: x\n1.txt:1: x\n[stopped after 2: there are more, be more precise]"
    )


async def test_text_is_found_with_file_and_line(desk: Desk) -> None:
    desk.put("a.md", "Roses\nare red\r\n")
    desk.put("b.txt", "are blue\n")
    assert await desk.text("grep", pattern="^are (red|blue)$") == "a.md:2: are red\nb.txt:1: are blue"
    assert await desk.text("grep", pattern="are", files="*.md") == "a.md:2: are red"
    assert await desk.text("grep", pattern="roses", path="a.md", ignore_case=True) == "a.md:1: Roses"
    assert await desk.text("grep", pattern="violets") == "(nothing)"
    assert "not a regular expression" in await desk.refusal("grep", pattern="(")


async def test_what_an_expression_cannot_hold_is_said_with_what_to_do(desk: Desk) -> None:
    desk.put("a.md", "roses are red, 玫瑰是红色的\n")
    for pattern in (r"(?=roses)", r"(roses).*\1"):
        assert "search for less, and look at the lines" in await desk.refusal("grep", pattern=pattern)
    assert "not valid text" in await desk.refusal("grep", pattern="\ud800")
    assert await desk.text("grep", pattern="玫.是") == "a.md:1: roses are red, 玫瑰是红色的"


@pytest.mark.parametrize("pattern", ["(?:ab){100000000}", "((((x{99}){99}){99}){99})", "(?:a{1000}b?){1000}"])
async def test_an_expression_that_would_take_all_memory_is_refused(desk: Desk, pattern: str) -> None:
    desk.put("a.txt", "ab")
    assert "cannot be searched for" in await desk.refusal("grep", pattern=pattern)


async def test_files_that_cannot_be_searched_are_counted(desk: Desk) -> None:
    desk.put("a.bin", b"\0\1needle")
    desk.put("b.txt", "needle")
    assert await desk.text("grep", pattern="needle") == (
        "b.txt:1: needle\n[1 files are not text, too large or not readable]"
    )


async def test_a_very_long_line_is_shown_around_its_match(desk: Desk) -> None:
    desk.put("a.json", "x" * 5_000 + "needle" + "y" * 5_000)
    text = await desk.text("grep", pattern="needle")
    assert "needle" in text
    assert "more characters]" in text
    assert len(text) < 400


@pytest.mark.parametrize("pattern", ["(a|aa)+$", "(a*)*c", "(?:a?){200}a{200}$"])
async def test_an_expression_that_other_engines_never_end_ends(desk: Desk, pattern: str) -> None:
    desk.put("a.txt", "a" * 5_000 + "b")
    assert await desk.text("grep", pattern=pattern) == "(nothing)"


async def test_a_walk_that_takes_too_long_says_what_it_did_not_see(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_SECONDS", -1.0)
    desk.put("a.txt")
    assert "there may be more" in await desk.text("find_files", pattern="*")


async def test_links_are_not_followed_by_a_search_and_circles_do_not_matter(desk: Desk) -> None:
    (desk.root / "out").symlink_to("../ws_evil")
    (desk.root / "circle").symlink_to(".")
    desk.put("a.txt", "x")
    assert await desk.text("find_files", pattern="**") == "a.txt"


async def test_a_very_deep_folder_is_searched_to_its_end(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_SECONDS", 100.0)  # however busy the machine is
    folder = os.open(desk.root, os.O_RDONLY)
    for _ in range(1_010):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("end.txt", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    found = await desk.text("find_files", pattern="end.txt")
    await asyncio.to_thread(subprocess.run, ["rm", "-r", str(desk.root / "d")], check=True)  # pytest would go too deep
    assert found.endswith("end.txt")
    assert len(found) > 2_020
