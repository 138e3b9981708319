import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.authority import Origin
from nanobot.memory.changes import Commit, Operation, Verb, by_hand, following, parse, write

FULL = Commit(
    kind="dream",
    subject="1 fact added, 1 replaced",
    reason="What was said on Monday.",
    operations=(
        Operation("add", "memory/MEMORY.md", 'standup at 9:30 "sharp"', messages=("01JD", "telegram:12345#01JE")),
        Operation("replace", "USER.md", "喜欢茶", before="likes tea", messages=("7",), remark="new evidence"),
        Operation("merge", "memory/garden.md", "all about the garden", merged=("memory/a.md", "memory/b.md")),
        Operation("delete", "memory/old.md"),
    ),
    scopes=("owner", "person:telegram-12345"),
    origin=Origin.OWNER,
    turn="01JD",
    cursor=42,
    reverts="",
    buried=("01JX",),
    lifted=("01JY", "01JZ"),
)

HOSTILE = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            'x\nadd "memory/MEMORY.md" text "forged" from ["1"]',
            "x\n\nDream-Cursor: 999",
            "\n\nKind: dream\nDream-Cursor: 999\n",
            '"] remark "forged',
            "\u2028Kind: dream\u2029",
            "\x85Kind: dream\x1b[2J\r\n\r\nKind: dream",
            "\ud83d",
            "\u202eabc\u200d\U000e0041",
            "x\0y",
            "> quoted",
            "Kind: dream",
        ]
    ),
)
WORDS = st.text("abc123", min_size=1, max_size=5)
OPERATIONS = st.builds(
    Operation,
    verb=st.sampled_from(["add", "replace", "remove", "write", "delete", "merge"]),
    file=HOSTILE,
    text=HOSTILE,
    before=HOSTILE,
    merged=st.lists(HOSTILE, max_size=2).map(tuple),
    messages=st.lists(HOSTILE, max_size=3).map(tuple),
    remark=HOSTILE,
)
COMMITS = st.builds(
    Commit,
    kind=st.sampled_from(["base", "hand", "remember", "tool", "dream", "restore", "undo", "forget"]),
    subject=HOSTILE,
    reason=HOSTILE,
    operations=st.lists(OPERATIONS, max_size=3).map(tuple),
    scopes=st.lists(HOSTILE, max_size=2).map(tuple),
    origin=st.sampled_from([None, *Origin]),
    turn=HOSTILE,
    cursor=st.none() | st.integers(0, 10**12),
    reverts=st.sampled_from(["", "a" * 40]),
    buried=st.lists(HOSTILE, max_size=2).map(tuple),
    lifted=st.lists(WORDS, max_size=2).map(tuple),
)


def test_a_message_is_readable_and_has_a_line_for_each_operation() -> None:
    assert (
        write(FULL)
        == """\
1 fact added, 1 replaced

> What was said on Monday.

add "memory/MEMORY.md" text "standup at 9:30 \\"sharp\\"" from ["01JD", "telegram:12345#01JE"]
replace "USER.md" was "likes tea" text "喜欢茶" from ["7"] remark "new evidence"
merge "memory/garden.md" text "all about the garden" of ["memory/a.md", "memory/b.md"]
delete "memory/old.md"

Kind: dream
Scope: owner
Scope: person:telegram-12345
Origin: owner
Turn: 01JD
Tombstone: 01JX
Lifted: 01JY
Lifted: 01JZ
Dream-Cursor: 42
"""
    )
    assert parse(write(FULL)) == FULL


@given(COMMITS)
def test_what_is_written_is_read_again_and_nothing_can_be_forged(commit: Commit) -> None:
    message = write(commit)
    found = parse(message)

    assert found is not None
    assert found.operations == commit.operations
    given = (commit.kind, commit.scopes, commit.origin, commit.turn, commit.cursor, commit.reverts)
    assert (found.kind, found.scopes, found.origin, found.turn, found.cursor, found.reverts) == given
    assert (found.buried, found.lifted) == (commit.buried, commit.lifted)
    assert message.splitlines() == message.split("\n")[:-1]
    assert write(found) == message


@settings(max_examples=settings().max_examples // 3)
@given(COMMITS)
def test_git_reads_the_same_trailers(commit: Commit) -> None:
    ours = write(commit).rstrip("\n").rsplit("\n\n", 1)[1]

    command = ["git", "-c", "trailer.separators=:", "interpret-trailers", "--parse"]
    done = subprocess.run(command, input=write(commit).encode(), capture_output=True, check=True)

    assert done.stdout.decode().rstrip("\n") == ours


@pytest.mark.parametrize(
    "message", ["", "\n", "by myself\n", "x\n\nDream-Cursor: 5\n", "x\n\nKind: dream\nnot a trailer\n"]
)
def test_a_message_of_somebody_else_is_none_of_ours(message: str) -> None:
    assert parse(message) is None


@pytest.mark.parametrize(
    "line",
    ["add", 'add "x', 'add "x"text "y"', "add {" * 2000, "add [" * 2000, 'bury "x"', 'add  "x"', "", "add NaN x"],
)
def test_a_line_that_cannot_be_read_is_passed_over(line: str) -> None:
    found = parse(f'x\n\n{line}\nadd "a" text "b"\n\nKind: dream\n')

    assert found is not None
    assert found.operations == (Operation("add", "a", "b"),)


def test_ids_of_versions_are_followed_where_they_are_ours_and_nowhere_else() -> None:
    old, new = "a" * 40, "b" * 40
    message = write(Commit(kind="undo", subject=old, reason=f"Reverts: {old}", reverts=old))

    assert following(message, {old: new}) == message.replace(f"\nReverts: {old}", f"\nReverts: {new}")
    assert following(message, {}) == message


def test_a_hand_edit_names_its_files() -> None:
    paths = ["SOUL.md", "memory/a\n\nKind: dream.md", "memory/b.md", "people/t-1/USER.md"]

    found = parse(by_hand(paths, is_first=False))

    assert found is not None
    assert (found.kind, found.subject) == ("hand", "Edited by hand: SOUL.md, a Kind: dream.md, b.md and 1 more")
    base = parse(by_hand(paths, is_first=True))
    assert base is not None
    assert base.kind == "base"


def test_every_operation_can_be_written() -> None:
    verbs: list[Verb] = ["add", "replace", "remove", "write", "delete", "merge"]
    commit = Commit(kind="tool", subject="x", operations=tuple(Operation(verb, "f", "t") for verb in verbs))

    assert parse(write(commit)) == commit
