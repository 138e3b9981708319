"""Reading."""

import asyncio
import os
import re
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.text import decode
from nanobot.tools.files import ReadFile
from nanobot.tools.paths import MAX_FILE, Disk, Sandbox
from nanobot.workspace import Workspace
from tests.tools.desk import Desk

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


async def test_a_short_file_comes_as_it_is(desk: Desk) -> None:
    desk.put("notes.md", "one\ntwo\n")
    assert await desk.text("read_file", path="notes.md") == "one\ntwo"


async def test_an_empty_file_is_said_to_be_empty(desk: Desk) -> None:
    desk.put("notes.md")
    assert await desk.text("read_file", path="notes.md") == "(notes.md is empty)"


async def test_a_range_says_where_it_lies_and_how_to_go_on(desk: Desk) -> None:
    desk.put("notes.md", "".join(f"line {number}\n" for number in range(1, 11)))
    text = await desk.text("read_file", path="notes.md", start=3, lines=2)
    assert text == "[notes.md: lines 3 to 4 of 10]\nline 3\nline 4\n[go on with start 5]"
    assert await desk.text("read_file", path="notes.md", start=10) == "[notes.md: lines 10 to 10 of 10]\nline 10"
    assert "ends at line 10" in await desk.refusal("read_file", path="notes.md", start=11)


@given(lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0["), max_size=60), min_size=1))
async def test_following_the_hints_one_reads_all_of_a_file(lines: list[str]) -> None:
    content = "\n".join(lines)
    with tempfile.TemporaryDirectory() as base:
        desk = Desk(Path(base))
        desk.tools["read_file"] = ReadFile(Disk(Sandbox(Workspace(desk.root))), max_result=20)
        desk.put("x", content)
        read, where = "", {"start": 1}
        while where:
            part = await desk.text("read_file", path="x", **where)
            body, where = without_hints(part)
            read += body + ("\n" if "column" not in where else "")
    if content.strip():
        assert read.removesuffix("\n") == content.removesuffix("\n")
    else:
        assert read.startswith("(x ")


def without_hints(part: str) -> tuple[str, dict[str, int]]:
    """The text in a part of a file, and where to go on (nowhere at the end)."""
    body = re.sub(r"^\[x: .*\]\n", "", part)
    hint = re.search(r"\n\[.*go on with start (\d+)(?:, column (\d+))?\]$", body)
    if not hint:
        return body, {}
    names = ("start", "column")
    return body[: hint.start()], {name: int(value) for name, value in zip(names, hint.groups(), strict=True) if value}


async def test_a_line_of_enormous_length_is_read_piece_by_piece(desk: Desk) -> None:
    desk.put("one.json", "a" * 16_000 + "b" * 10)
    first = await desk.text("read_file", path="one.json")
    assert first.endswith("[line 1 has 16,010 characters; go on with start 1, column 16001]")
    rest = await desk.text("read_file", path="one.json", start=1, column=16_001)
    assert rest.endswith("\nbbbbbbbbbb")


@pytest.mark.parametrize(
    "data",
    [
        "grüße 你好\r\n".encode(),
        b"\xef\xbb\xbf" + "grüße 你好".encode(),
        "grüße 你好".encode("utf-16"),
        b"\xff\xfe" + "grüße 你好".encode("utf-16-le"),
        b"\xfe\xff" + "grüße 你好".encode("utf-16-be"),
        "grüße 你好".encode("utf-32"),
    ],
)
async def test_text_in_unicode_reads_whatever_its_form(desk: Desk, data: bytes) -> None:
    desk.put("x.txt", data)
    assert (await desk.text("read_file", path="x.txt")).endswith("grüße 你好")


async def test_chinese_as_older_programs_write_it_reads_and_is_named(desk: Desk) -> None:
    desk.put("x.txt", "明天下午三点开会，记得带上文件。".encode("gbk"))
    assert await desk.text("read_file", path="x.txt") == (
        "[x.txt: written in gb18030]\n明天下午三点开会，记得带上文件。"
    )


@pytest.mark.parametrize("text", ["naïve café", "Ça va déjà", "Straße und Größe", "niño"])
async def test_accented_letters_in_latin_1_do_not_become_chinese(desk: Desk, text: str) -> None:
    desk.put("x.txt", text.encode("latin-1"))
    shown = await desk.text("read_file", path="x.txt")
    assert "broken bytes shown as \ufffd" in shown
    assert shown.split("\n")[1] == "".join(char if char.isascii() else "\ufffd" for char in text)


async def test_a_broken_byte_costs_one_character(desk: Desk) -> None:
    desk.put("x.txt", "第一行\n第".encode() + b"\xff" + "二行".encode())
    assert await desk.text("read_file", path="x.txt") == "[x.txt: 1 broken bytes shown as \ufffd]\n第一行\n第\ufffd二行"


@given(data=st.binary(max_size=200))
def test_any_bytes_that_read_as_text_are_written_back_as_they_were(data: bytes) -> None:
    text = decode(data)
    if text and text.is_exact:
        assert text.encode(text.content) == data


async def test_what_is_no_plain_text_is_refused_with_a_reason(desk: Desk) -> None:
    desk.put("program", b"\x7fELF\0\0\0")
    os.mkfifo(desk.root / "pipe")
    with (desk.root / "huge.log").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    desk.put("folder/x")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(desk.root / "socket"))
    assert "not a text file" in await desk.refusal("read_file", path="program")
    assert "a folder" in await desk.refusal("read_file", path="folder")
    assert "a folder" in await desk.refusal("read_file", path=".")
    assert "does not exist" in await desk.refusal("read_file", path="missing.txt")
    assert "too large" in await desk.refusal("read_file", path="huge.log")
    assert "not a folder" in await desk.refusal("read_file", path="program/x")
    assert "too long" in await desk.refusal("read_file", path="x" * 300)
    for path in ("pipe", "socket"):
        async with asyncio.timeout(120):
            assert "a device or a pipe" in await desk.refusal("read_file", path=path)
            assert "a device or a pipe" in await desk.refusal("write_file", path=path, content="x")


async def test_a_picture_comes_as_a_file_not_as_text(desk: Desk) -> None:
    desk.put("media/cat.dat", PNG)
    result = await desk.call("read_file", path="media/cat.dat")
    assert [(file.path, file.mime, file.name) for file in result.files] == [("media/cat.dat", "image/png", "cat.dat")]
    assert len(result.text) < 200


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "lacks `path`"),
        ({"path": 3}, "`path`: expected text, got a whole number"),
        ({"path": "x", "start": 0}, "`start`: expected a whole number >= 1"),
        ({"path": "x", "start": "three"}, "`start`: expected a whole number"),
        ({"path": "x", "file": "y"}, "no argument `file`"),
    ],
)
async def test_wrong_arguments_are_named_with_what_was_expected(
    desk: Desk, arguments: dict[str, object], expected: str
) -> None:
    refusal = await desk.refusal("read_file", **arguments)
    assert expected in refusal
    assert "start (may be left out)" in refusal


async def test_arguments_that_are_nearly_right_are_understood(desk: Desk) -> None:
    desk.put("x.txt", "one\ntwo")
    assert (await desk.text("read_file", path="x.txt", start="2", lines=None)).endswith("two")


def test_every_tool_describes_itself_with_a_schema_in_one_piece(desk: Desk) -> None:
    for name, tool in desk.tools.items():
        assert tool.spec.name == name
        assert tool.spec.parameters["type"] == "object"
        assert tool.spec.parameters["additionalProperties"] is False
        assert "$ref" not in str(tool.spec.parameters)
        assert all("description" in field for field in tool.spec.parameters["properties"].values())  # type: ignore[attr-defined]
    reading = {name for name, tool in desk.tools.items() if tool.spec.reads_only}
    assert reading == {"read_file", "list_dir", "find_files", "grep"}


def test_a_call_is_described_in_a_few_words_whatever_its_arguments(desk: Desk) -> None:
    assert desk.tools["read_file"].describe({"path": "notes.md"}, "en") == "read notes.md"
    assert desk.tools["exec"].describe({"command": "git status"}, "zh") == "运行 git status"
    assert desk.tools["list_dir"].describe({}, "en") == "list the workspace"
    for tool in desk.tools.values():
        for odd in ({}, {"path": None}, {"path": ["\x1b[2J\n" * 100], "command": {}, "pattern": "\u202e" * 500}):
            described = tool.describe(odd, "en")
            assert described.isprintable()
            assert len(described) < 120
