"""Any key has exactly one file, and every file one key."""

import string
from pathlib import PurePosixPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nanobot.errors import StoreError
from nanobot.sessions.store import is_shortened, key_of, path_of

KEYS = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=400)
NASTY = st.text(st.sampled_from("aA.: /\\%~-_0İıßcon\u202e\udc88"), min_size=1, max_size=12)

LEGAL = set(string.ascii_letters + string.digits + "%~-_.")
DEVICES = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("telegram:12345", "telegram/12345.jsonl"),
        ("telegram:-1001234567890:7", "telegram/-1001234567890.7.jsonl"),
        ("telegram:a:b:c", "telegram/a.b%3Ac.jsonl"),
        ("telegram:a.b", "telegram/a%2Eb.jsonl"),
        ("telegram/a:b", "telegram%2Fa/b.jsonl"),
        ("cli:../../escape", "cli/%2E%2E%2F%2E%2E%2Fescape.jsonl"),
        ("cli:..", "cli/%2E%2E.jsonl"),
        ("discord:CON", "discord/%43%4F%4E.jsonl"),
        ("discord:con", "discord/%63on.jsonl"),
        ("aux:x:nul", "%61ux/x.%6Eul.jsonl"),
        ("telegram:42 ", "telegram/42%20.jsonl"),
        ("cli:家", "cli/%E5%AE%B6.jsonl"),
        ("cli:", "cli/%00.jsonl"),
        ("cli", "cli.jsonl"),
        ("cli::", "cli/%00.%00.jsonl"),
        (":", "%00/%00.jsonl"),
    ],
)
def test_names_are_readable_and_harmless(key: str, path: str) -> None:
    assert str(path_of(key)) == path
    assert key_of(PurePosixPath(path)) == key


@given(KEYS | NASTY)
@example("cli:" + "й" * 200)
@example("й" * 200 + ":x")
def test_a_name_is_legal_everywhere_and_tells_its_key(key: str) -> None:
    path = path_of(key)
    assert len(path.parts) <= 2
    for part in path.parts:
        assert len(part.encode()) + len(".torn") <= 255
        assert set(part) <= LEGAL
        assert part[-1] not in ". "
        assert part[0] != "."
        assert part.split(".")[0].lower() not in DEVICES
    assert key_of(path) == (None if is_shortened(path) else key)


@given(st.lists(KEYS | NASTY, unique=True, max_size=20))
@example(
    ["telegram:a_b", "telegram:a:b", "telegram/a:b", "telegram_a:b", "cli:.", "cli:..", "discord:CON", "discord:con"]
)
@example(["cli:" + "й" * 199, "cli:" + "й" * 200, "cli:" + "й" * 200 + ":", "cli:" + "Й" * 200])
def test_different_keys_never_share_a_file_even_where_case_does_not_count(keys: list[str]) -> None:
    assert len({str(path_of(key)).casefold() for key in keys}) == len(keys)


@pytest.mark.parametrize("key", ["", "\0", "cli:a\0b"])
def test_a_key_that_is_empty_or_holds_a_nul_is_refused(key: str) -> None:
    with pytest.raises(StoreError):
        path_of(key)


@pytest.mark.parametrize(
    "path",
    [
        "telegram/Copy of 1.jsonl",
        "telegram/a%2eb.jsonl",
        "telegram/1.jsonl.torn",
        "x/%.jsonl",
        "x/%FF.jsonl",
        "a/b/c.jsonl",
    ],
)
def test_a_file_that_we_would_not_name_so_is_not_a_session(path: str) -> None:
    assert key_of(PurePosixPath(path)) is None
