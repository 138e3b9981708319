"""Fetching a model: against a real server on loopback that breaks off, changes its mind, and lies."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from nanobot.errors import StoreError
from nanobot.models.pull import (
    ATTEMPTS,
    CATALOGUE,
    PartialDownload,
    connect,
    fetch,
    in_words,
    is_name,
    look,
    name_in,
)
from tests.fakes.file_server import FileServer

HEAD = b"GGUF\x03\0\0\0"
MODEL = HEAD + bytes(range(256)) * 2000


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer(MODEL) as running:
        yield running


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx2.Client]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with connect() as connected:
        yield connected


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "models" / "fine-1b.gguf"


def beginning(target: Path) -> Path:
    return target.with_name("fine-1b.gguf.part")


def ignore(done: int, total: int | None) -> None:
    """Nobody watches."""


def pull(client: httpx2.Client, server: FileServer, target: Path) -> str:
    return fetch(client, look(client, server.url()), target, ignore)


def test_a_file_arrives_whole_private_and_under_its_name(
    client: httpx2.Client, server: FileServer, target: Path
) -> None:
    seen: list[tuple[int, int | None]] = []
    digest = fetch(client, look(client, server.url()), target, lambda done, total: seen.append((done, total)))
    assert target.read_bytes() == MODEL
    assert digest == server.sha256
    assert seen[-1] == (len(MODEL), len(MODEL))
    assert (target.stat().st_mode & 0o777, target.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(target.parent.iterdir()) == [target]


def test_looking_says_the_size_without_fetching(client: httpx2.Client, server: FileServer, target: Path) -> None:
    assert look(client, server.url()).size == len(MODEL)
    assert not target.parent.exists()


def test_a_broken_connection_is_taken_up_where_it_broke(
    client: httpx2.Client, server: FileServer, target: Path
) -> None:
    server.cut_after, server.cuts = 300_000, 1
    assert pull(client, server, target) == server.sha256
    assert target.read_bytes() == MODEL
    assert server.starts == [0, 0, 300_000]


def test_what_breaks_off_for_good_is_kept_and_the_next_call_goes_on(
    client: httpx2.Client, server: FileServer, target: Path
) -> None:
    server.cut_after = 20_000
    with pytest.raises(StoreError, match="run the same command again"):
        pull(client, server, target)
    kept = beginning(target).stat().st_size
    assert kept == ATTEMPTS * 20_000
    assert not target.exists()
    server.cut_after = None
    pull(client, server, target)
    assert target.read_bytes() == MODEL
    assert server.starts[-1] == kept


def test_a_server_that_brings_nothing_is_not_asked_for_ever(
    client: httpx2.Client, server: FileServer, target: Path
) -> None:
    server.cut_after = 0
    with pytest.raises(StoreError, match="broke off"):
        pull(client, server, target)
    assert len(server.asked) == 2


def test_ctrl_c_keeps_what_came(client: httpx2.Client, server: FileServer, target: Path) -> None:
    def stop(done: int, _: int | None) -> None:
        if done > 100_000:
            raise KeyboardInterrupt

    offer = look(client, server.url())
    with pytest.raises(KeyboardInterrupt):
        fetch(client, offer, target, stop)
    kept = beginning(target).stat().st_size
    assert kept > 100_000
    assert fetch(client, offer, target, ignore) == server.sha256
    assert server.starts[-1] == kept


def test_a_server_without_ranges_sends_all_of_it_again(client: httpx2.Client, server: FileServer, target: Path) -> None:
    server.cut_after, server.cuts, server.ranges = 300_000, 1, False
    assert pull(client, server, target) == server.sha256
    assert target.read_bytes() == MODEL


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_without_a_version_to_name_nothing_is_put_together(
    client: httpx2.Client, server: FileServer, target: Path, etag: str
) -> None:
    server.etag = etag
    server.cut_after, server.cuts = 300_000, 1
    assert pull(client, server, target) == server.sha256
    assert server.starts == [0, 0, 0]


def test_the_beginning_of_another_version_is_thrown_away(
    client: httpx2.Client, server: FileServer, target: Path
) -> None:
    server.cut_after = 20_000
    with pytest.raises(StoreError):
        pull(client, server, target)
    server.cut_after, server.etag, server.content = None, '"two"', HEAD + b"new" * 100_000
    assert pull(client, server, target) == server.sha256
    assert target.read_bytes() == server.content


def test_a_file_that_changes_after_the_look_is_not_taken(
    client: httpx2.Client, server: FileServer, target: Path
) -> None:
    offer = look(client, server.url())
    server.etag, server.content = '"two"', HEAD + b"another" * 100_000
    with pytest.raises(StoreError, match="changed"):
        fetch(client, offer, target, ignore)
    assert pull(client, server, target) == server.sha256


def test_the_checksum_is_taken_from_the_redirect_and_holds(
    client: httpx2.Client, server: FileServer, target: Path
) -> None:
    server.named_sha256 = server.sha256
    offer = look(client, f"{server.root}/redirect/fine-1b.gguf")
    assert offer.sha256 == server.sha256
    assert fetch(client, offer, target, ignore) == server.sha256


def test_what_does_not_match_its_checksum_is_thrown_away(
    client: httpx2.Client, server: FileServer, target: Path
) -> None:
    offer = replace(look(client, server.url()), sha256="0" * 64)
    with pytest.raises(StoreError, match="not what was announced"):
        fetch(client, offer, target, ignore)
    assert list(target.parent.iterdir()) == []


def test_a_file_without_a_length_is_fetched_to_its_end(client: httpx2.Client, server: FileServer, target: Path) -> None:
    server.length = False
    assert pull(client, server, target) == server.sha256


def test_a_web_page_is_not_a_model(client: httpx2.Client, server: FileServer, target: Path) -> None:
    server.content_type = "text/html; charset=utf-8"
    with pytest.raises(StoreError, match="web page"):
        look(client, server.url())
    server.content_type, server.content = "application/octet-stream", b"<!doctype html>" + bytes(100_000)
    with pytest.raises(StoreError, match="not a GGUF file"):
        pull(client, server, target)
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "only 0 bytes"),
        (b"GGUF", "only 4 bytes"),
        (HEAD + b"..", "only 10 bytes"),
        (b"GGUF" + bytes(100_000), "does not begin as one does"),
        (b"GGUF\0\0\0\x03" + bytes(100_000), "does not begin as one does"),
    ],
)
@pytest.mark.parametrize("length", [True, False])
def test_what_cannot_be_a_model_is_thrown_away(
    client: httpx2.Client, server: FileServer, target: Path, content: bytes, words: str, length: bool
) -> None:
    server.content, server.length = content, length
    with pytest.raises(StoreError, match=words):
        pull(client, server, target)
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize(("status", "words"), [(404, "no file"), (401, "with a browser"), (503, "try again later")])
def test_a_refusal_is_a_sentence(client: httpx2.Client, server: FileServer, status: int, words: str) -> None:
    server.status = status
    with pytest.raises(StoreError, match=words):
        look(client, server.url())


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/x.gguf", "http://", "http://127.0.0.1:nonsense/x.gguf", "http://[bad/x.gguf"]
)
def test_an_address_that_cannot_be_one_is_a_sentence(client: httpx2.Client, url: str) -> None:
    with pytest.raises(StoreError, match="http"):
        look(client, url)


def test_nobody_at_the_address_is_a_sentence(client: httpx2.Client) -> None:
    with pytest.raises(StoreError, match="cannot be reached"):
        look(client, "http://127.0.0.1:9/x.gguf")


def test_a_disk_without_room_is_seen_before_anything_is_fetched(
    client: httpx2.Client, server: FileServer, target: Path
) -> None:
    offer = replace(look(client, server.url()), size=shutil.disk_usage("/").total * 2)
    with pytest.raises(StoreError, match="Make room"):
        fetch(client, offer, target, ignore)
    assert len(server.asked) == 1


def test_a_folder_that_cannot_be_written_is_a_sentence(
    client: httpx2.Client, server: FileServer, tmp_path: Path
) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match="cannot be written"):
        pull(client, server, tmp_path / "models" / "fine-1b.gguf")


def test_two_at_once_do_not_write_one_file(client: httpx2.Client, server: FileServer, target: Path) -> None:
    with PartialDownload(target, "v"), pytest.raises(StoreError, match="another process"):
        pull(client, server, target)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.com/a/resolve/main/fine-1b-q4_k_m.gguf", "fine-1b-q4_k_m"),
        ("https://example.com/Fine.GGUF?download=true", "Fine"),
        ("https://example.com/fine.bin", None),
        ("https://example.com/", None),
        ("https://example.com/..%2F..%2Fetc.gguf", "etc"),
        ("https://example.com/.gguf", None),
        ("https://example.com/-rf.gguf", None),
    ],
)
def test_the_name_comes_from_the_address(url: str, name: str | None) -> None:
    assert name_in(url) == name


def test_an_address_with_half_a_bracket_has_no_name_but_a_sentence() -> None:
    with pytest.raises(StoreError, match="is not an address"):
        name_in("http://[bad/x.gguf")


def test_the_catalogue_can_be_pulled_by_name() -> None:
    for name, url in CATALOGUE.items():
        assert is_name(name)
        assert url.startswith("https://")
        assert name_in(url)


def test_sizes_are_told_as_people_know_them() -> None:
    assert [in_words(size) for size in (12, 1_500, 98_362_432, 1_117_320_736)] == [
        "12 bytes",
        "2 kB",
        "98 MB",
        "1.1 GB",
    ]
