"""Files that a person names in what they type."""

import os
from pathlib import Path

import pytest

from nanobot.channels.terminal.mentions import (
    MOST_IN_MESSAGE,
    MOST_OF_FILE,
    Mention,
    MentionError,
    gather,
    mentions,
    spelled,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def decode(data: bytes) -> str | None:
    return None if b"\0" in data else data.decode("utf-8", "replace")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    for name in ("notes.txt", "my notes.txt", "src/main.rs", "报告.txt", "plain", "a-b.c"):
        (tmp_path / name).write_text(f"text of {name}\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@notes.txt", ["notes.txt"]),
        ("sum up @notes.txt, please", ["notes.txt"]),
        ("(see @notes.txt)", ["notes.txt"]),
        ("what is in @notes.txt?", ["notes.txt"]),
        ('@"my notes.txt" and @src/main.rs', ["my notes.txt", "src/main.rs"]),
        ("@my\\ notes.txt", ["my notes.txt"]),
        ("总结@报告.txt的内容", ["报告.txt"]),
        ("@plain text", ["plain"]),
        ("@notes.txt and @notes.txt again", ["notes.txt"]),
        ("@./notes.txt @src/../plain", ["./notes.txt", "src/../plain"]),
        ("@a-b.c", ["a-b.c"]),
    ],
)
def test_a_file_that_is_there_is_meant(text: str, found: list[str], folder: Path) -> None:
    assert [mention.written for mention in mentions(text, folder)] == found


@pytest.mark.parametrize(
    "text",
    [
        "ada@notes.txt",
        "write to ada@example.org",
        "ask @ada or @bob_smith",
        "the decorator @property in Python",
        "npm i @angular/core",
        "user.name+tag@plain",
        "git@github.com:a/b",
        "@ alone, and @@plain",
        "3@plain",
    ],
)
def test_addresses_handles_and_decorators_are_no_files(text: str, folder: Path) -> None:
    assert list(mentions(text, folder)) == []


@pytest.mark.parametrize(
    "text", ["@note.txt", '@"no such thing"', "@./gone", "@/no/such/file", "@src/man.rs", "@~/gone.x"]
)
def test_a_name_that_can_only_be_a_path_is_missed(text: str, folder: Path) -> None:
    [missing] = mentions(text, folder)
    with pytest.raises(MentionError) as raised:
        gather(text, folder, decode)
    assert raised.value.sentence == "file_not_there"
    assert raised.value.values["path"] == missing.path


def test_the_text_of_a_file_goes_along_as_a_files_text(folder: Path) -> None:
    carried, to_keep = gather("sum up @notes.txt", folder, decode)
    [quote] = carried.quotes
    assert (quote.how, quote.by, quote.text) == ("file", str(folder / "notes.txt"), "text of notes.txt\n")
    assert to_keep == []
    assert carried.told == [("file_along", {"name": "notes.txt", "count": 1})]


def test_an_empty_file_says_that_it_is_empty(folder: Path) -> None:
    (folder / "empty.txt").touch()
    assert gather("@empty.txt", folder, decode)[0].quotes[0].text == "(the file is empty)"


def test_pictures_and_long_texts_are_kept_as_files(folder: Path) -> None:
    (folder / "photo.png").write_bytes(PNG)
    (folder / "long.txt").write_text("word " * MOST_IN_MESSAGE, encoding="utf-8")
    carried, to_keep = gather("@photo.png @long.txt @notes.txt", folder, decode)
    assert [(mention.written, mime) for mention, mime in to_keep] == [
        ("photo.png", "image/png"),
        ("long.txt", "text/plain"),
    ]
    assert [quote.by for quote in carried.quotes] == [str(folder / "notes.txt")]


def test_all_texts_of_a_message_share_its_room(folder: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (folder / name).write_text("x" * (MOST_IN_MESSAGE * 2 // 3), encoding="utf-8")
    carried, to_keep = gather("@one.txt @two.txt", folder, decode)
    assert len(carried.quotes) == 1
    assert [mention.written for mention, _ in to_keep] == ["two.txt"]


def test_what_cannot_go_along_is_told(folder: Path) -> None:
    (folder / "program.bin").write_bytes(b"\x7fELF\0\0")
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(MOST_OF_FILE + 1)
    os.mkfifo(folder / "pipe")
    for text, sentence in {
        "@program.bin": "file_binary",
        "@huge.txt": "file_too_large",
        "@src": "file_is_folder",
        "@pipe": "file_special",
        " ".join(f"@./{number}" for number in range(30)): "many_files",
    }.items():
        with pytest.raises(MentionError) as raised:
            gather(text, folder, decode)
        assert raised.value.sentence == sentence


@pytest.mark.parametrize("name", [".env", "id_rsa", "server.pem", ".ssh/config", ".netrc"])
def test_a_file_of_keys_or_passwords_is_not_sent(folder: Path, name: str) -> None:
    (folder / ".ssh").mkdir()
    (folder / name).write_text("secret", encoding="utf-8")
    (folder / "harmless.txt").symlink_to(folder / name)
    for typed in (f"@{name}", "@harmless.txt"):
        with pytest.raises(MentionError) as raised:
            gather(typed, folder, decode)
        assert raised.value.sentence == "file_secret"


def test_what_was_pasted_names_no_file_and_that_is_told(folder: Path) -> None:
    carried, to_keep = gather("do @notes.txt, then @plain", folder, decode, {"@notes.txt"})
    assert [Path(quote.by).name for quote in carried.quotes] == ["plain"]
    assert to_keep == []
    assert carried.told[0] == ("pasted_mention", {"names": "notes.txt"})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told(folder: Path) -> None:
    (folder / "plain").chmod(0)
    with pytest.raises(MentionError) as raised:
        gather("@plain", folder, decode)
    assert raised.value.sentence == "file_denied"


def test_a_name_that_is_spelled_is_read_back(folder: Path) -> None:
    for name in ("notes.txt", "my notes.txt", "报告.txt"):
        assert list(mentions(f"look at @{spelled(name)} now", folder)) == [Mention(name, folder / name)]
