import asyncio
import os
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import VersionError
from nanobot.memory.markdown import MARKER
from nanobot.memory.versions.worktree import CLEAN, versioned_part, with_index_of
from nanobot.ports import Edit
from tests.memory.versions.desk import BASE, INDEX, MEMORY, Desk


async def test_what_is_found_at_the_first_start_is_the_base_and_nothing_else_is_kept(new_desk: Desk) -> None:
    for path in ("HEARTBEAT.md", "memory/history.jsonl", "memory/.cursor", "notes.txt", ".nanobot/state/x"):
        new_desk.write(path, b"x")
    kept = ["memory/tombstones/1.json", "people/telegram-1/USER.md", "groups/d-2/sub/n.md", "skills/a/SKILL.md"]
    for path in (*kept, "skills/a/__pycache__/x.pyc", "skills/a/.hidden", "memory/sub/x.md"):
        new_desk.write(path, b"x")

    edits = await new_desk.store.ensure()

    assert edits.version is not None
    assert set(edits.version.paths) == {*BASE, *kept}
    assert await new_desk.subjects() == ["person: What was here when the history began"]
    assert (await new_desk.store.ensure()).version is None


async def test_an_empty_workspace_has_a_history_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "new")
    desk.root.mkdir()
    await desk.store.ensure()

    await desk.change({MEMORY: b"- a\n"})

    assert await desk.subjects() == ["nanobot: a change", "person: What was here when the history began"]


async def test_a_person_reads_the_history_with_git_in_the_folder_of_notes(desk: Desk) -> None:
    desk.write(MEMORY, BASE[MEMORY] + INDEX)
    await desk.change({MEMORY: b"# Memory\n- three\n"}, "three", "dream")

    assert await desk.git("status", "--porcelain") == ""
    assert await desk.git("diff") == ""
    assert "nanobot dream" in await desk.git("log", "-p")

    desk.write("USER.md", b"# User\n\n- likes coffee\n")

    assert "+- likes coffee" in await desk.git("diff")
    assert await desk.git("status", "--porcelain") == " M USER.md\n"


async def test_what_people_changed_is_theirs_and_one_version(desk: Desk) -> None:
    desk.write("USER.md", b"mine\n")
    desk.write("memory/new.md", b"new\n")
    (desk.root / "SOUL.md").unlink()

    edits = await desk.store.commit_hand_edits()

    assert edits.version is not None
    assert set(edits.version.paths) == {"USER.md", "memory/new.md", "SOUL.md"}
    assert edits.version.author == "person"
    assert (await desk.store.commit_hand_edits()).version is None
    assert await desk.git("status", "--porcelain") == ""


async def test_a_change_is_a_version_of_its_own_and_hand_edits_come_before_it(desk: Desk) -> None:
    desk.write("SOUL.md", b"mine\n")

    version = await desk.change(
        {MEMORY: b"- new\n", "people/t-1/USER.md": b"- a\n", "USER.md": None}, "dreamt", "dream"
    )

    assert (desk.read(MEMORY), desk.read("people/t-1/USER.md"), desk.read("USER.md")) == (b"- new\n", b"- a\n", None)
    made, diffs = await desk.store.show(version)
    assert [diff.path for diff in diffs] == ["USER.md", MEMORY, "people/t-1/USER.md"] == sorted(made.paths)
    assert made.message.strip() == "dreamt"
    assert (await desk.subjects())[:2] == ["dream: dreamt", "person: Edited by hand: SOUL.md"]
    assert await desk.git("status", "--porcelain") == ""


async def test_a_change_that_changes_nothing_is_no_version(desk: Desk) -> None:

    assert await desk.store.commit({"SOUL.md": Edit(b"# Soul\n", b"# Soul\n")}, "nothing") is None
    assert len(await desk.store.log()) == 1


async def test_a_file_that_changed_meanwhile_is_a_conflict_and_nothing_is_changed(desk: Desk) -> None:
    before = await desk.store.files()
    desk.write("USER.md", b"mine\n")

    edits = {"USER.md": Edit(before["USER.md"], b"ours\n"), "SOUL.md": Edit(before["SOUL.md"], b"ours\n")}

    with pytest.raises(VersionError) as caught:
        await desk.store.commit(edits, "late")

    assert (caught.value.kind, caught.value.paths) == ("conflict", ("USER.md",))
    assert (desk.read("USER.md"), desk.read("SOUL.md")) == (b"mine\n", BASE["SOUL.md"])
    assert await desk.subjects() == [
        "person: Edited by hand: USER.md",
        "person: What was here when the history began",
    ]


async def test_the_index_of_notes_is_neither_kept_nor_lost(desk: Desk) -> None:
    desk.write(MEMORY, BASE[MEMORY] + INDEX)

    desk.write(MEMORY, BASE[MEMORY] + INDEX.replace(b"x.md", b"y.md"))
    assert (await desk.store.commit_hand_edits()).version is None

    await desk.change({MEMORY: b"# Memory\n\n- other\n"})
    assert desk.read(MEMORY) == b"# Memory\n\n- other\n" + INDEX.replace(b"x.md", b"y.md")
    assert MARKER not in await desk.git("log", "-p")


async def test_a_file_may_have_any_name(desk: Desk) -> None:
    names = ['a "b" \\ c', "two\nlines", "tab\there", "日记", "-rf", ":(top)x", "*", "\udcff", " ", "M\x01\x1b"]
    paths = sorted(f"memory/{name}.md" for name in names)
    for path in paths:
        desk.write(path, b"one\n")

    version = await desk.change({path: b"two %d\n" % number for number, path in enumerate(paths)})

    assert sorted((await desk.store.show(version))[0].paths) == paths
    assert await desk.store.files_at(version, [paths[3]]) == {paths[3]: b"two 3\n"}
    assert [[found.id for found in await desk.store.log(1, within=[path])] for path in paths] == [[version]] * len(
        paths
    )
    plan = await desk.store.plan_undo(version, lambda _: True)
    await desk.store.commit(plan.edits, "back")
    assert {desk.read(path) for path in paths} == {b"one\n"}
    assert await desk.git("status", "--porcelain") == ""


async def test_bytes_in_are_bytes_out(desk: Desk) -> None:
    kinds = [b"\xff\xfe\xfd", b"a\r\nb\r\n", b"a\rb", b"", b"no newline", b"$Id$\n", b"\xef\xbb\xbfx", b"\xff\xfea\0"]
    by_hand = {f"memory/{number}.md": data for number, data in enumerate(kinds)}
    by_us = {path: data + data + b"+" for path, data in by_hand.items()}
    for path, data in by_hand.items():
        desk.write(path, data)

    edits = await desk.store.commit_hand_edits()
    version = await desk.change(by_us)

    assert edits.version is not None
    assert await desk.store.files_at(edits.version.id, list(by_hand)) == by_hand
    assert await desk.store.files_at(version, list(by_us)) == by_us == await desk.store.files(list(by_us))
    assert {path: desk.read(path) for path in by_us} == by_us


async def test_new_files_are_private_and_others_keep_their_mode(desk: Desk) -> None:
    (desk.root / "SOUL.md").chmod(0o640)
    desk.write("skills/x/run.sh", b"#!/bin/sh\n")
    (desk.root / "skills/x/run.sh").chmod(0o755)
    await desk.change({"SOUL.md": b"s\n", "people/a-b/n.md": b"n\n", "skills/x/run.sh": b"#!/bin/bash\n"})

    modes = {path: stat.S_IMODE((desk.root / path).stat().st_mode) for path in ("SOUL.md", "people/a-b/n.md")}
    assert modes == {"SOUL.md": 0o640, "people/a-b/n.md": 0o600}
    assert "100755" in await desk.git("ls-tree", "-r", "--full-tree", "HEAD", "skills/")
    for path in (desk.root / "memory/.git").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


async def test_links_are_not_followed(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    (desk.root / "memory/link.md").symlink_to(tmp_path / "secret")
    (desk.root / "people").symlink_to(tmp_path / "elsewhere")
    edits = await desk.store.commit_hand_edits()

    assert edits.skipped == {"memory/link.md": "link", "people": "link"}
    for path in ("memory/link.md", "people/a-1/USER.md"):
        with pytest.raises(VersionError, match=r"refused|failed"):
            await desk.store.commit({path: Edit(None, b"x")}, "out")
    assert (tmp_path / "secret").read_text() == "secret"
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert "secret" not in await desk.git("log", "-p")


async def test_what_is_large_or_no_text_is_told_and_left_as_it_was(desk: Desk) -> None:
    desk.write("SOUL.md", b"x" * 1_000_001)
    desk.write("skills/a/picture.png", b"\x89PNG\0\0")
    desk.write("skills/cloned/.git/HEAD", b"ref: refs/heads/main\n")
    desk.write("skills/cloned/SKILL.md", b"x")

    edits = await desk.store.commit_hand_edits()

    assert edits.version is None
    assert edits.skipped == {"SOUL.md": "large", "skills/a/picture.png": "binary", "skills/cloned": "repository"}
    assert await desk.store.files_at((await desk.store.log())[0].id) == BASE


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/x", "sessions/x", "memory/../SOUL.md", "memory/.git/config", "HEARTBEAT.md"]
)
async def test_places_that_are_not_kept_are_refused(desk: Desk, path: str) -> None:

    with pytest.raises(VersionError, match="refused"):
        await desk.store.commit({path: Edit(None, b"x")}, "out")


@pytest.mark.parametrize(("data", "reason"), [(b"x" * 1_000_001, "large"), (b"a\0b", "binary")])
async def test_what_would_not_be_kept_is_not_written(desk: Desk, data: bytes, reason: str) -> None:
    with pytest.raises(VersionError, match=reason):
        await desk.change({"memory/x.md": data})

    assert desk.read("memory/x.md") is None


async def test_operations_at_the_same_time_come_one_after_the_other(desk: Desk) -> None:

    await asyncio.gather(*(desk.change({f"memory/{number}.md": b"x\n"}) for number in range(5)))

    assert len(await desk.store.log()) == 6
    assert await desk.git("status", "--porcelain") == ""


async def test_no_process_is_left_behind(desk: Desk) -> None:
    before = _children()

    version = await desk.change({"SOUL.md": b"x\n"})
    await desk.store.show(version)

    assert _children() == before


def _children() -> set[str]:
    """The processes of ours that run, or that nobody has waited for."""
    ours = str(os.getpid())
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, fields = path.read_text().rpartition(")")
            if fields.split()[1] == ours:
                found.add(name)
    return found


def test_gitpython_is_imported_when_it_is_needed() -> None:
    code = "import sys, nanobot.memory.versions.store; sys.exit('git' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_the_clock_and_its_zone_are_in_each_version(desk: Desk) -> None:

    assert (await desk.store.log())[0].at == desk.clock.now()


_LINES = st.lists(
    st.sampled_from(["# M", "", "- a", "text", MARKER, "- note: x (`x.md`) · updated 2026-11-02", "- b (`c`)", "é"])
)


@given(_LINES)
def test_a_persons_git_leaves_out_what_we_leave_out(lines: list[str]) -> None:
    data = "".join(f"{line}\n" for line in lines).encode()
    done = subprocess.run(["sh", "-c", CLEAN], input=data, capture_output=True, check=True)

    assert done.stdout == versioned_part("MEMORY.md", data)


@given(_LINES, _LINES)
def test_what_is_put_on_disk_is_the_version_and_keeps_the_index(lines: list[str], others: list[str]) -> None:
    current = "\n".join(lines).encode()
    wanted = versioned_part("MEMORY.md", "\n".join(others).encode())

    there = with_index_of(current, "MEMORY.md", wanted)

    assert versioned_part("MEMORY.md", there) == wanted == versioned_part("MEMORY.md", wanted)
