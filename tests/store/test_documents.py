import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nanobot.ports import DocumentText
from nanobot.store import documents as module
from nanobot.store.documents import CachedDocuments, read_bytes

AN_HOUR_AGO = 1_760_000_000


def old(path: Path, data: bytes) -> Path:
    """A file that was last changed long ago."""
    path.write_bytes(data)
    os.utime(path, (AN_HOUR_AGO, AN_HOUR_AGO))
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were opened."""
    opened: list[Path] = []

    def counted(path: Path) -> tuple[bytes, os.stat_result]:
        opened.append(path)
        return read_bytes(path)

    monkeypatch.setattr(module, "read_bytes", counted)
    return opened


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\n", "plain\n"),
        ("\ufeffwith a mark\n".encode(), "with a mark\n"),
        (b"dos\r\nlines\r\n", "dos\nlines\n"),
        (b"a broken \xff byte", "a broken \ufffd byte"),
        ("半个字".encode()[:-1], "半个\ufffd"),
        ("Unicode, 说".encode("utf-16"), "Unicode, 说"),
        (b"", ""),
    ],
)
def test_a_text_reads_however_it_was_saved(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "SOUL.md").write_bytes(data)

    assert CachedDocuments().look(tmp_path / "SOUL.md").text == text


def test_an_unchanged_file_is_not_opened_again(tmp_path: Path, reads: list[Path]) -> None:
    soul = old(tmp_path / "SOUL.md", b"calm")
    documents = CachedDocuments()

    first = documents.look(soul)

    assert documents.look(soul) is first
    assert reads == [soul]
    assert first.modified == AN_HOUR_AGO


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    soul = old(tmp_path / "SOUL.md", b"calm")
    documents = CachedDocuments()
    documents.look(soul)

    soul.write_bytes(b"loud")

    assert documents.look(soul).text == "loud"


def test_a_change_within_the_same_tick_of_the_clock_is_not_missed(tmp_path: Path) -> None:
    soul, documents = tmp_path / "SOUL.md", CachedDocuments()

    for number in range(200):
        soul.write_text(f"{number:03}")
        assert documents.look(soul).text == f"{number:03}"


def test_a_fresh_file_that_did_not_change_is_still_the_same_document(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("calm")
    documents = CachedDocuments()

    assert documents.look(tmp_path / "SOUL.md") is documents.look(tmp_path / "SOUL.md")


def test_a_missing_file_is_none_and_comes_back_when_it_does(tmp_path: Path) -> None:
    soul, documents = tmp_path / "SOUL.md", CachedDocuments()

    assert documents.look(soul) is documents.look(soul)
    assert documents.look(soul).text is None
    assert documents.look(soul).problem == ""
    soul.write_text("calm")
    assert documents.look(soul).text == "calm"
    soul.unlink()
    assert documents.look(soul).text is None


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(11_000_000)


@pytest.mark.parametrize("make", [_folder, _pipe, _loop, _huge])
def test_what_cannot_be_read_costs_that_file_and_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, make: Callable[[Path], None]
) -> None:
    soul, documents = tmp_path / "SOUL.md", CachedDocuments()
    make(soul)

    found = documents.look(soul)

    assert found.text is None
    assert found.problem
    assert documents.look(soul) is found
    assert len(caplog.records) == 1


def test_a_name_that_no_file_can_have_is_no_crash(tmp_path: Path) -> None:
    found: DocumentText = CachedDocuments().look(tmp_path / "a\0b")

    assert found.text is None
    assert found.problem
