from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nanobot.memory.versions.commit import merged
from nanobot.memory.versions.git import Repository
from tests.memory.versions.desk import git

_COMMIT = "commit refs/heads/{name}\ncommitter A <a@b> 1 +0000\ndata 0\n{parent}M 644 inline f\ndata {size}\n"

_FEW_LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"- d\n"]), max_size=8)
_TEXT = st.builds(lambda lines, tail: b"".join(lines) + tail, _FEW_LINES, st.sampled_from([b"", b"", b"z"]))


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    folder = tmp_path_factory.mktemp("repository")
    git(folder, "init", "--quiet", ".")
    with Repository(folder / ".git", folder) as repo:
        yield repo


def merged_by_git(folder: Path, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """What a person's git makes of two branches, None if it finds a conflict."""
    stream = b""
    for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
        parent = "" if name == "base" else "from refs/heads/base\n"
        stream += _COMMIT.format(name=name, parent=parent, size=len(text)).encode() + text + b"\n\n"
    git(folder, "fast-import", "--quiet", "--force", given=stream)
    try:
        tree = git(folder, "merge-tree", "--write-tree", "ours", "theirs").strip()
    except AssertionError:
        return None
    return git(folder, "cat-file", "blob", f"{tree}:f").encode()


@given(_TEXT, _TEXT, _TEXT)
@example(b"a\nb\nc\nd\n", b"A\nb\nc\nd\n", b"a\nb\nc\nD\n")
def test_what_git_merges_is_merged_like_that(repo: Repository, base: bytes, ours: bytes, theirs: bytes) -> None:
    expected = merged_by_git(repo.work_tree, base, ours, theirs)

    found = merged(repo, base=base, ours=ours, theirs=theirs)

    assert expected in (None, found)


@st.composite
def _undone(draw: st.DrawFn) -> tuple[list[str], list[str], list[str], list[str]]:
    """A list of facts, the same with one bad change, that with good ones after it, and what an undo must leave."""
    was = [f"- fact {number}" for number in range(draw(st.integers(1, 6)))]
    at = draw(st.integers(0, len(was) - 1))
    bad = [*was[:at], "- bad", *was[at + draw(st.integers(0, 1)) :]]
    later = {
        fact: draw(st.sampled_from([[fact], [f"{fact}!"], [], [fact, f"{fact} too"]])) for fact in was if fact in bad
    }
    appended = draw(st.lists(st.sampled_from(["- new", "- newer"]), max_size=2, unique=True))

    def goes_on(facts: Sequence[str]) -> list[str]:
        return [*(line for fact in facts for line in later.get(fact, [fact])), *appended]

    return was, bad, goes_on(bad), goes_on(was)


def _text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


@given(_undone())
def test_a_bad_line_is_undone_whatever_became_of_the_lines_beside_it(
    repo: Repository, facts: tuple[list[str], list[str], list[str], list[str]]
) -> None:
    was, bad, now, expected = map(_text, facts)

    assert merged(repo, base=bad, ours=now, theirs=was) == expected


def test_a_line_changed_on_both_sides_is_a_conflict(repo: Repository) -> None:
    assert merged(repo, base=b"- a\n", ours=b"- b\n", theirs=b"- c\n") is None
    assert merged(repo, base=b"- a\n", ours=b"- b\n", theirs=b"") is None
    assert merged(repo, base=b"", ours=b"- b\n", theirs=b"- c\n") is None
    assert merged(repo, base=b"\0a\n", ours=b"\0b\n", theirs=b"\0a\nc\n") is None
