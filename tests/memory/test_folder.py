import stat
import threading
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nanobot.errors import StoreError
from nanobot.memory.facts import with_fact
from nanobot.memory.markdown import MARKER, with_index, without_index
from nanobot.store.documents import CachedDocuments, MemoryFolder

LINE = "- note: x (`x.md`) · updated 2026-11-02"


@pytest.fixture
def folder(tmp_path: Path) -> MemoryFolder:
    (tmp_path / "memory").mkdir()
    return MemoryFolder(tmp_path / "memory" / "MEMORY.md", CachedDocuments())


def test_a_new_file_is_private_and_one_that_exists_keeps_its_mode(folder: MemoryFolder) -> None:
    folder.change(lambda _: "one\n")
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o600

    folder.path.chmod(0o644)
    folder.change(lambda text: text + "two\n")

    assert folder.path.read_text() == "one\ntwo\n"
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o644
    assert list(folder.path.parent.iterdir()) == [folder.path]


def test_a_missing_folder_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "people" / "x" / "MEMORY.md"

    MemoryFolder(path, CachedDocuments()).change(lambda _: "one\n")

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_nothing_is_written_when_nothing_changes(folder: MemoryFolder) -> None:
    folder.path.write_text("one\n")
    before = folder.path.stat()

    folder.change(lambda text: text)

    assert folder.path.stat().st_ino == before.st_ino


@pytest.mark.parametrize("data", [b"dos\r\nlines\r\n", b"\xef\xbb\xbfmark\n", b"broken \xff\xfe byte\n", b"no end"])
def test_bytes_that_are_not_changed_stay_as_they_are(folder: MemoryFolder, data: bytes) -> None:
    folder.path.write_bytes(data)

    folder.change(lambda text: with_index(text, [LINE]))

    assert folder.path.read_bytes().startswith(data)
    folder.change(lambda text: with_fact(text, "- tea"))
    assert folder.path.read_bytes().startswith(data)


def test_what_an_editor_saves_meanwhile_is_not_written_over(folder: MemoryFolder) -> None:
    folder.path.write_text("old\n")
    seen: list[str] = []

    def edit(text: str) -> str:
        if not seen:
            folder.path.write_text("the user's new line\n")
        seen.append(text)
        return text + "ours\n"

    folder.change(edit)

    assert seen == ["old\n", "the user's new line\n"]
    assert folder.path.read_text() == "the user's new line\nours\n"


def test_nobody_who_shares_the_lock_writes_between_reading_and_replacing(tmp_path: Path) -> None:
    lock, seen = threading.Lock(), list[bool]()

    def edit(text: str) -> str:
        seen.append(lock.locked())
        return text + "ours\n"

    MemoryFolder(tmp_path / "MEMORY.md", CachedDocuments(), lock).change(edit)

    assert (seen, lock.locked()) == ([True], False)


def test_a_file_that_never_rests_is_left_to_who_writes_it(folder: MemoryFolder) -> None:
    calls: list[str] = []

    def edit(text: str) -> str:
        calls.append(text)
        folder.path.write_text("x" * len(calls))
        return text + "ours"

    with pytest.raises(StoreError, match="changes all the time"):
        folder.change(edit)

    assert "ours" not in folder.path.read_text()
    assert list(folder.path.parent.iterdir()) == [folder.path]


@pytest.mark.parametrize("data", ["hello".encode("utf-16"), b"a\0b"])
def test_a_file_in_another_encoding_is_not_touched(folder: MemoryFolder, data: bytes) -> None:
    folder.path.write_bytes(data)

    with pytest.raises(StoreError, match="UTF-8"):
        folder.change(lambda text: text + "ours")

    assert folder.path.read_bytes() == data


def test_a_folder_in_the_place_of_the_file_is_an_error_that_says_so(folder: MemoryFolder) -> None:
    folder.path.mkdir()

    with pytest.raises(StoreError, match="folder"):
        folder.change(lambda text: text + "ours")


def test_a_link_stays_a_link(folder: MemoryFolder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("one\n")
    folder.path.symlink_to(tmp_path / "elsewhere.md")

    folder.change(lambda text: text + "two\n")

    assert folder.path.is_symlink()
    assert (tmp_path / "elsewhere.md").read_text() == "one\ntwo\n"


def test_the_notes_are_the_other_markdown_files(folder: MemoryFolder) -> None:
    for name in ("MEMORY.md", "b.md", "A.MD", "笔记.md", ".hidden.md", "history.jsonl", "c.md~", "d.txt"):
        (folder.path.parent / name).write_text("x")
    (folder.path.parent / "tombstones").mkdir()
    (folder.path.parent / "folder.md").mkdir()

    notes = folder.notes()

    assert list(notes) == ["A.MD", "b.md", "folder.md", "笔记.md"]
    assert notes["folder.md"].text is None
    assert notes["folder.md"].problem


def test_without_a_folder_there_are_no_notes(tmp_path: Path) -> None:
    assert MemoryFolder(tmp_path / "none" / "MEMORY.md", CachedDocuments()).notes() == {}


PIECES = st.lists(
    st.sampled_from([b"# T\n", b"- a\r\n", b"text", b"\n", b"\xff", "字\n".encode(), f"{MARKER}\n".encode(), b"```\n",
                     b"## Remembered\n", f"{LINE}\n".encode(), b"<!-- c\n", b"-->\n", b"\xef\xbb\xbf"]),
    max_size=12,
).map(b"".join)  # fmt: skip


def _words(data: bytes) -> list[bytes]:
    """What a person wrote: the lines that are neither blank nor the index."""
    text = without_index(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return [line for line in text.split() if line]


@given(PIECES, st.integers(0, 3))
@example(f"{MARKER}\n\ufeff{MARKER}\n".encode(), 0)
def test_no_word_of_a_person_is_ever_lost(data: bytes, count: int) -> None:
    text = data.decode("utf-8", "surrogateescape")
    lines = [f"- note: {n} (`{n}.md`) · updated 2026-11-02" for n in range(count)]

    indexed = with_index(text, lines)

    assert _words(indexed.encode("utf-8", "surrogateescape")) == _words(data)
    assert with_index(indexed, lines) == indexed
    assert [line.strip() for line in indexed.removeprefix("\ufeff").split("\n")].count(MARKER) == bool(count)


@given(PIECES)
def test_a_fact_is_added_and_nothing_else_moves(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")

    after = with_fact(text, "- NEW")

    assert after.count("- NEW") == 1
    assert "- NEW" in without_index(after)
    assert _but_for_headings(after.replace("- NEW", "")) == _but_for_headings(text)
    assert after.startswith("\ufeff") == text.startswith("\ufeff")


def _but_for_headings(text: str) -> list[str]:
    """The words; a byte order mark is one of its own, whatever comes to stand behind it."""
    words = text.replace("\ufeff", " \ufeff ").split()
    return [word for word in words if word not in ("#", "##", "Memory", "Remembered")]


def test_a_link_out_of_the_folder_is_no_note_and_one_inside_is(folder: MemoryFolder, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("not for the bot")
    memory = folder.path.parent
    (memory / "tea.md").write_text("green")
    (memory / "also.md").symlink_to("tea.md")
    (memory / "link.md").symlink_to("/etc/passwd")
    (memory / "up.md").symlink_to("../secret.md")
    (memory / "gone.md").symlink_to("/nowhere/at/all.md")

    assert list(folder.notes()) == ["also.md", "tea.md"]


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "tea.md").write_text("green")
    (tmp_path / "memory").symlink_to("elsewhere")

    assert list(MemoryFolder(tmp_path / "memory" / "MEMORY.md", CachedDocuments()).notes()) == ["tea.md"]
