"""Fetches a model file over HTTP: goes on where it stopped, and checks what arrived."""

import errno
import fcntl
import hashlib
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO, Self
from urllib.parse import unquote, urlsplit

import httpx2

from nanobot.errors import StoreError
from nanobot.models.local import MAGIC, VERSIONS
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER

CATALOGUE = {
    "qwen2.5-0.5b": "https://huggingface.co/Qwen/Qwen2.5-0.5B-Instruct-GGUF/resolve/main/qwen2.5-0.5b-instruct-q4_k_m.gguf",
    "qwen2.5-1.5b": "https://huggingface.co/Qwen/Qwen2.5-1.5B-Instruct-GGUF/resolve/main/qwen2.5-1.5b-instruct-q4_k_m.gguf",
}
"""Small models that chat in English and Chinese (Apache-2.0). Their checksums come from the server."""

ATTEMPTS = 5
"""How often a download that breaks off is taken up again at once."""

_MARGIN = 100 << 20  # bytes that a download leaves free on the disk
_BLOCK = 1 << 20
_SMALLEST = 64_000  # bytes; the smallest models that say anything have some hundred kB
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_SHA256 = re.compile(r'"?([0-9a-f]{64})"?')

Report = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class DownloadOffer:
    """Offer of a server at an address.

    size in bytes, and sha256, are None if the server does not say; `version` tells one version
    of the file from another, empty if the server does not say.
    """

    url: str
    size: int | None
    sha256: str | None
    version: str


class PartialDownload:
    """The beginning of a file, beside the place where the whole one will stand.

    A note next to it says of which version it is; the beginning of another version is thrown away.
    As a context manager it is open for writing, for one process only.
    """

    def __init__(self, target: Path, version: str) -> None:
        """`version` tells one version of the file from another; an empty one is like no other."""
        self._target = target
        self._path = target.with_name(f"{target.name}.part")
        self._note = target.with_name(f"{target.name}.part.version")
        self._version = version

    def __enter__(self) -> Self:
        self._path.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        self._path.touch(PRIVATE_FILE)
        self._file: BinaryIO = self._path.open("r+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise StoreError(f"{self._target.name} is being fetched by another process already") from None
        if self._noted() == self._version != "":
            self._read()
        else:
            self.restart()
            self._note.touch(PRIVATE_FILE)
            self._note.write_text(self._version, encoding="utf-8")
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._file.close()

    @property
    def sha256(self) -> str:
        """Of what is there."""
        return self._digest.hexdigest()

    def beginning(self, count: int) -> bytes:
        """The first bytes of what is there. What is written next still goes to its end."""
        self._file.seek(0)
        head = self._file.read(count)
        self._file.seek(self.size)
        return head

    def write(self, block: bytes) -> None:
        self._file.write(block)
        self._digest.update(block)
        self.size += len(block)

    def restart(self) -> None:
        """Throw away what is there."""
        self._file.seek(0)
        self._file.truncate()
        self.size = 0
        self._digest = hashlib.sha256()

    def discard(self) -> None:
        """Discard a useless partial file."""
        self._path.unlink()
        self._note.unlink(missing_ok=True)

    def finish(self) -> None:
        """The file is whole: put it in its place."""
        self._file.flush()
        self._path.replace(self._target)
        self._note.unlink(missing_ok=True)

    def _noted(self) -> str:
        try:
            return self._note.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""

    def _read(self) -> None:
        """Read what is there, for the checksum. The file is left open at its end."""
        self.size = 0
        self._digest = hashlib.sha256()
        while block := self._file.read(_BLOCK):
            self._digest.update(block)
            self.size += len(block)


def connect() -> httpx2.Client:
    """The client to fetch with. It waits at most half a minute for a sign of life."""
    return httpx2.Client(follow_redirects=True, timeout=30, headers={"Accept-Encoding": "identity"})


def name_in(url: str) -> str | None:
    """The name of the model file that an address ends in, without .gguf; None if it does not end in one.

    Raises StoreError for what is no address.
    """
    try:
        path = urlsplit(url).path
    except ValueError as error:
        raise StoreError(f"{url} is not an address: {error}") from error
    stem, dot, ending = PurePosixPath(unquote(path)).name.rpartition(".")
    return stem if dot and ending.lower() == "gguf" and is_name(stem) else None


def is_name(name: str) -> bool:
    """True if a model may be called so; its file will be."""
    return _NAME.fullmatch(name) is not None


def look(client: httpx2.Client, url: str) -> DownloadOffer:
    """See what there is at an address, without fetching it. Raises StoreError.

    Hugging Face names the SHA-256 of a file in the header X-Linked-Etag of its redirect.
    """
    with _reached(url), _answer(client, url, {}) as answer:
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            raise StoreError(f"{url} leads to a web page, not to a file. Copy the address of its download button")
        linked = [_SHA256.fullmatch(step.headers.get("X-Linked-Etag", "")) for step in (*answer.history, answer)]
        return DownloadOffer(
            url, _length(answer), next((found[1] for found in linked if found), None), _version(answer)
        )


def fetch(client: httpx2.Client, offer: DownloadOffer, target: Path, report: Report) -> str:
    """Fetch a file to `target`, and return its SHA-256. Raises StoreError.

    Until it is whole it lies beside its place, and what is there of it is not fetched again, as
    long as the server has the same version. `report` is told how many bytes of how many are there.
    """
    with _disk_errors(target.parent), PartialDownload(target, offer.version and f"{offer.version} {offer.url}") as part:
        _check_space(target.parent, (offer.size or 0) - part.size)
        _fetch(client, offer, part, report)
        if offer.sha256 not in (None, part.sha256):
            part.discard()
            raise StoreError(
                f"what arrived is not what was announced: its SHA-256 is {part.sha256} instead of {offer.sha256}. "
                "It was thrown away; try again, or find another source"
            )
        _check_plausible(offer.url, part)
        part.finish()
        return part.sha256


def in_words(size: float) -> str:
    """An amount of bytes for people, as disks and downloads are told: 1 MB is a million."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _fetch(client: httpx2.Client, offer: DownloadOffer, part: PartialDownload, report: Report) -> None:
    """Fetch what is missing; if that breaks off, go on as long as it brings something."""
    for attempt in range(1, ATTEMPTS + 1):
        before = part.size
        try:
            _fetch_rest(client, offer, part, report)
        except httpx2.TransportError as error:
            if attempt == ATTEMPTS or part.size <= before:
                raise StoreError(
                    f"the download broke off after {in_words(part.size)} ({error or type(error).__name__}). "
                    "What is there is kept: run the same command again, and it goes on from there"
                ) from error
        else:
            return


def _fetch_rest(client: httpx2.Client, offer: DownloadOffer, part: PartialDownload, report: Report) -> None:
    if offer.size is not None and part.size == offer.size:
        return
    if not offer.version or offer.size is None or part.size > offer.size:
        part.restart()
    rest = {"Range": f"bytes={part.size}-", "If-Range": offer.version} if part.size else {}
    with _answer(client, offer.url, rest) as answer:
        if not answer.headers.get("Content-Range", "").startswith(f"bytes {part.size}-"):
            part.restart()
            if _length(answer) != offer.size:
                raise StoreError("the file on the server has just changed; run the same command again")
        for block in answer.iter_raw():
            if part.size == 0 and not block.startswith(MAGIC[: len(block)]):
                part.discard()
                raise StoreError(f"{offer.url} is not a GGUF file")
            part.write(block)
            report(part.size, offer.size)
    if offer.size is not None and part.size != offer.size:
        raise httpx2.ReadError(f"{part.size} bytes came instead of {offer.size}")


def _check_plausible(url: str, part: PartialDownload) -> None:
    """Throw away what cannot be a model. Its head is the magic, and a version as four bytes, little-endian."""
    head = part.beginning(len(MAGIC) + 4)
    version = int.from_bytes(head[len(MAGIC) :], "little")
    if part.size >= _SMALLEST and head.startswith(MAGIC) and version in VERSIONS:
        return
    part.discard()
    small = f"it has only {in_words(part.size)}" if part.size < _SMALLEST else "it does not begin as one does"
    raise StoreError(f"{url} is not a GGUF file of a model: {small}")


@contextmanager
def _reached(url: str) -> Iterator[None]:
    try:
        yield
    except httpx2.TransportError as error:
        raise StoreError(f"{url} cannot be reached ({error or type(error).__name__}); is the network there?") from error


@contextmanager
def _answer(client: httpx2.Client, url: str, headers: dict[str, str]) -> Iterator[httpx2.Response]:
    try:
        with client.stream("GET", url, headers=headers) as answer:
            if answer.is_success:
                yield answer
                return
            status = answer.status_code
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
        raise StoreError(f"{url} is not an address that begins with https:// or http://") from None
    except httpx2.TooManyRedirects:
        raise StoreError(f"{url} leads round in circles") from None
    raise StoreError(_refusal(url, status))


def _refusal(url: str, status: int) -> str:
    if status in (401, 403):
        return (
            f"the server does not give {url} to everybody ({status}). "
            "Fetch it with a browser, and put it into the folder models of the home; then it is in the list"
        )
    if status in (404, 410):
        return f"there is no file at {url} ({status})"
    return f"the server has a problem with {url} ({status}); try again later"


def _length(answer: httpx2.Response) -> int | None:
    length = answer.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else None


def _version(answer: httpx2.Response) -> str:
    """Return the validator for If-Range: a strong ETag, else the date (RFC 9110, section 13.1.5)."""
    tag: str = answer.headers.get("ETag", "")
    return tag if tag.startswith('"') else answer.headers.get("Last-Modified", "")


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed + _MARGIN > free:
        raise StoreError(f"{in_words(needed)} are needed at {folder}, and {in_words(free)} are free. Make room first")


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(
                f"the disk at {folder} is full. What is there is kept: make room, and run the same command again"
            ) from error
        raise StoreError(f"{folder} cannot be written: {error.strerror or error}") from error
