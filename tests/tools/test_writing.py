"""Writing and editing."""

import asyncio
import os
import re
import stat
import threading
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.authority import Authority, Origin, Role, Scope
from nanobot.errors import ToolError
from nanobot.ports import Caller, Edit, Judgement
from nanobot.tools.paths import MAX_FILE, Disk, Sandbox
from nanobot.tools.writing import _places, replace
from nanobot.workspace import Workspace
from tests.tools.desk import ADA, IN_GROUP, OWNER, TERMINAL, Desk


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_new_file_and_its_folders_are_private(desk: Desk) -> None:
    text = await desk.text("write_file", path="a/b/c.txt", content="grüße")
    assert text == "a/b/c.txt is a new file: 7 bytes."
    assert (mode(desk.root / "a"), mode(desk.root / "a/b"), mode(desk.root / "a/b/c.txt")) == (0o700, 0o700, 0o600)


async def test_a_replaced_file_keeps_its_mode_and_no_draft_stays_behind(desk: Desk) -> None:
    desk.put("run.sh", "old").chmod(0o755)
    assert "was replaced" in await desk.text("write_file", path="run.sh", content="new")
    await desk.call("edit_file", path="run.sh", old_text="new", new_text="newer")
    assert (desk.root / "run.sh").read_text() == "newer"
    assert mode(desk.root / "run.sh") == 0o755
    assert {path.name for path in desk.root.iterdir()} == {"memory", "run.sh"}


async def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = desk.put("x.txt", "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "the disk is full" in await desk.refusal("write_file", path="x.txt", content="new")
    assert file.read_text() == "old"
    assert {path.name for path in desk.root.iterdir()} == {"memory", "x.txt"}


async def test_a_folder_is_not_replaced_by_a_file(desk: Desk) -> None:
    desk.put("folder/x.txt", "x")
    assert "a folder" in await desk.refusal("write_file", path="folder", content="x")
    assert "a folder" in await desk.refusal("write_file", path=".", content="x")


async def test_what_cannot_be_written_is_refused_before_anything_changes(desk: Desk) -> None:
    assert "cannot be written in utf-8" in await desk.refusal("write_file", path="x.txt", content="a\ud800b")
    assert "too much" in await desk.refusal("write_file", path="x.txt", content="a" * (MAX_FILE + 1))
    assert not (desk.root / "x.txt").exists()


async def test_a_windows_file_stays_one(desk: Desk) -> None:
    file = desk.put("x.txt", b"one\r\ntwo\r\nthree\r\n")
    await desk.call("edit_file", path="x.txt", old_text="one\ntwo", new_text="1\n1.5\n2")
    assert file.read_bytes() == b"1\r\n1.5\r\n2\r\nthree\r\n"


async def test_an_edit_leaves_all_other_bytes_alone(desk: Desk) -> None:
    file = desk.put("x.txt", b"\xef\xbb\xbfone \xff\r\nmixed\ntwo\n\0end")
    await desk.call("edit_file", path="x.txt", old_text="mixed", new_text="gemischt")
    assert file.read_bytes() == b"\xef\xbb\xbfone \xff\r\ngemischt\ntwo\n\0end"


@pytest.mark.parametrize("encoding", ["utf-16", "gbk"])
async def test_an_edit_keeps_the_encoding(desk: Desk, encoding: str) -> None:
    file = desk.put("x.txt", "今天天气很好\n明天下雨\n".encode(encoding))
    await desk.call("edit_file", path="x.txt", old_text="下雨", new_text="下雪")
    assert file.read_bytes().decode(encoding) == "今天天气很好\n明天下雪\n"


async def test_bytes_that_an_edit_would_lose_forbid_it(desk: Desk) -> None:
    desk.put("x.txt", b"\xff\xfe" + "one".encode("utf-16-le") + b"\x00\xd8x\x00")
    assert "broken in utf-16" in await desk.refusal("edit_file", path="x.txt", old_text="one", new_text="two")


@pytest.mark.parametrize(
    ("content", "old", "expected"),
    [
        ("    return x\n", "\treturn x", "line 1 differs from it only in white space"),
        ("a = 1\nb  =  2\n", "a = 1\nb = 2", "line 2 differs from it only in white space"),
        ("Roses are Red\n", "roses are red", "only in capital letters"),
        ("apples and pears\n", "apples and bears", "Nearest is line 1: 'apples and pears'"),
        ("x\nthe long first line\nsecond\n", "the long first line\nthird", "Line 2 of the file"),
        ("apples\n", "completely different words", "nor anything like it"),
        ("", "x", "nor anything like it"),
        ("one\none\n", "one", "2 times (lines 1, 2)"),
        ("x" * 50, "x", "50 times"),
        ("one", "", "old_text is empty"),
        ("one", "one", "nothing to change"),
    ],
)
async def test_an_edit_that_does_not_match_says_why(desk: Desk, content: str, old: str, expected: str) -> None:
    file = desk.put("x.txt", content)
    new = old if expected == "nothing to change" else "new"
    assert expected in await desk.refusal("edit_file", path="x.txt", old_text=old, new_text=new)
    assert file.read_text() == content


async def test_everywhere_means_everywhere(desk: Desk) -> None:
    file = desk.put("x.txt", "one two one\none")
    text = await desk.text("edit_file", path="x.txt", old_text="one", new_text="1", everywhere=True)
    assert file.read_text() == "1 two 1\n1"
    assert text == "x.txt was changed at 3 places, from line 1."


@given(
    before=st.text(max_size=30), old=st.text("ab\n", min_size=1, max_size=5), after=st.text(max_size=30), new=st.text()
)
def test_an_exact_edit_is_a_replacement(before: str, old: str, after: str, new: str) -> None:
    content = (before + old + after).replace("\r", "")
    new = new.replace("\r", "")
    if old != new:
        changed, _ = replace(content, old, new, everywhere=True, newline="\n")
        assert changed == content.replace(old, new)


def test_nobody_who_shares_the_lock_writes_between_the_check_and_the_replacing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put("memory/MEMORY.md", "old")
    lock, seen, rename = threading.Lock(), list[bool](), os.rename
    disk = Disk(Sandbox(Workspace(desk.root)), lock)
    place = disk.sandbox.locate("memory/MEMORY.md", OWNER.authority)

    def watched(*args: str, src_dir_fd: int, dst_dir_fd: int) -> None:
        seen.append(lock.locked())
        rename(*args, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "rename", watched)
    disk.replace(place, b"old", b"new")

    assert (seen, lock.locked(), disk.read(place)) == ([True], False, b"new")


async def test_a_change_by_somebody_else_in_between_is_not_lost(desk: Desk) -> None:
    file = desk.put("AGENTS.md", "mine")
    desk.person.answers = ["once"]
    desk.person.meanwhile = lambda: file.write_text("theirs")
    assert "changed by somebody else" in await desk.refusal("write_file", path="AGENTS.md", content="model's")
    assert file.read_text() == "theirs"


@pytest.mark.parametrize(
    "path",
    ["AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "skills/cook/SKILL.md", "agents.md", "./memory/../TOOLS.md"],
)
async def test_what_the_bot_follows_changes_only_with_the_owners_yes(desk: Desk, path: str) -> None:
    desk.person.answers = ["no", "once"]
    assert "said no" in await desk.refusal("write_file", path=path, content="be rude")
    assert not (desk.root / path).exists()
    await desk.call("write_file", path=path, content="be kind")
    assert (desk.root / path).read_text() == "be kind"
    assert "+be rude" in desk.person.questions[0]
    assert [button.value for button in desk.person.choices] == ["once", "session", "no"]


async def test_the_question_shows_the_change_and_hides_nothing_in_it(desk: Desk) -> None:
    desk.put("AGENTS.md", "be kind\nbe brief\n")
    desk.person.answers = ["all", "once"]
    new = "be kind\n```\nnot code\u202e any more\x1b[2J\n" + "more\n" * 60 + "x" * 500 + " and obey"
    await desk.call("write_file", path="AGENTS.md", content=new)
    ends, whole = desk.person.questions
    assert "````diff\n" in ends
    assert "-be brief" in ends
    assert ends.count("and obey") == 1
    assert "\n+not code\\u202e any more\\x1b[2J\n" in whole
    assert whole.count("+more\n") == 60
    assert f"+{'x' * 500} and obey" in whole


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        ("be kind\n", "be kind\n\0obey\n", "+\\x00obey"),
        (b"\0\xff old\n", "obey\n", "-\\x00\\xff old\n+obey"),
        ("be kind\n", "be kind\robey\n", "+be kind\\robey"),
        ("be kind\r\nbe brief\r\n", "be kind\r\nobey\r\n", "-be brief\n+obey"),
        ("be kind", "be kind\n", "no line changes"),
        ("be kind\n", "be kind\r\n", "no line changes"),
    ],
)
async def test_what_is_no_text_is_shown_as_well(desk: Desk, before: str | bytes, after: str, seen: str) -> None:
    desk.put("AGENTS.md", before)
    desk.person.answers = ["once"]
    await desk.call("write_file", path="AGENTS.md", content=after)
    assert seen in desk.person.questions[0]


async def test_a_change_far_down_is_shown_with_its_true_place(desk: Desk) -> None:
    lines = [f"rule {number}" for number in range(5_000)]
    desk.put("AGENTS.md", "\n".join(lines) + "\n")
    desk.person.answers = ["once"]
    await desk.call("edit_file", path="AGENTS.md", old_text="rule 3000\n", new_text="rule 3000a\nrule 3000b\n")
    assert (
        "@@ -3000,3 +3000,4 @@\n rule 2999\n-rule 3000\n+rule 3000a\n+rule 3000b\n rule 3001"
        in desk.person.questions[0]
    )


async def test_where_very_much_changes_all_of_it_is_shown_old_and_new(desk: Desk) -> None:
    desk.put("AGENTS.md", "same\n" + "a\n" * 1_500 + "end\n")
    desk.person.answers = ["all", "once"]
    await desk.call("write_file", path="AGENTS.md", content="same\n" + "b\n" * 1_400 + "end\n")
    whole = desk.person.questions[-1]
    assert "@@ -2,1500 +2,1400 @@\n" + "-a\n" * 1_500 + "+b\n" * 1_400 in whole + "\n"


@given(st.text(alphabet="ab\r\n", max_size=30), st.text(alphabet="ab\n", min_size=1, max_size=4))
def test_a_text_is_found_wherever_an_expression_would_find_it(content: str, old: str) -> None:
    expression = "\r?\n".join(map(re.escape, old.split("\n")))
    assert _places(content, old) == [match.span() for match in re.finditer(expression, content)]


async def test_more_than_a_person_reads_is_not_asked_about(desk: Desk) -> None:
    refusal = await desk.refusal("write_file", path="AGENTS.md", content="obey\n" * 6_000)
    assert "several smaller ones" in refusal
    assert not desk.person.questions


async def test_a_name_that_markdown_would_read_otherwise_stands_as_it_is(desk: Desk) -> None:
    desk.person.answers = ["once"]
    await desk.call("write_file", path="skills/x/*a*[b](c).md", content="x")
    assert "May I change `skills/x/*a*[b](c).md`?" in desk.person.questions[0]


async def test_a_yes_for_the_session_is_for_that_file_in_that_session(desk: Desk) -> None:
    desk.person.answers = ["session", "no", "no"]
    await desk.call("write_file", path="AGENTS.md", content="one")
    await desk.call("edit_file", path="AGENTS.md", old_text="one", new_text="two")
    await desk.refusal("write_file", path="TOOLS.md", content="x")
    elsewhere = Caller(type(TERMINAL)("cli", "other"), OWNER.authority, "turn", "en")
    await desk.refusal("write_file", elsewhere, path="AGENTS.md", content="x")
    assert len(desk.person.questions) == 3


async def test_nobody_but_the_owner_is_even_asked(desk: Desk) -> None:
    member = Caller(TERMINAL, Authority(Role.MEMBER, Scope.owner(), Origin.PERSON), "turn", "en")
    assert "Only the owner" in await desk.refusal("write_file", member, path="AGENTS.md", content="x")
    for name in ("TOOLS.md", "tools.md", "garden/../Tools.md"):
        path = f"people/telegram-12/{name}"
        assert "Only the owner" in await desk.refusal("write_file", ADA, path=path, content="x")
    assert not desk.person.questions


async def test_what_a_group_is_told_of_tools_changes_with_an_owners_yes_there(desk: Desk) -> None:
    desk.person.answers = ["no", "once"]
    path = "groups/telegram--100/TOOLS.md"
    assert "said no" in await desk.refusal("write_file", IN_GROUP, path=path, content="x")
    await desk.call("write_file", IN_GROUP, path=path, content="the printer is on the left")
    assert (desk.root / path).read_text() == "the printer is on the left"


async def test_the_result_of_a_note_states_its_line_in_the_index(tmp_path: Path) -> None:
    desk = Desk(tmp_path, on_note=lambda path: f"- [{path.stem}]({path.name})")
    text = await desk.text("write_file", path="memory/garden.md", content="roses")
    assert text.endswith("Its line in the index: - [garden](garden.md)")
    text = await desk.text("edit_file", path="memory/garden.md", old_text="roses", new_text="tulips")
    assert text.endswith("Its line in the index: - [garden](garden.md)")
    assert "index" not in await desk.text("write_file", path="other.md", content="roses")


@pytest.mark.parametrize("path", ["memory/x.md", "USER.md", "SOUL.md", "./user.md"])
async def test_what_must_not_be_remembered_is_refused_with_the_reason(tmp_path: Path, path: str) -> None:
    async def judge(path: PurePosixPath, edit: Edit, caller: Caller) -> Judgement:
        is_bad = b"new: hunter2" in (edit.after or b"")
        return Judgement("refuse", "it holds a password.") if is_bad else Judgement("write")

    desk = Desk(tmp_path, judge=judge)
    desk.put(path, "old: hunter2\nline\n")
    refusal = await desk.refusal("edit_file", path=path, old_text="line", new_text="new: hunter2")
    assert "it holds a password" in refusal
    assert desk.person.questions == []
    desk.person.answers.append("once")  # SOUL.md takes a yes
    await desk.call("edit_file", path=path, old_text="line", new_text="harmless")
    await desk.call("write_file", path="letter.md", content="hunter2")
    assert (desk.root / path).read_text() == "old: hunter2\nharmless\n"


async def test_two_writers_at_once_leave_one_whole_file(desk: Desk) -> None:
    contents = [character * 50_000 for character in "abcdef"]
    results = await asyncio.gather(
        *(desk.call("write_file", path="x.txt", content=content) for content in contents), return_exceptions=True
    )
    assert all(not isinstance(result, BaseException) or isinstance(result, ToolError) for result in results)
    assert (desk.root / "x.txt").read_text() in contents


@pytest.mark.parametrize(
    ("before", "content", "after", "says"),
    [
        (
            "旧的内容\r\n第二行在这里\r\n".encode("gbk"),
            "新内容\n",
            "新内容\r\n".encode("gbk"),
            "(gb18030, CRLF line ends, as before)",
        ),
        ("旧的内容，没有别的了\n".encode("gbk"), "新内容\n", "新内容\n".encode("gbk"), "(gb18030, as before)"),
        (b"a\r\nb\r\n", "one\ntwo\r\n", b"one\r\ntwo\r\n", "(CRLF line ends, as before)"),
        (b"a\nb\n", "one\r\n", b"one\r\n", ", with CRLF line ends now (it had LF)."),
        ("alt\n".encode("utf-16"), "neu\n", "neu\n".encode("utf-16"), "(utf-16-le, as before)"),
        (b"\xef\xbb\xbfold\n", "new\n", b"\xef\xbb\xbfnew\n", "(utf-8, as before)"),
        (b"a\nb\n", "c\n", b"c\n", "was replaced: 2 bytes."),
        (b"\x89PNG\0\0", "c\n", b"c\n", "was replaced: 2 bytes."),
        (b"", "c\n", b"c\n", "was replaced: 2 bytes."),
    ],
)
async def test_a_file_that_is_replaced_keeps_its_encoding_and_its_line_ends(
    desk: Desk, before: bytes, content: str, after: bytes, says: str
) -> None:
    path = desk.put("g.txt", before)
    told = await desk.text("write_file", path="g.txt", content=content)
    assert path.read_bytes() == after
    assert says in told


async def test_that_all_of_a_file_is_replaced_is_said(desk: Desk) -> None:
    (desk.root / "SOUL.md").write_text("# Soul\n\nBe kind.\nBe brief.\n", encoding="utf-8")
    desk.person.answers = ["no", "no"]
    for content, is_said in (("# Other\n\nBe loud.\n", True), ("# Soul\n\nBe loud.\n", False)):
        await desk.refusal("write_file", path="SOUL.md", content=content)
        question = desk.person.questions[-1]
        assert ("All of SOUL.md is replaced: none of its 3 lines stays." in question) is is_said
