from collections import Counter

import pytest

from nanobot.errors import VersionError
from nanobot.memory.changes import patch
from nanobot.ports import Edit
from tests.memory.versions.desk import BASE, INDEX, MEMORY, Desk


def everything(_: str) -> bool:
    return True


async def test_a_restore_makes_the_owned_files_as_they_were_before_and_says_what_it_takes_back(desk: Desk) -> None:
    desk.write(MEMORY, BASE[MEMORY] + INDEX)
    first = await desk.change({MEMORY: b"- one\n", "people/t-1/USER.md": b"- theirs\n"}, "first", "dream")
    bad = await desk.change({MEMORY: b"- bad\n", "memory/new.md": b"x\n", "USER.md": None}, "bad", "dream")
    later = await desk.change({"people/t-1/USER.md": b"- theirs too\n"}, "later", "dream")
    desk.write("SOUL.md", b"by hand\n")

    plan = await desk.store.plan_restore(bad, lambda path: not path.startswith("people/"))
    restored = await desk.store.commit(plan.edits, "restored")

    assert restored is not None
    assert desk.read(MEMORY) == b"- one\n" + INDEX
    assert {path: desk.read(path) for path in ("memory/new.md", "USER.md", "SOUL.md", "people/t-1/USER.md")} == {
        "memory/new.md": None,
        "USER.md": BASE["USER.md"],
        "SOUL.md": BASE["SOUL.md"],
        "people/t-1/USER.md": b"- theirs too\n",
    }
    assert [version.author for version in plan.undone] == ["person", "dream"]
    assert plan.undone[-1].id == bad

    again = await desk.store.plan_restore(restored, everything)
    await desk.store.commit(again.edits, "restored the restore")
    assert (desk.read(MEMORY), desk.read("SOUL.md"), desk.read("USER.md")) == (b"- bad\n" + INDEX, b"by hand\n", None)
    assert {version.id for version in await desk.store.log()} > {first, bad, later, restored}


async def test_an_undo_takes_back_one_change_and_keeps_the_later_ones(desk: Desk) -> None:
    bad = await desk.change(
        {MEMORY: b"# Memory\n\n- one\n- two\n- bad\n", "USER.md": b"# User\n\n- likes tea\n- bad\n"}
    )
    await desk.change({MEMORY: b"# Memory\n\n- one\n- two\n- bad\n- good\n"})
    desk.write("USER.md", b"# User of mine\n\n- likes tea\n- bad\n")

    plan = await desk.store.plan_undo(bad, everything)
    await desk.store.commit(plan.edits, "undone")

    assert desk.read(MEMORY) == b"# Memory\n\n- one\n- two\n- good\n"
    assert desk.read("USER.md") == b"# User of mine\n\n- likes tea\n"
    assert [version.id for version in plan.undone] == [bad]


async def test_an_undo_that_later_changes_stand_in_the_way_of_changes_nothing(desk: Desk) -> None:
    bad = await desk.change({MEMORY: b"- moved to 9:30\n", "USER.md": b"- other\n"})
    desk.write(MEMORY, b"- moved to 9:45\n")

    plan = await desk.store.plan_undo(bad, everything)

    assert (plan.edits, plan.conflicts) == ({}, [MEMORY])


@pytest.mark.parametrize("touched", [False, True])
async def test_an_undo_removes_what_was_added_and_brings_back_what_was_removed(desk: Desk, touched: bool) -> None:
    version = await desk.change({"memory/new.md": b"new\n", "SOUL.md": None})
    if touched:
        desk.write("memory/new.md", b"new and mine\n")

    plan = await desk.store.plan_undo(version, everything)

    assert plan.conflicts == (["memory/new.md"] if touched else [])
    assert plan.edits == (
        {} if touched else {"memory/new.md": Edit(b"new\n", None), "SOUL.md": Edit(None, BASE["SOUL.md"])}
    )


async def test_what_is_undone_already_needs_no_undo(desk: Desk) -> None:
    version = await desk.change({MEMORY: b"- bad\n"})
    desk.write(MEMORY, BASE[MEMORY])

    assert (await desk.store.plan_undo(version, everything)).edits == {}


async def test_only_owned_files_are_undone(desk: Desk) -> None:
    version = await desk.change({MEMORY: b"- a\n", "people/t-1/USER.md": b"- b\n"})

    plan = await desk.store.plan_undo(version, lambda path: path.startswith("people/"))

    assert list(plan.edits) == ["people/t-1/USER.md"]


async def test_before_the_first_version_there_is_nothing(desk: Desk) -> None:
    base = (await desk.store.log())[0].id

    for plan in (desk.store.plan_restore, desk.store.plan_undo):
        with pytest.raises(VersionError, match="first"):
            await plan(base, everything)


async def test_the_log_knows_authors_and_places(desk: Desk) -> None:
    for number in range(3):
        await desk.change({MEMORY: b"- %d\n" % number}, f"dream {number}", "dream")
        await desk.change({"people/t-1/USER.md": b"- %d\n" % number}, f"said {number}")
    desk.write("AGENTS.md", b"rules\n")
    await desk.store.commit_hand_edits()

    dreams = await desk.store.log(author="dream")
    assert [version.message.strip() for version in dreams] == ["dream 2", "dream 1", "dream 0"]
    assert [version.paths for version in await desk.store.log(2, author="person")] == [
        ("AGENTS.md",),
        tuple(sorted(BASE)),
    ]
    theirs = await desk.store.log(2, within=["people/t-1"])
    assert [version.message.strip() for version in theirs] == ["said 2", "said 1"]
    assert await desk.store.log(within=["people/t-9"]) == []
    assert len(await desk.store.log()) == 8


async def test_an_id_may_be_short_and_nothing_else_is_an_id(desk: Desk) -> None:
    version = await desk.change({MEMORY: b"- a\n"})
    blob = (await desk.git("rev-parse", f"HEAD:{MEMORY}")).strip()
    gone = await desk.git("commit-tree", "HEAD^{tree}", "-m", "in no branch")
    await desk.git("branch", "deadbeef")

    assert await desk.store.resolve(version[:7].upper()) == version
    assert await desk.store.resolve(f" {version} ") == version
    for wrong in (
        "HEAD",
        "main",
        "deadbeef",
        "HEAD~1",
        version[:3],
        f"{version}^",
        "--all",
        "",
        "..",
        blob,
        gone.strip(),
    ):
        with pytest.raises(VersionError, match="unknown"):
            await desk.store.resolve(wrong)
    for wrong in ("HEAD", "--all", version[:8], "f" * 40, f"{version}\n"):
        with pytest.raises(VersionError, match="unknown"):
            await desk.store.show(wrong)


async def test_an_id_that_fits_several_versions_is_told(desk: Desk) -> None:
    commit = "commit refs/heads/main\ncommitter A <a@b> {} +0000\ndata 0\n{}\n"
    many = "".join(commit.format(second, "" if second else "from refs/heads/main^0") for second in range(1500))
    await desk.git("fast-import", "--quiet", given=many.encode())
    starts = Counter(name[:4] for name in (await desk.git("rev-list", "HEAD")).split())

    with pytest.raises(VersionError, match="ambiguous"):
        await desk.store.resolve(starts.most_common(1)[0][0])


async def test_the_version_that_brought_a_line_is_found(desk: Desk) -> None:
    first = await desk.change({MEMORY: BASE[MEMORY] + b"- three\n"})
    await desk.change({MEMORY: BASE[MEMORY]})
    second = await desk.change({MEMORY: BASE[MEMORY] + b"- three\n"})
    await desk.change({MEMORY: b"# Title\n" + BASE[MEMORY] + b"- three\n"})

    origin = await desk.store.origin(MEMORY, b"- three")
    assert origin is not None
    assert origin.id == second != first
    assert (await desk.store.origin(MEMORY, b"- one")) == (await desk.store.log())[-1]
    assert await desk.store.origin(MEMORY, b"- four") is None
    assert await desk.store.origin("memory/none.md", b"- one") is None


async def test_a_difference_is_shown_line_by_line(desk: Desk) -> None:
    version = await desk.change({"SOUL.md": b"# Soul\n\n- 2", "memory/x.md": b"x\n", "USER.md": None})

    _, diffs = await desk.store.show(version)

    assert [patch(diff) for diff in diffs] == [
        "--- a/SOUL.md\n+++ b/SOUL.md\n@@ -1 +1,3 @@\n # Soul\n+\n+- 2\n\\ No newline at end of file",
        "--- a/USER.md\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-# User\n-\n-- likes tea",
        "--- /dev/null\n+++ b/memory/x.md\n@@ -0,0 +1 @@\n+x",
    ]
